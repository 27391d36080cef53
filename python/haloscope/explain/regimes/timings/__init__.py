"""Timings: what all of this package takes and gives back, and reading them from files."""
