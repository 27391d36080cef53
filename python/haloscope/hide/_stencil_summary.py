"""What the protocol layer carried, what it left to MPI and why, in a sentence or two."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars

__all__ = ["summary"]

# What the layer's reasons (src/hide/layer/record.hpp) mean, and what would help.
_REASONS = {
    "memory": "from memory that is not shared",
    "datatype": "from types with holes (pack them, or send what lies side by side)",
    "buffered": "by MPI_Bsend",
    "pool": "for which the pool had no room (--pool)",
    "late": "to receivers that mostly came too late (--patience)",
    "node": "to other nodes, or to itself",
}
_HELP = {False: " (--share-heap, or MPIX_Register_buf)", True: " (static or small: MPIX_Register_buf)"}
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def summary(record: Path, share_heap: bool) -> str:
    """Return one line about what was carried and how, and what was not and why."""
    if not record.is_file():
        return "no message was carried: the layer was off, or no rank came to MPI_Finalize with it"
    import polars

    rows = polars.read_csv(record, infer_schema_length=None)
    passed = rows.filter(rows["protocol"].str.starts_with("MPI ("))
    said = [_carried(rows.filter(~rows["protocol"].str.starts_with("MPI ("))), _passed(passed, share_heap)]
    return "; ".join(filter(None, said)) or "no message was large enough"


def _carried(rows: polars.DataFrame) -> str:
    import polars

    if not len(rows):
        return ""
    waited = rows.filter(rows["protocol"] == "ESCAPE")["messages"].sum()
    ahead = rows.filter(rows["protocol"] == "AHEAD")["messages"].sum()
    volume = (polars.col("bytes") * polars.col("messages")).sum().alias("volume")
    sums = (
        # ESCAPE is said by senders, and receivers take these messages later.
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
    within = f"{messages} messages within nodes" + (f": {shares}" if shares else "")
    return f"{within}{pooled}{between}"


def _passed(rows: polars.DataFrame, share_heap: bool) -> str:
    import polars

    if not len(rows):
        return ""
    sums = (
        rows.group_by("protocol")
        .agg(polars.col("messages", "bytes").sum())
        .sort("bytes", "protocol", descending=[True, False])
    )
    told = []
    for name, messages, volume in sums.rows():
        reason = name.removeprefix("MPI (").removesuffix(")")
        what = _REASONS[reason] + (_HELP[share_heap] if reason == "memory" else "")
        told.append(f"{messages} ({_amount(volume)}) {what}")
    return "by MPI went " + ", ".join(told)


def _amount(volume: int) -> str:
    """Return so many bytes in the unit that a reader would choose."""
    unit = min(max(volume.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    return f"{volume / 1024**unit:.3g} {_UNITS[unit]}"
