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
    """Return the library of the `mpicc` in use, with its mpiexec or another `launcher`."""
    tools = toolchain()
    if not launcher:
        _check_same(tools)
        print_launcher(tools.launcher)
    description = describe(program("variables", tools.compiler))
    if description.version.startswith("Open MPI"):
        return OpenMpi.of(description, tools, tuple(launcher))
    if description.version.startswith("MPICH"):
        return Mpich.of(description, tools, tuple(launcher))
    return OtherLibrary(description.version.partition("\n")[0], tools, tuple(launcher))


def _check_same(tools: Toolchain) -> None:
    """Reject a launcher of another MPI, which would start each rank as a separate program."""
    ours, theirs = find_installed_library(tools.compiler), find_installed_library(tools.launcher)
    if ours and theirs and ours.abi != theirs.abi:
        raise RecorderError(
            f"{tools.compiler} compiles for {ours.abi}, but {tools.launcher} starts programs of "
            f"{theirs.abi}: load only one MPI, or give its launcher after --"
        )
