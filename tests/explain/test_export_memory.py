"""What exports of a long trace take in memory, beside the trace: so many bytes an event at most."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support.mpi import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

EVENTS = 1_000_000
# As OTF2 counts them; of an iteration of a rank of `halo_trace`.
EVENTS_A_TURN, RANKS = 26, 8
MOST_BYTES = 40
MEASURE = """
import json, sys
from pathlib import Path
from haloscope.explain.export import EXPORTS, Traced
from support.traces import halo_trace

def memory(which):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(which))

write, place, turns = EXPORTS[sys.argv[1]].load(), Path(sys.argv[2]), int(sys.argv[3])
write(Traced(halo_trace(8, 100)), place / "short")
traced = Traced(halo_trace(8, turns))
Path("/proc/self/clear_refs").write_text("5")  # the highest is what is in use now
before = memory("VmRSS:")
write(traced, place / "long")
print(json.dumps(memory("VmHWM:") - before))
"""


@pytest.mark.parametrize("to", ["otf2", "perfetto"])
def test_an_event_takes_few_bytes(to: str, tmp_path: Path) -> None:
    turns = EVENTS // (EVENTS_A_TURN * RANKS)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, to, str(tmp_path), str(turns)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=CHECKOUT / "tests",
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) < MOST_BYTES * EVENTS
