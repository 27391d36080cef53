"""Modules that all packages use, and that use no other package.

Import its modules by their own names: `haloscope.base.errors`, `haloscope.base.mpi`, ….
"""
