"""Modules that all packages use, and that use no other package.

Its modules are public, as they are: `haloscope.base.errors`, `haloscope.base.mpi`, ….
"""
