"""Hiding communication, and having more of it to hide: latency on demand."""
