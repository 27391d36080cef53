"""An MPI as the one that commands find: its tools, alone, by their usual names."""

from __future__ import annotations

import os
from pathlib import Path

from support.mpi import Mpi

__all__ = ["tools"]


def tools(mpi: Mpi, directory: Path) -> dict[str, str]:
    """The environment in which `mpi` is what `mpicc` and `mpiexec` are; links go to `directory`."""
    if mpi.name.endswith("-system"):
        directory.mkdir(exist_ok=True)
        files = [("mpicc", mpi.mpicc), ("mpicxx", mpi.mpicxx), ("mpiexec", mpi.mpiexec)]
        # MPICH's launcher looks for this one beside itself.
        proxy = mpi.mpiexec.with_name("hydra_pmi_proxy")
        files += [("hydra_pmi_proxy", proxy)] * (mpi.abi == "mpich" and proxy.exists())
        for name, file in files:
            if not (directory / name).exists():
                (directory / name).symlink_to(file)
        folder = directory
    else:
        folder = mpi.mpicc.parent
    return {**mpi.environment(), "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
