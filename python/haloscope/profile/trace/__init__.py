"""Traces: every call and region of a run, with its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.profile.store.trace_tables import CALLS as CALLS
    from haloscope.profile.store.trace_tables import CLOCKS as CLOCKS
    from haloscope.profile.store.trace_tables import COLLECTIVES as COLLECTIVES
    from haloscope.profile.store.trace_tables import COMMUNICATORS as COMMUNICATORS
    from haloscope.profile.store.trace_tables import RECEIVES as RECEIVES
    from haloscope.profile.store.trace_tables import REGIONS as REGIONS
    from haloscope.profile.store.trace_tables import SENDS as SENDS
    from haloscope.profile.store.trace_tables import Trace as Trace
    from haloscope.profile.trace.from_profile import read_trace as read_trace

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
