"""Traces: every call and region of a run, with its time."""

from haloscope.explain.trace._trace import (
    CALLS,
    CLOCKS,
    COLLECTIVES,
    COMMUNICATORS,
    RECEIVES,
    REGIONS,
    SENDS,
    Trace,
)

__all__ = ["CALLS", "CLOCKS", "COLLECTIVES", "COMMUNICATORS", "RECEIVES", "REGIONS", "SENDS", "Trace"]
