"""Helpers for the tests of several packages: the machine's MPI libraries, and programs for them."""
