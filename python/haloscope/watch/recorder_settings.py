"""The recorder's settings, each declared once.

They make the options of `run` and `env`, the defaults and limits of the recorder (`src/watch/declared.py`),
and the tables of the documentation (`tools/reference.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from haloscope.base.errors import UsageError
from haloscope.base.settings import Setting, Value

__all__ = ["INTERFACES", "PASSED_ON", "SETTINGS", "Recording"]


class Recording(TypedDict, total=False):
    """How a program is recorded: a keyword for each of `SETTINGS`. What is left out has its default.

    Times are seconds, memory and sizes are MiB.
    """

    output: Path | str
    series: Sequence[str]
    exact_times: bool
    ranks: str
    only: Sequence[str]
    slice: float
    sync_collectives: int
    callsites: int
    after: float
    until: float
    size_limit: int
    phases: int
    trace: str
    trace_memory: int
    trace_spool: Path | str
    memory: int
    finalize_time: int
    live: Path | str
    annotations: str


def _lines(setting: Setting, value: Value) -> str:
    """Return one name a line, as region names may hold any other character."""
    names = value if isinstance(value, Sequence) and not isinstance(value, str) else (str(value),)
    for name in names:
        if not name or "\n" in name:
            raise UsageError(f"{setting.title} {name!r}: not the name of a region")
    return "\n".join(names)


def _ranks(setting: Setting, value: Value) -> str:
    text = str(value)
    ranges = [part.partition("-") for part in text.split(",")]
    if not all(
        _is_rank(first) and (not dash or (_is_rank(last) and int(first) <= int(last)))
        for first, dash, last in ranges
    ):
        raise UsageError(f"{setting.title} {text!r}: not a list of ranks such as 0,8-15")
    return text


def _is_rank(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) < 2**31


INTERFACES = ("caliper", "adiak", "kokkos", "nvtx", "itt", "petsc", "hypre", "p4est", "nccl")


def _interfaces(setting: Setting, value: Value) -> str:
    """Return the names of interfaces of markers, `all` or `none`. Raises `UsageError` for another word."""
    text = str(value)
    for word in text.split(",") if text not in ("", "all", "none") else ():
        if word not in INTERFACES:
            raise UsageError(f"{setting.title} {word!r}: not one of all, none, {', '.join(INTERFACES)}")
    return text


def _trace(setting: Setting, value: Value) -> str:
    if str(value) not in ("", "full", "compact"):
        raise UsageError(f"{setting.title} {value!r}: full or compact")
    return str(value)


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "output",
        "HALOSCOPE_OUTPUT",
        Path,
        "%p-%n-%d.halo",
        "Where the profile goes. %n becomes the number of ranks, %p the program, %d the date and time, "
        "%D the date, %j the batch job, and %% a percent sign.",
        metavar="F.halo",
        flag="-o",
    ),
    Setting(
        "series",
        "HALOSCOPE_SERIES",
        str,
        "none",
        "Keep every instance of this region, for the series table. Can be repeated.",
        metavar="REGION",
        multiple=True,
        encoder=_lines,
    ),
    Setting(
        "exact_times",
        "HALOSCOPE_EXACT_TIMES",
        bool,
        "off",
        "Time every call, not only a sample of the cheap ones. Counts are exact either way.",
    ),
    Setting(
        "ranks",
        "HALOSCOPE_RANKS",
        str,
        "all",
        "Record these ranks only, for example 0,8-15.",
        metavar="LIST",
        encoder=_ranks,
    ),
    Setting(
        "only",
        "HALOSCOPE_ONLY",
        str,
        "all",
        "Count only what happens in this region and those nested in it. Can be repeated.",
        metavar="REGION",
        multiple=True,
        encoder=_lines,
    ),
    Setting(
        "slice",
        "HALOSCOPE_SLICE",
        float,
        "1",
        "Keep a history of the run in slices of so many seconds, 0.001 at least. The length is doubled when "
        "a run has too many slices. 0 keeps no history.",
        metavar="S",
        least=0,
        most=100_000_000,
        unit="seconds",
    ),
    Setting(
        "sync_collectives",
        "HALOSCOPE_SYNC_COLLECTIVES",
        int,
        "0, none",
        "Put a barrier before one in N (on average) blocking collectives of a communicator, to tell waiting "
        "for late ranks (skew_time) from transfer.",
        metavar="N",
        least=0,
        most=1_000_000,
        unit="collectives",
    ),
    Setting(
        "callsites",
        "HALOSCOPE_CALLSITES",
        int,
        "0, none",
        "Tell calls apart by the line of source that they come from, and by so many lines of the stack: 1 if "
        "no number is given.",
        metavar="DEPTH",
        bare="1",
        least=0,
        most=32,
        unit="frames",
    ),
    Setting(
        "after",
        "HALOSCOPE_FROM",
        float,
        "0, at once",
        "Begin to count so many seconds after MPI_Init.",
        least=0,
        most=100_000_000,
        unit="seconds",
        is_option=False,
    ),
    Setting(
        "until",
        "HALOSCOPE_UNTIL",
        float,
        "0, the end",
        "Stop counting so many seconds after MPI_Init.",
        least=0,
        most=100_000_000,
        unit="seconds",
        is_option=False,
    ),
    Setting(
        "size_limit",
        "HALOSCOPE_SIZE_LIMIT",
        int,
        "0, none",
        "MiB of the profile. Rows for each rank and partner, instance or slice that would make it larger "
        "are left out.",
        least=0,
        most=1 << 30,
        unit="MiB",
        is_option=False,
    ),
    Setting(
        "phases",
        "HALOSCOPE_PHASES",
        int,
        "1",
        "1: find iterations in the calls of a program that marks no regions, and make regions of them. "
        "0: do not.",
        least=0,
        most=1,
        unit="searches",
        is_option=False,
    ),
    Setting(
        "trace",
        "HALOSCOPE_TRACE",
        str,
        "none",
        "Keep every call, region and message with its time. compact: times to within 1 %, in less room.",
        metavar="full|compact",
        bare="full",
        encoder=_trace,
    ),
    Setting(
        "trace_memory",
        "HALOSCOPE_TRACE_MEMORY",
        int,
        "8",
        "MiB of each thread's events that are not written yet. What finds no room there is lost and counted.",
        least=1,
        most=4096,
        unit="MiB",
        is_option=False,
    ),
    Setting(
        "trace_spool",
        "HALOSCOPE_TRACE_SPOOL",
        Path,
        "TMPDIR, else /tmp",
        "Directory on each node for the trace until MPI_Finalize.",
        is_option=False,
    ),
    Setting(
        "memory",
        "HALOSCOPE_MEMORY",
        int,
        "16",
        "MiB that the recorder may use in each rank.",
        least=1,
        most=65536,
        unit="MiB",
        is_option=False,
    ),
    Setting(
        "finalize_time",
        "HALOSCOPE_FINALIZE_TIME",
        int,
        "120",
        "Seconds that a rank in MPI_Finalize waits for one that does not come.",
        least=1,
        most=86400,
        unit="seconds",
        is_option=False,
    ),
    Setting(
        "live",
        "HALOSCOPE_LIVE",
        Path,
        "/dev/shm, else /tmp",
        "Directory on each node for what is being recorded.",
        is_option=False,
    ),
    Setting(
        "annotations",
        "HALOSCOPE_ANNOTATIONS",
        str,
        "all",
        f"Whose markers become regions, comma-separated: {', '.join(INTERFACES)}; `none`: only our own.",
        encoder=_interfaces,
        is_option=False,
    ),
)

# What `run` tells the recorder beside the user's settings.
PASSED_ON: tuple[Setting, ...] = (
    Setting("command", "HALOSCOPE_COMMAND", str, "none", "The command line, for `info`.", is_option=False),
    Setting(
        "since",
        "HALOSCOPE_SINCE",
        int,
        "0, every profile is replaced",
        "Nanoseconds since 1970, by the clock of the output's file system. A profile that changed later is "
        "of the same run and stays: the next one is called `NAME-2.halo`.",
        is_option=False,
    ),
    Setting(
        "always",
        "HALOSCOPE_ALWAYS",
        bool,
        "0",
        "1: everything is watched here (`haloscope env --always`). The recorder never writes to standard "
        "error, makes the directories of the output, and records no launch of Open MPI over several nodes "
        "outside a batch job, as ranks there may have no recorder.",
        is_option=False,
    ),
    Setting(
        "run",
        "HALOSCOPE_RUN",
        str,
        "made at MPI_Init",
        "Identity of the run, of letters, digits, `_` and `-`. Live records are "
        "`LIVE/haloscope-RUN/RANK-PID.live`; those of spawned processes are in a directory in there.",
        is_option=False,
    ),
)
