"""Builds of the libraries of this package, cached: object files to link, and libraries to preload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from haloscope.base import paths
from haloscope.base.building import build_object, build_preload, build_with_cmake
from haloscope.base.cache import build_once, cache, fingerprint
from haloscope.base.headers import Headers
from haloscope.base.preloading import Choice, find_target
from haloscope.base.toolchain import compiler, compiler_identity

_HEAP = "libhaloscope-heap.so"


def build_overlap(quiet: bool = False) -> Path:
    """Return the overlap library as an object file to link, for the MPI on PATH."""
    return build_object("overlap", paths.source("src", "hide", "overlap"), quiet)


def build_halo(quiet: bool = False) -> Path:
    """Return the halo library as an object file to link, for the MPI on PATH."""
    return build_object("halo", paths.source("src", "hide", "halo"), quiet)


def build_heap(quiet: bool = False) -> Path:
    """Return the shareable heap, a library to preload, from the cache or a new build."""
    halo = paths.source("src", "hide", "halo")
    heap = paths.source("src", "hide", "shm", "heap")
    sources = [p for folder in (halo, heap) for p in folder.iterdir() if p.is_file()]
    sources.append(paths.source("src", "interpose") / "files.hpp")
    what = "building the shareable heap"
    key = fingerprint(sources, version("haloscope"), compiler_identity(compiler()))

    def make(to: Path) -> None:
        build_with_cmake(heap, to, [_HEAP], [], what, cache() / "heap-build.log")

    return build_once(f"heap-{key}", make, what, quiet) / _HEAP


@dataclass(frozen=True)
class PreloadedBuild:
    """One build of a library of this package."""

    directory: Path
    library: Path  # the file to preload


def build_injector(headers: Headers, quiet: bool = False) -> PreloadedBuild:
    """Return the injector for these headers: prebuilt, from the cache or a new build."""
    return _build("injector", "libhaloscope-inject.so", ("inject",), headers, quiet)


def build_placer(headers: Headers, quiet: bool = False) -> PreloadedBuild:
    """Return the placer for these headers: prebuilt, from the cache or a new build."""
    return _build("placer", "libhaloscope-place.so", ("place",), headers, quiet)


def build_shm_library(headers: Headers, quiet: bool = False) -> PreloadedBuild:
    """Return the shm library for these headers: prebuilt, from the cache or a new build."""
    return _build("shm", "libhaloscope-shm.so", ("shm", "halo"), headers, quiet)


def build_shm_library_for(command: Sequence[str]) -> PreloadedBuild:
    """Return the shm library for the MPI of a launch command, from the cache or a new build."""
    return build_shm_library(find_target(command, Choice(), "there is no shm library for it").mpi.headers)


def _build(name: str, file: str, folders: Sequence[str], headers: Headers, quiet: bool) -> PreloadedBuild:
    sources = [*(paths.source("src", "hide", folder) for folder in folders), paths.source("src", "interpose")]
    used = {"shm": [paths.include()], "injector": [paths.source("src", "predict", "latencies")]}
    directory = build_preload(name, headers, (file,), [*sources, *used.get(name, [])], quiet)
    return PreloadedBuild(directory, directory / file)
