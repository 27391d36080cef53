"""`haloscope inject`: run a command whose messages take longer."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from haloscope.base.preloading import Choice, Outcome, find_target, run_preloaded
from haloscope.hide._inject_record import join, prepared, said, totals
from haloscope.hide._libraries import build_injector
from haloscope.hide._plan import Plan

__all__ = ["inject"]

_NO_RANK = "nothing was injected: no rank came to MPI_Finalize with the injector in it"


def inject(
    command: Sequence[str], plan: Plan, record: Path | None, choice: Choice, quiet: bool = False
) -> Outcome:
    """Run a command with the injector in its ranks; raises only if nothing was started."""
    settings = {"HALOSCOPE_INJECT": plan.text()}
    target = find_target(command, choice, "there is nothing to inject into")
    if record is not None:
        record = prepared(record)
        settings["HALOSCOPE_INJECT_RECORD"] = str(record)
    injector = build_injector(target.mpi.headers, quiet)
    with tempfile.NamedTemporaryFile(prefix="haloscope-inject-") as summary:
        settings["HALOSCOPE_INJECT_SUMMARY"] = summary.name
        status = run_preloaded(target, injector, settings)
        told = totals(Path(summary.name))
    if record is None:
        return Outcome(status, remarks=[told or _NO_RANK])
    missing = join(record)
    return Outcome(status, remarks=[*missing, _recorded(record)])


def _recorded(record: Path) -> str:
    """One line about what the record holds."""
    if not record.is_file():
        return _NO_RANK
    import polars

    latencies = polars.read_csv(record, schema_overrides={"latency": polars.Float64})["latency"]
    if not len(latencies):
        return f"{said(0, '', 0)} ({record})"
    middle, most = latencies.median(), latencies.max()
    assert isinstance(middle, float)
    assert isinstance(most, float)
    return f"{said(len(latencies), f'median {1e3 * middle:.3g} ms', most)}: {record}"
