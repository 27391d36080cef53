"""Traces: every call and region of a run, with its time."""

from haloscope.explain.trace._trace import CALLS, COLLECTIVES, COMMUNICATORS, RECEIVES, REGIONS, SENDS, Trace

__all__ = ["CALLS", "COLLECTIVES", "COMMUNICATORS", "RECEIVES", "REGIONS", "SENDS", "Trace"]
