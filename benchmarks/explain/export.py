"""Exports of a trace of 10^7 events: seconds, memory and bytes an event.

The trace is made by the tests' generator: a halo exchange of 8 ranks with a reduction, as many iterations as
it takes. Events are counted as OTF2 counts them: enters, leaves, and each end of a message or collective; for
Perfetto, which has fewer, begins and ends of slices, so its trace is longer. Each export is a process of its
own, which makes the trace, exports a short one first (what is compiled is there then), and tells what the
export took: seconds, and by how much the largest memory that the process had rose. Files go to a directory of
memory if there is one.
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
# Of one iteration of one rank: 6 calls and 2 regions; 10 ends of messages and collectives.
EVENTS_A_TURN = {"otf2": 26, "perfetto": 16, "goal": 26}
RANKS = 8
MEASURE = """\
import json, resource, sys, time
from importlib import import_module
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from haloscope.explain.export import EXPORTS, Traced
from support.traces import halo_trace

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

to, turns, place = sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
write = EXPORTS[to].load()
write(Traced(halo_trace(8)), place / "short")
traced = Traced(halo_trace(8, turns))
before, begin = peak(), time.perf_counter()
write(traced, place / "long")
seconds, after = time.perf_counter() - begin, peak()
size = sum(path.stat().st_size for path in [place / "long", *(place / "long").rglob("*")] if path.is_file())
print(json.dumps([seconds, after - before, size]))
"""


def measured(to: str, turns: int) -> list[float]:
    """Seconds, MiB and bytes of one export."""
    tests = Path(__file__).resolve().parents[2] / "tests"
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as place:
        words = [sys.executable, "-c", MEASURE, str(tests), to, str(turns), place]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    found: list[float] = json.loads(done.stdout)
    return found


def report(to: str, events: int, rounds: int) -> None:
    turns = -(-events // (EVENTS_A_TURN[to] * RANKS))
    rows = [measured(to, turns) for _ in range(rounds)]
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
