"""Imports of an OTF2 archive of 10^7 events: seconds and memory, compared with OTF2's own Python reader.

The archive is an export of the tests' halo exchange on 8 ranks. Each import is a separate process: it opens
the archive, which reads all events, and makes the tables `regions` and `partners`, and the trace. OTF2's
reader only iterates over the events of an archive of a hundredth of the length.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import emit, estimate

EVENTS = 10_000_000
EVENTS_A_TURN, RANKS = 26, 8  # as in export.py
TESTS = str(Path(__file__).resolve().parents[2] / "tests")
WRITE = """\
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from haloscope.explain.export import EXPORTS, TracedProfile
from support.traces import halo_trace
EXPORTS["otf2"].load()(TracedProfile(halo_trace(8, int(sys.argv[2]))), Path(sys.argv[3]))
"""
READ = """\
import json, resource, sys, time
from haloscope import explain
begin = time.perf_counter()
profile = explain.open(sys.argv[1])
opened = time.perf_counter()
profile.table("regions"), profile.table("partners")
tables = time.perf_counter()
profile.trace()
traced = time.perf_counter()
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([opened - begin, tables - opened, traced - tables, memory]))
"""
PEER = """\
import sys, time
import otf2
begin = time.perf_counter()
with otf2.reader.open(sys.argv[1]) as trace:
    count = sum(1 for _ in trace.events)
print((time.perf_counter() - begin) / count)
"""


def ran(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def report(events: int, rounds: int) -> None:
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        turns = -(-events // (EVENTS_A_TURN * RANKS))
        count = turns * EVENTS_A_TURN * RANKS
        for name, length in (("long", turns), ("short", -(-turns // 100))):
            ran(sys.executable, "-c", WRITE, TESTS, str(length), f"{folder}/{name}")
        ran(sys.executable, "-c", READ, f"{folder}/short")  # compiles all that is needed
        rows = [json.loads(ran(sys.executable, "-c", READ, f"{folder}/long")) for _ in range(rounds)]
        peers = [
            float(ran("/usr/bin/python3", "-c", PEER, f"{folder}/short/traces.otf2")) for _ in range(rounds)
        ]
    opened, tables, traced, taken = (sorted(column)[rounds // 2] for column in zip(*rows, strict=True))
    peer = sorted(peers)[rounds // 2]
    cases = (
        (f"open {count} events", opened, "s"),
        ("two tables of them", tables, "s"),
        ("their trace", traced, "s"),
        ("memory", taken, "MiB"),
    )
    for case, value, unit in cases:
        alone = estimate([1.0])
        emit("import", case, ours=value, peer=0.0, peer_name="none", unit=unit, ratio=alone, target=None)
    ratios = [other * count / row[0] for other, row in zip(peers, rows, strict=True)]
    emit(
        "import",
        "an event, opened",
        ours=1e9 * opened / count,
        peer=1e9 * peer,
        peer_name="OTF2's Python reader",
        unit="ns",
        ratio=estimate(ratios),
        target=None,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    report(given.events, given.rounds)


if __name__ == "__main__":
    main()
