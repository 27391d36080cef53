"""The work of `haloscope shm`: run a command with the shm library, which copies large messages within a
node."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from haloscope.base.errors import UsageError
from haloscope.base.objects import Abi
from haloscope.base.preloading import Choice, Outcome, find_target, run_preloaded
from haloscope.base.settings import Setting, Value, to_environment
from haloscope.base.units import noun_text
from haloscope.hide.libraries import build_heap, build_shm_library
from haloscope.hide.records import join_parts, prepare_record, remove_parts

if TYPE_CHECKING:
    import polars

_Setting = partial(Setting, prefix="HALOSCOPE_SHM_")
# Each setting is declared here once, for the command, the function and the environment.
SHM_SETTINGS: tuple[Setting, ...] = (
    _Setting(
        "threshold",
        int,
        "32768",
        "Smallest message within a node that the shm library copies, in bytes, at least 1024. With "
        "--share-heap, blocks of this size are shared.",
        metavar="BYTES",
        least=1024,
    ),
    _Setting(
        "protocol",
        str,
        "dynamic",
        "Ranks that copy a message: the receiver (get), both sides (coop), any idle rank (steal, or static "
        "with chunks of one size), or the fastest of these by the messages before (dynamic). off: MPI "
        "copies all messages.",
        choices=("dynamic", "get", "coop", "steal", "static", "off"),
    ),
    _Setting(
        "output",
        Path,
        "none",
        "Write one row per pair of ranks, message size and protocol to this file.",
        metavar="F.csv",
        flag="-o",
    ),
    _Setting(
        "chunk",
        int,
        "65536",
        "Bytes of a chunk, at least 1024. With the protocol dynamic, only the first shared copy of a pair "
        "and size has chunks below 65536.",
        metavar="BYTES",
        least=1024,
        is_option=False,
    ),
    _Setting(
        "pool",
        int,
        "64",
        "MiB of shared memory per rank for messages that the receiver does not take in time. Receive "
        "buffers of the library may use the same amount.",
        metavar="MIB",
        least=0,
        is_option=False,
    ),
    _Setting(
        "patience",
        float,
        "0.001",
        "Seconds after which a sender without an answer copies its message into the pool.",
        metavar="S",
        least=0,
        is_option=False,
    ),
    _Setting(
        "cma",
        str,
        "auto",
        "Copy memory that is not shared by the kernel (cross-memory attach): where a helper needs it (auto), "
        "always, or never.",
        choices=("auto", "always", "never"),
        is_option=False,
    ),
    _Setting(
        "measure",
        str,
        "on",
        "With the protocol dynamic: send some messages of each pair and size alternately by the shm library "
        "and by MPI, and the others by the faster one.",
        choices=("on", "off"),
        is_option=False,
    ),
)

_RECORD = "HALOSCOPE_SHM_OUTPUT"
_HEADER = "rank,partner,bytes,protocol,messages,chunks,helpers,time"
_NOT_COPIED = "no message was copied: the shm library was off, or no rank reached MPI_Finalize with it"


def shm(  # noqa: PLR0913 - one for each setting
    command: Sequence[str],
    *,
    threshold: int | None = None,
    protocol: Literal["dynamic", "get", "coop", "steal", "static", "off"] | None = None,
    share_heap: bool = False,
    output: str | Path | None = None,
    chunk: int | None = None,
    pool: int | None = None,
    patience: float | None = None,
    cma: Literal["auto", "always", "never"] | None = None,
    measure: Literal["on", "off"] | None = None,
    mpi: Abi | None = None,
    mpi_include: Sequence[Path] = (),
    quiet: bool = False,
) -> Outcome:
    """Run a launch command with the shm library, which copies large messages within a node.

    Arguments that are None are taken from the environment, else the default applies.

    Args:
        command: The launch command, as a list of words.
        threshold: Smallest size (bytes) of messages that are copied.
        protocol: Ranks that copy a message.
        share_heap: Whether large allocations of the program use memory that other ranks can read.
        output: File for a record of the copied messages.
        chunk: Bytes that one rank copies at a time.
        pool: Shared memory (MiB) per rank for messages whose receiver is late.
        patience: Seconds after which a sender copies its message into the pool.
        cma: Whether the kernel copies memory that is not shared.
        measure: Whether the protocol dynamic measures which of the shm library and MPI is faster.
        mpi: Binary interface of the MPI, if it is not found.
        mpi_include: Directories of `mpi.h`, if they are not found.
        quiet: Whether to suppress the message about building the shm library.

    Returns:
        The outcome. Its `status` is that of `os.waitpid`; its `remarks` describe the copied messages.

    Raises:
        UsageError: A value is out of range.
        LaunchError: The command cannot be started.

    Examples:
        >>> print(haloscope.shm(["mpiexec", "-n", "8", "./app"], share_heap=True).remarks)
    """
    values: dict[str, Value | None] = {
        "threshold": threshold,
        "protocol": protocol,
        "output": None if output is None else Path(output),
        "chunk": chunk,
        "pool": pool,
        "patience": patience,
        "cma": cma,
        "measure": measure,
    }
    settings = to_environment(values, os.environ, SHM_SETTINGS)
    for setting in SHM_SETTINGS:
        _require(setting, settings.get(setting.variable))
    target = find_target(command, Choice(mpi, tuple(mpi_include)), "there are no messages to copy", quiet)
    record = None
    if _RECORD in settings:
        record = prepare_record(Path(settings[_RECORD]), _HEADER, "record of haloscope shm")
    library = build_shm_library(target.mpi.headers, quiet)
    behind = [build_heap(quiet)] if share_heap else []
    with tempfile.TemporaryDirectory(prefix="haloscope-") as aside:  # for a record that is not kept
        where = record or Path(aside) / "shm.csv"
        try:
            outcome = Outcome(run_preloaded(target, library, settings | {_RECORD: str(where)}, behind))
            with outcome.noting():
                is_new = join_parts(where, _HEADER)
                line = describe_record(where, share_heap) if is_new else _NOT_COPIED
                outcome.remarks.append(f"{line}: {record}" if record else line)
        finally:
            remove_parts(where)
    return outcome


def _require(setting: Setting, text: str | None) -> None:
    """Raise `UsageError` unless a variable's text is a valid value."""
    if not text or setting.kind is Path:
        return
    if setting.choices and text not in setting.choices:
        raise UsageError(f"{setting.variable} {text}: not one of {', '.join(setting.choices)}")
    if setting.least is None:
        return
    try:
        number = float(text)
    except ValueError:
        raise UsageError(f"{setting.variable} {text}: not a number") from None
    if not number >= setting.least:
        raise UsageError(f"{setting.variable} {text}: at least {setting.least}")


