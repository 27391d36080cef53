"""Builds the protocol layer for an MPI, once, as the recorder is built."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from haloscope import _paths
from haloscope.watch._build import build_preload
from haloscope.watch._headers import Headers

__all__ = ["Protocols", "build_protocols"]


@dataclass(frozen=True)
class Protocols:
    """The files of one build."""

    directory: Path

    @property
    def library(self) -> Path:
        """The file to be preloaded."""
        return self.directory / "libhaloscope-stencil.so"


def build_protocols(headers: Headers, quiet: bool = False) -> Protocols:
    """The layer for these headers, from the cache or built now."""
    places = (("hide", "layer"), ("hide", "halo"), ("interpose",))
    sources = [*(_paths.source("src", *place) for place in places), _paths.include()]
    made = ("libhaloscope-stencil.so",)
    return Protocols(build_preload("protocols", headers, made, sources, quiet))
