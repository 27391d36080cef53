"""The MPI library in use, with its algorithms."""

from __future__ import annotations

from collections.abc import Sequence

from haloscope.base.errors import RecorderError
from haloscope.base.launcher import print_launcher
from haloscope.base.mpi import find_installed_library
from haloscope.base.toolchain import Toolchain, toolchain
from haloscope.predict.bench.algorithms import Mpich, OpenMpi
from haloscope.predict.mpi_library import Library, OtherLibrary, describe, program


def library(launcher: Sequence[str] = ()) -> Library:
    """Return the library of the `mpicc` in use; `launcher` is used instead of its mpiexec."""
    tools = toolchain()
    if not launcher:
        _check_same(tools)
        print_launcher(tools.launcher)
    said = describe(program("variables", tools.compiler))
    if said.version.startswith("Open MPI"):
        return OpenMpi.of(said, tools, tuple(launcher))
    if said.version.startswith("MPICH"):
        return Mpich.of(said, tools, tuple(launcher))
    return OtherLibrary(said.version.partition("\n")[0], tools, tuple(launcher))


def _check_same(tools: Toolchain) -> None:
    """A launcher of another MPI starts every rank as a world of its own: say so before."""
    ours, theirs = find_installed_library(tools.compiler), find_installed_library(tools.launcher)
    if ours and theirs and ours.abi != theirs.abi:
        raise RecorderError(
            f"{tools.compiler} compiles for {ours.abi}, but {tools.launcher} starts programs of "
            f"{theirs.abi}: load one MPI only, or name its launcher after --"
        )