# Texts of the shm library's reasons (src/hide/shm/carried.hpp) for sending by MPI, and remedies.
_REASONS = {
    "memory": "from memory that is not shared",
    "datatype": "with datatypes that cannot be packed (absolute addresses, or over 2 GiB)",
    "buffered": "sent by MPI_Bsend",
    "pool": "as the pool was full (HALOSCOPE_SHM_POOL)",
    "late": "to receivers that were mostly late (HALOSCOPE_SHM_PATIENCE)",
    "node": "to other nodes, or to the same rank",
    "tried": "to measure which is faster",
    "faster": "where MPI was faster",
}
_HELP = {False: " (--share-heap, or MPIX_Register_buf)", True: " (static or small: MPIX_Register_buf)"}
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def describe_record(record: Path, share_heap: bool) -> str:
    """Return one line about the copied messages by protocol, and about the others by reason."""
    import polars

    rows = polars.read_csv(record, infer_schema_length=None)
    by_mpi = rows.filter(rows["protocol"].str.starts_with("MPI ("))
    parts = [
        _describe_copied(rows.filter(~rows["protocol"].str.starts_with("MPI ("))),
        _describe_sent_by_mpi(by_mpi, share_heap),
    ]
    return "; ".join(filter(None, parts)) or "no message was large enough"


def _describe_copied(rows: polars.DataFrame) -> str:
    import polars

    if not len(rows):
        return ""
    waited = rows.filter(rows["protocol"] == "ESCAPE")["messages"].sum()
    ahead = rows.filter(rows["protocol"] == "AHEAD")["messages"].sum()
    volume = (polars.col("bytes") * polars.col("messages")).sum().alias("volume")
    sums = (
        # ESCAPE is recorded by senders; the receivers of these messages record them later.
        rows.filter(~rows["protocol"].is_in(["ESCAPE", "AHEAD"]))
        .group_by("protocol")
        .agg(polars.col("messages").sum(), volume)
        .sort("volume", "messages", descending=True)
    )
    messages, total = sums["messages"].sum(), max(1, sums["volume"].sum())
    shares = ", ".join(
        f"{name} {count} ({100 * part / total:.3g} % of bytes)" for name, count, part in sums.rows()
    )
    pooled = f"; {waited} waited in the pool" if waited else ""
    between = f"; {ahead} between nodes, ahead of their receives" if ahead else ""
    within = f"{noun_text(float(messages), 'message')} within nodes" + (f": {shares}" if shares else "")
    return f"{within}{pooled}{between}"


def _describe_sent_by_mpi(rows: polars.DataFrame, share_heap: bool) -> str:
    import polars

    if not len(rows):
        return ""
    sums = (
        rows.group_by("protocol")
        .agg(polars.col("messages", "bytes").sum())
        .sort("bytes", "protocol", descending=[True, False])
    )
    texts = []
    for name, messages, volume in sums.rows():
        reason = name.removeprefix("MPI (").removesuffix(")")
        what = _REASONS[reason] + (_HELP[share_heap] if reason == "memory" else "")
        texts.append(f"{messages} ({_binary_size_text(volume)}) {what}")
    return "by MPI: " + ", ".join(texts)


def _binary_size_text(volume: int) -> str:
    """Return a size in the largest suitable binary unit."""
    unit = min(max(volume.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    return f"{volume / 1024**unit:.3g} {_UNITS[unit]}"
