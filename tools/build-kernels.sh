#!/bin/sh
# Builds the kernels of src/explain into the Python package of this checkout. `make setup` calls it.
set -eu
cd "$(dirname "$0")/.."
bin=$PWD/.venv/bin
build=$PWD/build/explain
found=
for compiler in "${CXX:-c++}" g++ clang++; do
  command -v "${compiler%% *}" >/dev/null && found=yes
done
if [ -z "$found" ]; then
  echo "no C++ compiler on PATH: install one (Debian: apt-get install g++)" >&2
  exit 1
fi
echo "building the kernels ..." >&2
mkdir -p "$build"
if ! { "$bin/cmake" --fresh -S src/explain -B "$build" -G Ninja -DCMAKE_MAKE_PROGRAM="$bin/ninja" &&
  "$bin/cmake" --build "$build" &&
  "$bin/cmake" --install "$build" --prefix python --strip; } >"$build/log" 2>&1; then
  grep -m 3 -i 'error' "$build/log" >&2 || tail -3 "$build/log" >&2
  echo "the kernels cannot be built, which needs a compiler for C++20; all of it: $build/log" >&2
  exit 1
fi
