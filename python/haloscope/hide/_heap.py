"""Builds the shareable heap, once; it is the same for every MPI."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from haloscope import _paths
from haloscope.watch._build import build_with_cmake, compiler
from haloscope.watch._cache import build_once, cache, compiler_identity, fingerprint

__all__ = ["build_heap"]

_LIBRARY = "libhaloscope-heap.so"
_WHAT = "building the shareable heap"


def build_heap(quiet: bool = False) -> Path:
    """The library to be preloaded, from the cache or built now."""
    room = _paths.source("src", "hide", "halo")
    heap = _paths.source("src", "hide", "layer", "heap")
    sources = [p for folder in (room, heap) for p in folder.iterdir() if p.is_file()]
    key = fingerprint(sources, version("haloscope"), compiler_identity(compiler()))
    build = build_once(f"heap-{key}", lambda to: _build(heap, to), _WHAT, quiet)
    return build / _LIBRARY


def _build(source: Path, directory: Path) -> None:
    build_with_cmake(source, directory, [_LIBRARY], [], _WHAT, cache() / "heap-build.log")
