"""`haloscope inject`: run a command whose messages take longer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from haloscope.hide._injector import build_injector
from haloscope.hide._parts import put_together, writable
from haloscope.hide._plan import Plan
from haloscope.hide._preloading import find_target, run_preloaded
from haloscope.watch._run import Choice, Outcome

__all__ = ["inject"]

_HEADER = "rank,time,what,partner,tag,link,regime,machine_state,once,latency"  # as journal.cpp's


def inject(
    command: Sequence[str],
    plan: Plan,
    record: Path,
    choice: Choice,
    quiet: bool = False,
) -> Outcome:
    """Run a command with the injector in its ranks; raises only if nothing was started."""
    text = plan.text()
    target = find_target(command, choice, "there is nothing to inject into")
    record = writable(record)
    injector = build_injector(target.mpi.headers, quiet)
    settings = {"HALOSCOPE_INJECT": text, "HALOSCOPE_INJECT_RECORD": str(record)}
    status = run_preloaded(target, injector, settings)
    put_together(record, _HEADER)
    return Outcome(status, remarks=[_summary(record)])


def _summary(record: Path) -> str:
    """One line about what was injected."""
    if not record.is_file():
        return "nothing was injected: no rank came to MPI_Finalize with the injector in it"
    import polars

    latencies = polars.read_csv(record, schema_overrides={"latency": polars.Float64})["latency"]
    if not len(latencies):
        return f"nothing was injected: no message between ranks was received ({record})"
    middle = latencies.median()
    most = latencies.max()
    assert isinstance(middle, float)
    assert isinstance(most, float)
    return (
        f"injected {len(latencies)} latencies, median {1e3 * middle:.3g} ms, "
        f"longest {1e3 * most:.3g} ms: {record}"
    )
