"""What every room needs, and what needs none of them.

Its modules are public, as they are: `haloscope.base.errors`, `haloscope.base.mpi`, ….
"""
