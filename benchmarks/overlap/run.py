"""Overlap and the matrix-free finite elements: all figures, in 20 minutes.

Each topic is a module with `measure()`, which prints its rows with `common.emit`, and `CASES`, the names of
all its rows. Missing rows are printed with null values, and the reason is printed on standard error.
Arguments are topics to run. `--picture F.png` also draws the roofline. There are two ranks, each on its own
core, and both sides alternate.
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
    """Print all rows of one topic. An error does not affect other topics."""
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
    parser.add_argument("--picture", type=Path, metavar="F.png", help="draw the roofline to this file")
    options = parser.parse_args()
    picture.picture = options.picture
    for name in options.topics or TOPICS:
        run(name)
