#!/bin/sh
# Stands in for haloscope-join: joins by concatenation.
cat "$1"/*.live > "$2" && echo "2 ranks did not finish"
