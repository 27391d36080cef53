"""Directories of the sources, headers and applications of Haloscope."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
_CHECKOUT = _PACKAGE.parent.parent


def is_checkout() -> bool:
    """Return true in a checkout, false in an installed wheel."""
    return (_CHECKOUT / "pyproject.toml").is_file() and (_CHECKOUT / "src").is_dir()


def root() -> Path:
    """Return the directory that holds `include`, `src`, `apps` and `studies`."""
    return _CHECKOUT if is_checkout() else _PACKAGE / "_share"


def include() -> Path:
    """Return the directory to put on a compiler's include path for `<haloscope/region.h>`."""
    return root() / "include"


def caliper_include() -> Path:
    """Return the directory for `<caliper/cali.h>` and `<adiak.h>`: Caliper's and Adiak's interfaces."""
    return include() / "caliper"


def prebuilt() -> Path:
    """Return the directory of ready-made libraries; a checkout has none."""
    return root() / "prebuilt"


def source(*parts: str) -> Path:
    """Return a directory of sources below the root, such as `source("src", "watch")`."""
    path = root().joinpath(*parts)
    if not path.is_dir():
        raise FileNotFoundError(
            f"{path}: part of Haloscope is missing; install it again (in a checkout: git status)"
        )
    return path
