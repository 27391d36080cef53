"""Overlap and the matrix-free finite elements: all figures, in 20 minutes.

Each topic is a module (`common.run_topic`). Arguments are topics to run. `--picture F.png` also draws the
roofline. There are two ranks, each on its own core, and both sides alternate.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

from common import run_topic  # noqa: E402

import picture  # noqa: E402

TOPICS = ("matvec", "solve", "crossover", "late", "hidden", "policies")

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=", ".join(TOPICS))
    parser.add_argument("--picture", type=Path, metavar="F.png", help="draw the roofline to this file")
    options = parser.parse_args()
    picture.picture = options.picture
    for name in options.topics or TOPICS:
        run_topic("overlap", name)
