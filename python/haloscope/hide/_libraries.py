"""The libraries of this room that programs link: overlap and halo."""

from __future__ import annotations

from pathlib import Path

from haloscope.base import paths
from haloscope.base.building import build_object

__all__ = ["build_halo", "build_overlap"]


def build_overlap(quiet: bool = False) -> Path:
    """Return the overlap library as an object file to be linked, for the MPI on PATH."""
    return build_object("overlap", paths.source("src", "hide", "overlap"), quiet)


def build_halo(quiet: bool = False) -> Path:
    """Return the halo library as an object file to be linked, for the MPI on PATH."""
    return build_object("halo", paths.source("src", "hide", "stencil"), quiet)
