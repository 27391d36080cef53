"""An MPI as the one that commands find: its tools, alone, by their usual names."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from support.mpi import CHECKOUT, Mpi


def tools(mpi: Mpi) -> dict[str, str]:
    """The environment in which `mpi` is what `mpicc` and `mpiexec` are."""
    folder = _links(mpi) if mpi.name.endswith("-system") else mpi.mpicc.parent
    return {**mpi.environment(), "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def _links(mpi: Mpi) -> Path:
    """One directory for all tests: programs are kept by the compiler's path."""
    directory = CHECKOUT / "build" / "mpis" / mpi.name
    directory.mkdir(parents=True, exist_ok=True)
    files = [("mpicc", mpi.mpicc), ("mpicxx", mpi.mpicxx), ("mpiexec", mpi.mpiexec)]
    files += [("mpifort", mpi.mpifort)] if mpi.mpifort else []
    # MPICH's launcher looks for this one in its own directory.
    proxy = mpi.mpiexec.with_name("hydra_pmi_proxy")
    files += [("hydra_pmi_proxy", proxy)] * (mpi.abi == "mpich" and proxy.exists())
    for name, file in files:
        link = directory / name
        if not link.is_symlink() or link.readlink() != file:
            new = directory / f".{uuid.uuid4().hex}"  # another session may be about it, too
            new.symlink_to(file)
            new.replace(link)
    return directory
