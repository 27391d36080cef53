"""Predict: all figures. Each topic is a module (`common.run_topic`). Arguments are topics to run."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

from common import run_topic  # noqa: E402

TOPICS = ("p2p", "collective", "models", "extrapolation", "budget", "tune", "simulate", "program", "place")

if __name__ == "__main__":
    for name in sys.argv[1:] or TOPICS:
        run_topic("predict", name)
