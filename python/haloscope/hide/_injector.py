"""Builds the injector for an MPI, once, as the recorder is built."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from haloscope import _paths
from haloscope.watch._build import build_library, library_name
from haloscope.watch._cache import build_once, cache, progress
from haloscope.watch._headers import Headers

__all__ = ["Injector", "build_injector"]


@dataclass(frozen=True)
class Injector:
    """The files of one build."""

    directory: Path

    @property
    def library(self) -> Path:
        """The file to be preloaded."""
        return self.directory / "libhaloscope-inject.so"


def build_injector(headers: Headers, quiet: bool = False) -> Injector:
    """The injector for these headers, from the cache or built now."""
    source = _paths.source("src", "hide", "inject")
    name = library_name("injector", headers, source, _paths.source("src", "watch"))
    if not (cache() / name).is_dir():
        with progress(f"building the injector for {headers.product} (once) …", quiet):
            build_once(name, lambda directory: _build(headers, source, directory))
    return Injector(cache() / name)


def _build(headers: Headers, source: Path, directory: Path) -> None:
    build_library(
        headers, source, (Injector(directory).library,),
        f"building the injector for {headers.product}", cache() / "injector-build.log",
    )  # fmt: skip
