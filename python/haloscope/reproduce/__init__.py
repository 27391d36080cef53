"""Reproduction of results: studies of papers, and campaigns of runs by a specification."""
