"""The memory of an export, without the trace itself, does not grow if the trace is eight times longer."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support.mpi import CHECKOUT
from support.otf2_tools import need_otf2_library
from support.processes import run_program

pytestmark = pytest.mark.slow  # each export is a process
EVENTS = 1_000_000
# Events of OTF2 per iteration and rank of `halo_trace`.
EVENTS_A_TURN, RANKS = 26, 2
LONGER = 8
# Bytes that the longer trace may take more: about five per event. Buffers of fixed size may be full only
# in the longer one.
MORE = 5 << 20
# Another process writes the trace: memory that remains after writing would hide the memory of an export.
MAKE = """
import sys
from pathlib import Path
from support.traces import halo_trace

place, ranks = Path(sys.argv[1]), int(sys.argv[2])
for turns in sys.argv[3:]:
    trace = halo_trace(ranks, int(turns))
    for name, table in vars(trace).items():
        table.write_ipc(place / f"{turns}.{name}")
"""
MEASURE = """
import json, sys
from dataclasses import fields
from pathlib import Path
import polars as pl
from haloscope.explain.export import EXPORTS, TracedProfile
from haloscope.profile.trace import Trace

def memory(which):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(which))

def taken(turns):
    names = [field.name for field in fields(Trace)]
    trace = Trace(**{name: pl.read_ipc(place / f"{turns}.{name}") for name in names})
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak to the current use
    before = memory("VmRSS:")
    write(TracedProfile(trace), place / f"{turns}.{sys.argv[1]}")
    return memory("VmHWM:") - before

write, place = EXPORTS[sys.argv[1]].load(), Path(sys.argv[2])
taken(sys.argv[3])  # the first export creates what later ones reuse
print(json.dumps([taken(turns) for turns in sys.argv[3:]]))
"""


def told(script: str, *words: object) -> Any:
    done = run_program([sys.executable, "-c", script, *map(str, words)], cwd=CHECKOUT / "tests")
    return json.loads(done.stdout or "null")


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, int]:
    """Return the paths of a short and a long trace, and their numbers of iterations."""
    place, long = tmp_path_factory.mktemp("traces"), EVENTS // (EVENTS_A_TURN * RANKS)
    told(MAKE, place, RANKS, long // LONGER, long)
    return place, long // LONGER, long


@pytest.mark.parametrize("to", ["otf2", "perfetto"])
def test_memory_does_not_grow_with_the_trace(to: str, turns: tuple[Path, int, int]) -> None:
    if to == "otf2":
        need_otf2_library()
    place, short, long = turns
    few, many = told(MEASURE, to, place, short, long)
    print(few, many)
    assert many < few + MORE, f"{few / 2**20:.1f} MiB, and {many / 2**20:.1f} of the longer one"
