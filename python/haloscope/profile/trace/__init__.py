"""Traces: every call and region of a run, with its time."""

from haloscope.profile.store.trace_tables import (
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
