"""Exports of a trace of 10^7 events: seconds, memory and bytes per event.

The trace is made by the tests' generator: a halo exchange of 8 ranks with a reduction, with the number of
iterations that gives these events. A separate process writes its tables to files, so that memory of the
generation does not hide that of the export. Events are counted as in OTF2: enters, leaves, and both ends of
a message or collective. Perfetto has fewer events, begins and ends of slices, so its trace is longer.
Each export is a separate process. It first exports a short trace, so that compilation is not measured, and
prints the seconds of the export and the memory in addition to that of the trace. Files are written to memory
if there is such a directory.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from common import emit, estimate

EVENTS = 10_000_000
SECONDS = {"otf2": 20.0, "perfetto": 30.0, "goal": 30.0}
# Per iteration and rank: enters and leaves of 6 calls and 2 regions, and 10 ends of messages and collectives.
EVENTS_A_TURN = {"otf2": 26, "perfetto": 16, "goal": 26}
RANKS = 8
MAKE = """\
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from support.traces import halo_trace

for name, table in vars(halo_trace(8, int(sys.argv[2]))).items():
    table.write_ipc(Path(sys.argv[3], name))
"""
MEASURE = """\
import json, sys, time
from dataclasses import fields
from pathlib import Path
import polars as pl
sys.path.insert(0, sys.argv[1])
from haloscope.explain.export import EXPORTS, TracedProfile
from haloscope.profile.trace import Trace
from support.traces import halo_trace

def memory(which):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(which))

to, tables, place = sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])
write = EXPORTS[to].load()
write(TracedProfile(halo_trace(8)), place / "short")
traced = TracedProfile(Trace(**{field.name: pl.read_ipc(tables / field.name) for field in fields(Trace)}))
Path("/proc/self/clear_refs").write_text("5")  # resets the maximum to the current size
before, begin = memory("VmRSS:"), time.perf_counter()
write(traced, place / "long")
seconds, after = time.perf_counter() - begin, memory("VmHWM:")
size = sum(path.stat().st_size for path in [place / "long", *(place / "long").rglob("*")] if path.is_file())
print(json.dumps([seconds, after - before, size]))
"""
TESTS = str(Path(__file__).resolve().parents[2] / "tests")


def python(script: str, *words: str) -> str:
    command = [sys.executable, "-c", script, TESTS, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def measured(to: str, turns: int, rounds: int) -> list[list[float]]:
    """Return seconds, MiB and bytes of each of `rounds` exports."""
    memory = Path("/dev/shm")
    rows: list[list[float]] = []
    with tempfile.TemporaryDirectory() as tables:
        python(MAKE, str(turns), tables)
        for _ in range(rounds):
            with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as place:
                rows.append(json.loads(python(MEASURE, to, tables, place)))
    return rows


def report(to: str, events: int, rounds: int) -> None:
    turns = -(-events // (EVENTS_A_TURN[to] * RANKS))
    rows = measured(to, turns, rounds)
    count = turns * EVENTS_A_TURN[to] * RANKS
    seconds, memory, size = (sorted(column)[rounds // 2] for column in zip(*rows, strict=True))
    allowed = SECONDS[to] * count / EVENTS
    for case, ours, peer, unit in (
        (f"{to}: {count} events", seconds, allowed, "s"),
        (f"{to}: memory that it takes", memory, 0.0, "MiB"),
        (f"{to}: an event", size / count, 0.0, "B"),
    ):
        ratio = estimate([allowed / row[0] for row in rows]) if peer else estimate([1.0])
        emit(
            "export",
            case,
            ours=ours,
            peer=peer,
            peer_name="at most" if peer else "none",
            unit=unit,
            ratio=ratio,
            target=1.0 if peer else None,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    for to in SECONDS:
        report(to, given.events, given.rounds)


if __name__ == "__main__":
    main()
