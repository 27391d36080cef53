"""Hiding communication, and having more of it to hide: latency on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.hide._fem import Fem, build_fem
    from haloscope.hide._fem import include_flags as fem_flags
    from haloscope.hide._inject import inject
    from haloscope.hide._latency import LatencyModel, read_latency
    from haloscope.hide._libraries import (
        Injector,
        Protocols,
        build_halo,
        build_heap,
        build_injector,
        build_overlap,
        build_protocols,
        build_protocols_for,
    )
    from haloscope.hide._plan import Event, Plan, read_event, read_every
    from haloscope.hide._stencil import stencil
    from haloscope.hide._stencil_settings import STENCIL_SETTINGS

__all__ = [
    "STENCIL_SETTINGS",
    "Event",
    "Fem",
    "Injector",
    "LatencyModel",
    "Plan",
    "Protocols",
    "build_fem",
    "build_halo",
    "build_heap",
    "build_injector",
    "build_overlap",
    "build_protocols",
    "build_protocols_for",
    "fem_flags",
    "inject",
    "read_event",
    "read_every",
    "read_latency",
    "stencil",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Event": "_plan",
            "Fem": "_fem",
            "Injector": "_libraries",
            "LatencyModel": "_latency",
            "Plan": "_plan",
            "Protocols": "_libraries",
            "STENCIL_SETTINGS": "_stencil_settings",
            "build_fem": "_fem",
            "build_halo": "_libraries",
            "build_heap": "_libraries",
            "build_injector": "_libraries",
            "build_overlap": "_libraries",
            "build_protocols": "_libraries",
            "build_protocols_for": "_libraries",
            "fem_flags": "_fem:include_flags",
            "inject": "_inject",
            "read_event": "_plan",
            "read_every": "_plan",
            "read_latency": "_latency",
            "stencil": "_stencil",
        },
    )
