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


class Recording(TypedDict, total=False):
    """How a program is recorded: a keyword for each of `SETTINGS`. The others have their defaults.

    Times are seconds, memory and sizes are MiB.
    """

    output: Path | str
    series: Sequence[str]
    exact_times: bool
    ranks: str
    only: Sequence[str]
    slice: float
    sync_collectives: int
    callsites: bool
    depth: int
    after: float
    until: float
    size_limit: int
    phases: int
    trace: bool
    trace_compact: bool
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


DEFAULT_NAME = "%p-%n-%d.halo"
SETTINGS: tuple[Setting, ...] = (
    Setting(
        "output",
        "HALOSCOPE_OUTPUT",
        Path,
        DEFAULT_NAME,
        "The profile to write. %p: program, %n: number of ranks, %d: date and time, %D: date, "
        "%j: batch job, %%: percent sign.",
        metavar="F.halo",
        flag="-o",
    ),
    Setting(
        "series",
        "HALOSCOPE_SERIES",
        str,
        "none",
        "Record each instance of this region, for the table `series`. Can be repeated.",
        metavar="REGION",
        multiple=True,
        encoder=_lines,
    ),
    Setting(
        "exact_times",
        "HALOSCOPE_EXACT_TIMES",
        bool,
        "0",
        "1: measure the time of every call, not of a sample of the cheap ones. Counts are always exact.",
        is_option=False,
    ),
    Setting(
        "ranks",
        "HALOSCOPE_RANKS",
        str,
        "all",
        "Record only these ranks, for example 0,8-15.",
        metavar="LIST",
        encoder=_ranks,
    ),
    Setting(
        "only",
        "HALOSCOPE_ONLY",
        str,
        "all",
        "Record only this region and the regions in it. Can be repeated.",
        metavar="REGION",
        multiple=True,
        encoder=_lines,
    ),
    Setting(
        "slice",
        "HALOSCOPE_SLICE",
        float,
        "1",
        "Record the history of the run in slices of S seconds. The minimum is 0.001. Long runs get longer "
        "slices. 0: no history.",
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
        "Insert a barrier before about one in N blocking collectives, to measure how long ranks wait for "
        "late ranks (`skew_time`).",
        metavar="N",
        least=0,
        most=1_000_000,
        unit="collectives",
    ),
    Setting("callsites", "HALOSCOPE_CALLSITES", bool, "off", "Record the source line of each MPI call."),
    Setting(
        "depth",
        "HALOSCOPE_DEPTH",
        int,
        "1",
        "Record N stack frames of each MPI call. Needs --callsites.",
        metavar="N",
        least=1,
        most=32,
        unit="frames",
    ),
    Setting(
        "after",
        "HALOSCOPE_AFTER",
        float,
        "0, at once",
        "Start recording this number of seconds after MPI_Init.",
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
        "Stop recording this number of seconds after MPI_Init.",
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
        "Largest size of the profile in MiB. Rows per partner, instance or slice that exceed it are "
        "left out.",
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
        "1: find the iterations of a program that marks no regions, and record them as regions. 0: do not.",
        least=0,
        most=1,
        unit="searches",
        is_option=False,
    ),
    Setting("trace", "HALOSCOPE_TRACE", bool, "off", "Record the times of every call, region and message."),
    Setting(
        "trace_compact",
        "HALOSCOPE_TRACE_COMPACT",
        bool,
        "off",
        "Like --trace in a smaller file: times are rounded down by less than 1 %.",
    ),
    Setting(
        "trace_memory",
        "HALOSCOPE_TRACE_MEMORY",
        int,
        "8",
        "MiB per thread for events that are not written yet. Events beyond it are lost and counted.",
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
        "MiB that the recorder may use per rank.",
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
        "Seconds that a rank in MPI_Finalize waits for a missing rank.",
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
        "Directory on each node for live records.",
        is_option=False,
    ),
    Setting(
        "annotations",
        "HALOSCOPE_ANNOTATIONS",
        str,
        "all",
        "Interfaces whose markers become regions, separated by commas: "
        f"{', '.join(INTERFACES)}; `none`: only Haloscope's own markers.",
        encoder=_interfaces,
        is_option=False,
    ),
)

# Variables that `run` sets for the recorder in addition to the user's settings.
PASSED_ON: tuple[Setting, ...] = (
    Setting("command", "HALOSCOPE_COMMAND", str, "none", "The command line, for `info`.", is_option=False),
    Setting(
        "since",
        "HALOSCOPE_SINCE",
        int,
        "0, every profile is replaced",
        "Nanoseconds since 1970, by the clock of the output's file system. A profile that changed later is "
        "of the same run and is kept: the next one is called `NAME-2.halo`.",
        is_option=False,
    ),
    Setting(
        "always",
        "HALOSCOPE_ALWAYS",
        bool,
        "0",
        "1: every program is profiled here (`haloscope env --always`). The recorder never writes to standard "
        "error, and makes the directories of the output. Outside of batch jobs it does not record Open MPI "
        "launches over several nodes, as ranks there may have no recorder.",
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
