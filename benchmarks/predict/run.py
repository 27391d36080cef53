"""Predict: all figures of the package.

Each topic is a module with `measure()`, which prints its rows with `common.emit`, and `CASES`, the names of
all its rows. An error does not affect other topics: missing rows are printed with null values, and the reason
is printed on standard error. Arguments are topics to run.
"""

from __future__ import annotations

import json
import sys
import traceback
from importlib import import_module
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

import common  # noqa: E402

BENCHMARK = "predict"
TOPICS = ("p2p", "collective", "models", "extrapolation", "budget", "tune", "simulate", "program", "place")
KEYS = ("ours", "peer", "peer_name", "unit", "ratio", "ci_low", "ci_high", "target", "met")


def run(topic: str) -> None:
    """Print all rows of one topic."""
    before = set(common.EMITTED)
    try:
        module = import_module(topic)
    except Exception as error:  # does not affect other topics
        missing([topic], f"{topic}: {error}")
        return
    reason = "was not measured"
    try:
        module.measure()
    except Exception as error:
        traceback.print_exc()
        reason = f"{type(error).__name__}: {error}"
    left = [case for case in getattr(module, "CASES", ()) if (BENCHMARK, case) not in common.EMITTED]
    if left or set(common.EMITTED) == before:
        missing(left or [topic], f"{topic}: {reason}")


def missing(cases: list[str], reason: str) -> None:
    """Print rows without values."""
    print(f"bench-predict: {reason}", file=sys.stderr)
    for case in cases:
        row = {"benchmark": BENCHMARK, "case": case} | dict.fromkeys(KEYS)
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    for name in sys.argv[1:] or TOPICS:
        run(name)
