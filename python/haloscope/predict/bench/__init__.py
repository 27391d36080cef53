"""Measurements: what the machine and its MPI library take."""
