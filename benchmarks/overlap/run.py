"""Overlap and the matrix-free finite elements: every figure, a module a topic, 20 minutes in all.

A module has `measure()`, which prints its rows with `common.emit`, and `CASES`, the names of them
all: those that did not come are printed with null values, and why on standard error. As arguments,
names of modules: only these. `--picture F.png` draws the roofline, too. Two ranks, each on a core
of its own; sides alternate.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from importlib import import_module
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

import common  # noqa: E402

import picture  # noqa: E402
from haloscope.base.errors import HaloscopeError  # noqa: E402

BENCHMARK = "overlap"
TOPICS = ("matvec", "solve", "crossover", "late", "hidden", "policies")
KEYS = ("ours", "peer", "peer_name", "unit", "ratio", "ci_low", "ci_high", "target", "met")


def run(topic: str) -> None:
    """All rows of one topic; what fails does not keep the others."""
    reason = "was not measured"
    module = import_module(topic)
    try:
        module.measure()
    except HaloscopeError as error:  # something is not installed
        reason = str(error)
    except Exception as error:
        traceback.print_exc()
        reason = f"{type(error).__name__}: {error}"
    left = [case for case in module.CASES if (BENCHMARK, case) not in common.EMITTED]
    if left:
        print(f"bench-overlap: {topic}: {len(left)} rows are missing: {reason}", file=sys.stderr)
    for case in left:
        row = {"benchmark": BENCHMARK, "case": case} | dict.fromkeys(KEYS)
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=", ".join(TOPICS))
    parser.add_argument("--picture", type=Path, metavar="F.png", help="draw the roofline there")
    options = parser.parse_args()
    picture.picture = options.picture
    for name in options.topics or TOPICS:
        run(name)
