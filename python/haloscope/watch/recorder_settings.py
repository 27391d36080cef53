"""The recorder's settings, each declared once.

They make the options of `run` and `env`, the recorder's settings and their reading (`src/watch/declared.py`),
and the tables of the documentation (`tools/reference.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from haloscope.base.errors import UsageError
from haloscope.base.settings import Setting, Value
from haloscope.base.texts import parse_whole

# A profile's name may contain `%` and one of these letters. Moments are formats of strftime.
PLACEHOLDERS = {
    "p": "program",
    "n": "number of ranks",
    "d": "date and time",
    "D": "date",
    "j": "batch job",
    "%": "percent sign",
}
MOMENTS = {"d": "%Y%m%d-%H%M%S", "D": "%Y-%m-%d"}
# Variables with the number of the batch job, the first one counts.
JOB_VARIABLES = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID")
DEFAULT_NAME = "%p-%n-%d.halo"


class Recording(TypedDict, total=False):
    """How a program is recorded: a keyword for each of `SETTINGS`. The others have their defaults.

    Times are seconds, memory and sizes are MiB.
    """

    trace: bool
    trace_compact: bool
    callsites: bool
    depth: int
    series: Sequence[str]
    slice: float
    sync_collectives: int
    ranks: str
    only: Sequence[str]
    output: Path | str
    exact_times: bool
    after: float
    until: float
    size_limit: int
    phases: int
    trace_memory: int
    trace_spool: Path | str
    memory: int
    finalize_time: float
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
    rank = parse_whole(text)
    return rank is not None and rank < 2**31


# Interfaces of markers, in the order of the recorder's enumeration.
INTERFACES = ("caliper", "adiak", "kokkos", "nvtx", "itt", "petsc", "hypre", "p4est", "nccl")


def _interfaces(setting: Setting, value: Value) -> str:
    """Return the names of interfaces of markers, `all` or `none`. Raises `UsageError` for another word."""
    text = str(value)
    for word in text.split(",") if text not in ("", "all", "none") else ():
        if word not in INTERFACES:
            raise UsageError(f"{setting.title} {word!r}: not one of all, none, {', '.join(INTERFACES)}")
    return text


# Titles of groups in the help of `run` and `env`.
_RECORD, _LIMITS = "What to record", "Limits of the recording"
SETTINGS: tuple[Setting, ...] = (
    Setting("trace", bool, "off", "Record the times of every call, region and message.", group=_RECORD),
    Setting(
        "trace_compact",
        bool,
        "off",
        "Like --trace in a smaller file: times are rounded down by less than 1 %.",
        group=_RECORD,
    ),
    Setting("callsites", bool, "off", "Record the source line of each MPI call.", group=_RECORD),
    Setting(
        "depth",
        int,
        "1",
        "Record N stack frames of each MPI call. Needs --callsites.",
        metavar="N",
        least=1,
        most=32,
        unit="frames",
        group=_RECORD,
    ),
    Setting(
        "series",
        str,
        "none",
        "Record each instance of this region, for the table `series`. Can be repeated.",
        metavar="REGION",
        multiple=True,
        encoder=_lines,
        group=_RECORD,
    ),
    Setting(
        "slice",
        float,
        "1",
        "Record the history of the run in slices of S seconds. The minimum is 0.001. Long runs get longer "
        "slices. 0: no history.",
        metavar="S",
        least=0,
        most=100_000_000,
        unit="seconds",
        group=_RECORD,
    ),
    Setting(
        "sync_collectives",
        int,
        "0, none",
        "Insert a barrier before about one in N blocking collectives, to measure how long ranks wait for "
        "late ranks (`skew_time`).",
        metavar="N",
        least=0,
        most=1_000_000,
        unit="collectives",
        group=_RECORD,
    ),
    Setting(
        "ranks",
        str,
        "all",
        "Record only these ranks, for example 0,8-15.",
        metavar="LIST",
        encoder=_ranks,
        group=_LIMITS,
    ),
    Setting(
        "only",
        str,
        "all",
        "Record only this region and the regions in it. Can be repeated.",
        metavar="REGION",
        multiple=True,
        encoder=_lines,
        group=_LIMITS,
    ),
    Setting(
        "output",
        Path,
        DEFAULT_NAME,
        f"The profile to write. {', '.join(f'%{letter}: {what}' for letter, what in PLACEHOLDERS.items())}.",
        metavar="F.halo",
        flag="-o",
    ),
    Setting(
        "exact_times",
        bool,
        "0",
        "1: measure the time of every call, not of a sample of the cheap ones. Counts are always exact.",
        is_option=False,
    ),
    Setting(
        "after",
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
        int,
        "1",
        "1: find the iterations of a program that marks no regions, and record them as regions. 0: do not.",
        least=0,
        most=1,
        unit="searches",
        is_option=False,
    ),
    Setting(
        "trace_memory",
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
        Path,
        "TMPDIR, else /tmp",
        "Directory on each node for the trace until MPI_Finalize.",
        is_option=False,
    ),
    Setting(
        "memory",
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
        float,
        "120",
        "Seconds that a rank in MPI_Finalize waits for a missing rank.",
        least=1,
        most=86400,
        unit="seconds",
        is_option=False,
    ),
    Setting("live", Path, "/dev/shm, else /tmp", "Directory on each node for live records.", is_option=False),
    Setting(
        "annotations",
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
    Setting("command", str, "none", "The command line, for `info`.", is_option=False),
    Setting(
        "since",
        int,
        "0, every profile is replaced",
        "Nanoseconds since 1970, by the clock of the output's file system. A profile that changed later is "
        "of the same run and is kept: the next one is called `NAME-2.halo`.",
        least=0,
        most=2**63 - 1,
        unit="nanoseconds",
        is_option=False,
    ),
    Setting(
        "always",
        bool,
        "0",
        "1: every program is profiled here (`haloscope env --always`). The recorder never writes to standard "
        "error, and makes the directories of the output. Outside of batch jobs it does not record Open MPI "
        "launches over several nodes, as ranks there may have no recorder.",
        is_option=False,
    ),
    Setting(
        "run",
        str,
        "none, made at MPI_Init",
        "Identity of the run, of letters, digits, `_` and `-`. Live records are "
        "`LIVE/haloscope-RUN/RANK-PID.live`; those of spawned processes are in a directory in there.",
        is_option=False,
    ),
)
