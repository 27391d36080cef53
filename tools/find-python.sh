#!/bin/sh
# Prints the first Python 3.10 or newer on PATH.
for name in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
  if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    command -v "$name"
    exit
  fi
done
echo "no Python 3.10 or newer on PATH: install one (Debian: apt-get install python3 python3-venv)" >&2
exit 1
