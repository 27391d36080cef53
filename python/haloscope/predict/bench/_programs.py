"""The measuring programs in `src/predict`, compiled for the MPI in use when first needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base import paths
from haloscope.base.building import build_executable

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["program"]


def program(name: str, compiler: Path | None = None, quiet: bool = False) -> Path:
    """The executable made of `src/predict/NAME.cpp`; `compiler` instead of the `mpicxx` in use."""
    folder = paths.source("src", "predict")
    return build_executable(name, [folder / f"{name}.cpp"], [folder], compiler, quiet)
