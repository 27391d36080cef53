"""Fitting: from timings to a hidden Markov model, how sure it is, and its file."""
