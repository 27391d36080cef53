"""Hide: libraries that overlap, exchange and copy messages, injected latency, and trials of remedies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.hide.fem import Fem as Fem
    from haloscope.hide.fem import build_fem as build_fem
    from haloscope.hide.fem import make_fem_flags as make_fem_flags
    from haloscope.hide.injector import inject as inject
    from haloscope.hide.libraries import build_halo as build_halo
    from haloscope.hide.libraries import build_heap as build_heap
    from haloscope.hide.libraries import build_injector as build_injector
    from haloscope.hide.libraries import build_overlap as build_overlap
    from haloscope.hide.libraries import build_placer as build_placer
    from haloscope.hide.libraries import build_shm_library as build_shm_library
    from haloscope.hide.libraries import build_shm_library_for as build_shm_library_for
    from haloscope.hide.placer import place as place
    from haloscope.hide.shm_library import SHM_SETTINGS as SHM_SETTINGS
    from haloscope.hide.shm_library import shm as shm
    from haloscope.markov import Event as Event

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
