"""Reproducing results: campaigns from one specification, on a laptop or a cluster."""
