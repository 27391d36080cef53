"""Builds the protocol layer for an MPI, once, as the recorder is built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from haloscope.base import paths
from haloscope.base.building import build_preload
from haloscope.base.headers import Headers
from haloscope.base.preloading import Choice, find_target

__all__ = ["Protocols", "build_protocols", "build_protocols_for"]


@dataclass(frozen=True)
class Protocols:
    """The files of one build."""

    directory: Path

    @property
    def library(self) -> Path:
        """The file to be preloaded."""
        return self.directory / "libhaloscope-stencil.so"


def build_protocols(headers: Headers, quiet: bool = False) -> Protocols:
    """Return the layer for these headers, from the cache or built now."""
    places = (("hide", "stencil", "layer"), ("hide", "stencil"), ("hide", "wrappers"), ("watch",))
    sources = [*(paths.source("src", *place) for place in places), paths.include()]
    made = ("libhaloscope-stencil.so",)
    return Protocols(build_preload("protocols", headers, made, sources, quiet))


def build_protocols_for(command: Sequence[str]) -> Protocols:
    """Return the layer for the MPI of a launch command, from the cache or built now."""
    return build_protocols(find_target(command, Choice(), "there is no layer for it").mpi.headers)
