"""`haloscope where`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from haloscope.base import paths
from haloscope.base.building import applications, build_application
from haloscope.base.errors import UsageError
from haloscope.base.mpi import on_path

if TYPE_CHECKING:
    from haloscope.hide import Fem

_EXAMPLES = """\b
Examples:
  cc -I"$(haloscope where include)" -c solver.c
  cc -I"$(haloscope where caliper-include)" -L"$(haloscope where lib)" amg.c -lcaliper -ladiak
  haloscope run -- mpiexec -n 4 "$(haloscope where cg)" --nx 32
"""


@click.command(epilog=_EXAMPLES)
@click.argument("what", metavar="WHAT")
def where(what: str) -> None:
    """Print one path, for scripts and builds.

    WHAT is a folder of headers: include (with the markers), caliper-include (Caliper's and Adiak's
    interfaces). Or it is a library: lib (recorder for the MPI on PATH, and libraries for these interfaces),
    shm (the shm library), heap (its shareable heap), overlap, halo, fem (to link). Or it is a bundled
    application: cg, sweep, amr, amg, hydro, poisson. Missing files are built first.
    """

    known = _places()
    if what not in known:
        raise UsageError(f"{what}: nothing of that name; there are {', '.join(known)}")
    click.echo(str(known[what]()))


def _places() -> dict[str, Callable[[], Path]]:
    """Return the names that have a path, and functions that find it. All but the headers may be built."""
    from haloscope import hide

    fixed: dict[str, Callable[[], Path]] = {
        "include": paths.include,
        "caliper-include": paths.caliper_include,
        "lib": _recorder,
        "overlap": hide.build_overlap,
        "halo": hide.build_halo,
        "shm": _shm_library,
        "heap": hide.build_heap,
        "fem": lambda: _finite_elements().library,
        "poisson": lambda: _finite_elements().poisson,
    }
    return fixed | {name: partial(build_application, name) for name in applications(with_libraries=True)}


def _recorder() -> Path:
    """Return the recorder's directory, for programs that link it instead of preloading it."""
    from haloscope.watch import build_recorder

    return build_recorder(on_path().headers).directory


def _shm_library() -> Path:
    """Return the shm library, for those who preload it themselves."""
    from haloscope.hide import build_shm_library

    return build_shm_library(on_path().headers).library


def _finite_elements() -> Fem:
    from haloscope.hide import build_fem

    return build_fem()
