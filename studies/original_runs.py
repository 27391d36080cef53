"""Recorded runs of a paper's own programs, which the user names with `--with`.

An executable counts only if its output is that of a version that the study knows. Otherwise the script ends
with one line and the exit status 1, and no number is written.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import NoReturn

import polars as pl
from common import ENVIRONMENT, HALOSCOPE, NOT_HERE

from haloscope import explain
from haloscope.explain import Profile
from haloscope.reproduce.study import Reproduced, find_originals, write_reproduced

LIMIT = 1200.0  # seconds of a run, after which the program counts as hanging
RANKS_A_CORE = 64  # at most: counts do not depend on times
_END = 10.0  # seconds from SIGTERM to SIGKILL
_GB = 1e9


@dataclass(frozen=True)
class Original:
    """A program of a paper.

    `prints` is a regular expression that recognises its output; a group in it is the version. `versions` are
    beginnings of those that the study knows. `report` is a pattern of the files that it writes.
    """

    name: str
    title: str
    prints: str
    versions: tuple[str, ...] = ()
    report: str = ""

    @property
    def program(self) -> Path:
        """The user's executable."""
        found = find_originals().get(self.name)
        return found or _fail(self, f"give its executable with --with {self.name}=PATH")


@dataclass(frozen=True)
class Run:
    """A run of a program with the paper's flags. `row` is its name in the paper, `memory` in GB."""

    row: str
    ranks: int
    words: str
    memory: float = 0.0


@dataclass(frozen=True)
class Ended:
    """A run that ended: its profile, its output, and the version that it printed."""

    profile: Profile
    output: str
    version: str


def fitting(original: Original, runs: Sequence[Run]) -> Iterator[Run]:
    """Yield the runs that this machine has enough memory and cores for; print the others."""
    free, most = _free_memory(), RANKS_A_CORE * len(os.sched_getaffinity(0))
    fits = [run for run in runs if run.ranks <= most and run.memory <= free]
    for run in runs:
        if run not in fits:
            needs = f"{run.ranks} ranks and {run.memory:.0f} GB of memory"
            print(f"{run.row} is not run: it needs {needs}; here are at most {most} and {free:.0f}")
    if not fits:
        print(f"{original.title} needs more memory or cores than this machine has")
        sys.exit(NOT_HERE)
    yield from fits


def record(original: Original, run: Run, verb: Sequence[str] = ()) -> Ended:
    """Run a program under the recorder in a directory of its own. `verb` comes before the launch command."""
    directory = Path("originals") / original.name / re.sub(r"\W+", "-", run.row.lower())
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    print(f"{run.row}: {original.program.name} {run.words}", flush=True)
    file = (directory / "run.halo").resolve()
    launch = ["mpiexec", "-n", str(run.ranks), str(original.program), *run.words.split()]
    command = [str(HALOSCOPE), "run", "--quiet", "-o", str(file), "--", *verb, *launch]
    log = directory / "output.txt"
    status = _wait(command, directory, log)
    if status is None:
        _fail(original, f"{run.row} did not end within {LIMIT:.0f} s; see {log}")
    output = "\n".join(_read(path) for path in (log, *sorted(directory.glob(original.report or log.name))))
    version = check_output(original, output, status)
    if status:
        _fail(original, f"{run.row} ended with status {status}; see {log}")
    if not file.exists():
        _fail(original, "no call of MPI was recorded: link it with the shared library of an MPI")
    profile = explain.open(file)
    ranks = profile.table("regions").row(0, named=True)["ranks"]
    if ranks != run.ranks:
        _fail(original, f"ran with {ranks} of {run.ranks} ranks: put the mpiexec of its MPI first on PATH")
    return Ended(profile, output, version)


def check_output(original: Original, output: str, status: int = 0) -> str:
    """Return the version that a program printed; it may be empty. Exit if the study does not know it."""
    found = re.search(original.prints, output, re.MULTILINE)
    if found is None:
        ended = f"ended with status {status} and " if status else ""
        _fail(
            original, f"{ended}printed nothing that {original.title} prints: it is another program or version"
        )
    version = found[1].strip() if found.re.groups else ""
    if not version.startswith(original.versions or ("",)):
        known = ", ".join(original.versions)
        _fail(original, f"printed version {version}; this study knows {known} of {original.title}")
    return version


def write_originals(
    part: str, original: Original, version: str, values: Mapping[str, float], *, is_measured: bool = False
) -> None:
    """Write the numbers of the published names that a program gave, also as a table of kept results."""
    date = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    columns = {"program": original.title, "version": version, "date": date}
    table = pl.DataFrame({"name": list(values), "value": [f"{value:.10g}" for value in values.values()]})
    table.with_columns(**{name: pl.lit(text) for name, text in columns.items()}).write_csv(f"{part}.csv")
    found = [
        Reproduced(name, value, "measured" if is_measured else "counted") for name, value in values.items()
    ]
    write_reproduced(part, originals=found)


def library_version(program: Path, pattern: str) -> str:
    """Return the file name of a shared library of a program, which matches a regular expression."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    found = re.search(rf"=> (\S*/{pattern}\S*)", listed)
    return Path(found[1]).resolve().name if found else ""


def _wait(command: Sequence[str], directory: Path, log: Path) -> int | None:
    """Run a command with its output in `log`, and return its status; None if it had to be ended."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=directory,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            # A launcher ends its ranks when it is asked to end.
            os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(_END)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return None


def _read(file: Path) -> str:
    return file.read_text("utf-8", "replace")


def _free_memory() -> float:
    """Return the available memory in GB."""
    found = re.search(r"MemAvailable: +(\d+) kB", _read(Path("/proc/meminfo")))
    return int(found[1]) * 1024 / _GB if found else float("inf")


def _fail(original: Original, reason: str) -> NoReturn:
    sys.exit(f"{original.name}: {reason}")
