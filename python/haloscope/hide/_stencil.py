"""`haloscope stencil`: run a command whose large messages within a node our protocols carry."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from haloscope.hide._heap import build_heap
from haloscope.hide._parts import put_together, writable
from haloscope.hide._preloading import find_target, run_preloaded
from haloscope.hide._protocols import build_protocols
from haloscope.hide._stencil_settings import STENCIL_SETTINGS
from haloscope.watch._run import Choice, Outcome
from haloscope.watch._settings import Value, to_environment

__all__ = ["stencil"]

_RECORD = "HALOSCOPE_STENCIL_RECORD"
_HEADER = "rank,partner,bytes,protocol,messages,chunks,helpers,time"


def stencil(
    command: Sequence[str],
    values: Mapping[str, Value | None],
    share_heap: bool,
    choice: Choice,
    quiet: bool = False,
) -> Outcome:
    """Run a command with the protocol layer in its ranks; raises only if nothing was started."""
    settings = to_environment(values, os.environ, STENCIL_SETTINGS)
    target = find_target(command, choice, "there is nothing to carry")
    record = writable(Path(settings.get(_RECORD, "stencil.csv")))
    layer = build_protocols(target.mpi.headers, quiet)
    behind = [build_heap(quiet)] if share_heap else []
    status = run_preloaded(target, layer, settings | {_RECORD: str(record)}, behind)
    put_together(record, _HEADER)
    return Outcome(status, remarks=[_summary(record)])


def _summary(record: Path) -> str:
    """One line about what was carried, and how."""
    if not record.is_file():
        return "no message was carried: the layer was off, or no rank came to MPI_Finalize with it"
    import polars

    rows = polars.read_csv(record)
    if not len(rows):
        return f"no message was large enough and lay in shared memory: {record}"
    waited = rows.filter(rows["protocol"] == "ESCAPE")["messages"].sum()
    ahead = rows.filter(rows["protocol"] == "AHEAD")["messages"].sum()
    volume = (polars.col("bytes") * polars.col("messages")).sum().alias("volume")
    sums = (
        # ESCAPE is said by senders, and receivers take these messages later.
        rows.filter(~rows["protocol"].is_in(["ESCAPE", "AHEAD"]))
        .group_by("protocol").agg(polars.col("messages").sum(), volume)
        .sort("volume", "messages", descending=True)
    )  # fmt: skip
    messages, total = sums["messages"].sum(), max(1, sums["volume"].sum())
    shares = ", ".join(
        f"{name} {count} ({100 * part / total:.3g} % of bytes)" for name, count, part in sums.rows()
    )
    pooled = f"; {waited} waited in the pool" if waited else ""
    between = f"; {ahead} between nodes, ahead of their receives" if ahead else ""
    within = f"{messages} messages within nodes" + (f": {shares}" if shares else "")
    return f"{within}{pooled}{between}: {record}"
