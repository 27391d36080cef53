"""Fitting: hidden Markov models from timings, their confidence intervals, and their file."""
