"""Hiding communication, and having more of it to hide: latency on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.hide.fem import Fem as Fem
    from haloscope.hide.fem import build_fem as build_fem
    from haloscope.hide.fem import fem_flags as fem_flags
    from haloscope.hide.injector import Event as Event
    from haloscope.hide.injector import inject as inject
    from haloscope.hide.latency import read_latency as read_latency
    from haloscope.hide.libraries import Injector as Injector
    from haloscope.hide.libraries import Placer as Placer
    from haloscope.hide.libraries import Protocols as Protocols
    from haloscope.hide.libraries import build_halo as build_halo
    from haloscope.hide.libraries import build_heap as build_heap
    from haloscope.hide.libraries import build_injector as build_injector
    from haloscope.hide.libraries import build_overlap as build_overlap
    from haloscope.hide.libraries import build_placer as build_placer
    from haloscope.hide.libraries import build_protocols as build_protocols
    from haloscope.hide.libraries import build_protocols_for as build_protocols_for
    from haloscope.hide.placer import place as place
    from haloscope.hide.protocol_layer import STENCIL_SETTINGS as STENCIL_SETTINGS
    from haloscope.hide.protocol_layer import stencil as stencil

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
