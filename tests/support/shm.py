"""Programs with the shm library before their MPI."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from haloscope.base.headers import read_headers
from haloscope.hide import build_shm_library
from support.missing import missing
from support.mpi import Mpi
from support.mpis import tools
from support.processes import run_program

PROGRAMS = Path(__file__).resolve().parents[1] / "hide" / "programs" / "shm"
CONFORM = PROGRAMS / "conform" / "conform.c"
RANDOM = PROGRAMS / "random.c"


def conform_flags() -> list[str]:
    """What else CONFORM is made of."""
    others = sorted(str(path) for path in CONFORM.parent.glob("*.c") if path != CONFORM)
    # The headers declare MPI_STATUSES_IGNORE and similar names with a size of 0.
    return [*others, "-Wall", "-Wextra", "-Wno-stringop-overflow", "-Wno-stringop-overread", "-pthread"]


@dataclass(frozen=True)
class Shm:
    """The shm library of one MPI."""

    mpi: Mpi
    library: Path

    def command(self, program: Path, *arguments: str, **settings: str) -> list[str | Path]:
        """`program` with the shm library; settings are `protocol="get"` and so on."""
        names = (f"HALOSCOPE_SHM_{name.upper()}={value}" for name, value in settings.items())
        return ["env", f"LD_PRELOAD={self.library}", *names, program, *arguments]

    def run(
        self,
        ranks: int,
        program: Path,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        settings: Mapping[str, str] | None = None,
        status: int | None = 0,
    ) -> subprocess.CompletedProcess[str]:
        """Run it with the shm library. Assert its status, unless that is None."""
        words = self.command(program, *arguments, **(settings or {}))
        return self.mpi.run(ranks, words, env=env, status=status)


def carried(record: Path) -> Counter[str]:
    """Messages by protocol, of the ranks' records of one run; `MPI (…)` those that it left."""
    counts: Counter[str] = Counter()
    for path in record.parent.glob(f"{record.name}.*"):
        for line in path.read_text().splitlines():
            _, _, _, protocol, messages, *_ = line.split(",")
            if messages.isdigit():
                counts[protocol] += int(messages)
    return counts


def offered(record: Path) -> int:
    """Messages that the shm library carried, or left to MPI because of how long others took.

    Which of the two depends on what else the machine does. A message that escaped counts once,
    where it was received.
    """
    counts = carried(record)
    measured = ("MPI (late)", "MPI (tried)", "MPI (faster)")
    return sum(counts[name] for name in ("GET", "COOP", "STEAL", "PACK", *measured))


def build_shm(haloscope: Path, mpi: Mpi) -> Shm:
    """As `haloscope where shm` makes it, or `haloscope shm` for what links MPI 5's."""
    if mpi.name == "standard-wheel":
        headers = read_headers(mpi.mpicc.parents[1] / "include", "standard")
        return Shm(mpi, build_shm_library(headers or missing("mpi_abi.h"), quiet=True).library)
    done = run_program([haloscope, "where", "shm"], env=tools(mpi), status=None)
    if done.returncode:
        missing(f"the shm library of {mpi.name}: {done.stderr}")
    return Shm(mpi, Path(done.stdout.strip()))
