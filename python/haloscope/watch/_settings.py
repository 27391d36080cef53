"""The recorder's settings, each declared once: options, validation and documentation follow."""

from __future__ import annotations

from pathlib import Path

from haloscope.base.errors import UsageError
from haloscope.base.settings import Setting, Value

__all__ = ["SETTINGS"]


def _lines(setting: Setting, value: Value) -> str:
    """One name a line, as region names may hold any other character."""
    names = value if isinstance(value, tuple) else (str(value),)
    for name in names:
        if not name or "\n" in name:
            raise UsageError(f"{setting.option} {name!r}: not the name of a region")
    return "\n".join(names)


def _ranks(setting: Setting, value: Value) -> str:
    text = str(value)
    ranges = [part.partition("-") for part in text.split(",")]
    if not all(
        _is_rank(first) and (not dash or (_is_rank(last) and int(first) <= int(last)))
        for first, dash, last in ranges
    ):
        raise UsageError(f"{setting.option} {text!r}: not a list of ranks such as 0,8-15")
    return text


def _is_rank(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) < 2**31


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "output",
        "HALOSCOPE_OUTPUT",
        Path,
        "%p-%n-%d.halo",
        "Where the profile goes. %n becomes the number of ranks, %p the program, %d the date, and "
        "%% a percent sign.",
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
        "Time every call, not a sample of the cheap ones; counts are exact either way.",
    ),
    Setting(
        "ranks",
        "HALOSCOPE_RANKS",
        str,
        "all",
        "Only these ranks record, for example 0,8-15.",
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
        "from",
        "HALOSCOPE_FROM",
        float,
        "0",
        "Begin to count so many seconds after MPI_Init.",
        metavar="S",
        least=0,
    ),
    Setting(
        "until",
        "HALOSCOPE_UNTIL",
        float,
        "0, the end",
        "Count no more from so many seconds after MPI_Init on.",
        metavar="S",
        least=0,
    ),
    Setting(
        "slice",
        "HALOSCOPE_SLICE",
        float,
        "1",
        "Seconds of a slice in the history that a profile keeps; doubled when a run has too many "
        "of them. 0 keeps none.",
        metavar="S",
        least=0,
    ),
    Setting(
        "sync_collectives",
        "HALOSCOPE_SYNC_COLLECTIVES",
        int,
        "0, none",
        "Put a barrier before one in N (on average) blocking collectives of a communicator, to "
        "tell waiting for late ranks (skew_time) from transfer.",
        metavar="N",
        least=0,
    ),
    Setting(
        "size_limit",
        "HALOSCOPE_SIZE_LIMIT",
        int,
        "0, none",
        "MiB of profile beyond which rows for each rank and partner, instance or slice are left out.",
        metavar="MIB",
        least=0,
    ),
    Setting(
        "memory",
        "HALOSCOPE_MEMORY",
        int,
        "16",
        "MiB that the recorder may use in each rank.",
        metavar="MIB",
        least=1,
    ),
    Setting(
        "finalize_time",
        "HALOSCOPE_FINALIZE_TIME",
        int,
        "120",
        "Seconds that MPI_Finalize waits for a rank that does not come.",
        metavar="S",
        least=1,
    ),
    Setting(
        "live",
        "HALOSCOPE_LIVE",
        Path,
        "/dev/shm, else /tmp",
        "Node-local directory for what is being recorded.",
        metavar="DIR",
    ),
)
