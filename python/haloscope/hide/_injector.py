"""Builds the injector for an MPI, once, as the recorder is built."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from haloscope import _paths
from haloscope.watch._build import build_preload
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
    places = (("hide", "inject"), ("interpose",))
    sources = [_paths.source("src", *place) for place in places]
    made = ("libhaloscope-inject.so",)
    return Injector(build_preload("injector", headers, made, sources, quiet))
