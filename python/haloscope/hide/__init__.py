"""Hiding communication, and having more of it to hide: latency on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.hide.fem import Fem, build_fem
    from haloscope.hide.fem import include_flags as fem_flags
    from haloscope.hide.injector import Event, inject
    from haloscope.hide.latency import read_latency
    from haloscope.hide.libraries import (
        Injector,
        Placer,
        Protocols,
        build_halo,
        build_heap,
        build_injector,
        build_overlap,
        build_placer,
        build_protocols,
        build_protocols_for,
    )
    from haloscope.hide.placer import place
    from haloscope.hide.protocol_layer import STENCIL_SETTINGS, stencil

__all__ = [
    "STENCIL_SETTINGS",
    "Event",
    "Fem",
    "Injector",
    "Placer",
    "Protocols",
    "build_fem",
    "build_halo",
    "build_heap",
    "build_injector",
    "build_overlap",
    "build_placer",
    "build_protocols",
    "build_protocols_for",
    "fem_flags",
    "inject",
    "place",
    "read_latency",
    "stencil",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Event": "_inject",
            "Fem": "_fem",
            "Injector": "_libraries",
            "Placer": "_libraries",
            "Protocols": "_libraries",
            "STENCIL_SETTINGS": "_stencil",
            "build_fem": "_fem",
            "build_halo": "_libraries",
            "build_heap": "_libraries",
            "build_injector": "_libraries",
            "build_overlap": "_libraries",
            "build_placer": "_libraries",
            "build_protocols": "_libraries",
            "build_protocols_for": "_libraries",
            "fem_flags": "_fem:include_flags",
            "inject": "_inject",
            "place": "_place",
            "read_latency": "_latency",
            "stencil": "_stencil",
        },
    )
