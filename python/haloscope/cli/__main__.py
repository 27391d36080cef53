"""`python -m haloscope.cli`, for where the script is not on PATH."""

from haloscope.cli import main

main()
