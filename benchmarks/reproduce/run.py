"""Cost of campaigns: the time of `campaign plan` and `campaign status`, and the time added to a run.

    run.py [--rounds 5] [--runs 50]

Prints one JSON object per line.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import Estimate, emit, estimate

COMMAND = str(Path(sys.executable).with_name("haloscope"))
POINTS = 10_000
AIM, ADDED = 2.0, 0.1  # seconds
SPECIFICATION = """
campaign: {name}
systems: {{here: {{cores: 64, launch: ""}}}}
programs: {{none: {{command: "/bin/true {{ranks}} {{n}}"}}}}
variants: {{plain: {{watch: false}}}}
experiments: {{all: {{program: none, ranks: [1, 2, 4, 8], vary: {{n: [1, 2, 3, 4, 5]}}}}}}
repetitions: {repetitions}
"""


def seconds(words: list[str], directory: Path) -> float:
    """Return the seconds of a command."""
    begun = time.perf_counter()
    subprocess.run(words, cwd=directory, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def written(directory: Path, name: str, repetitions: int) -> Path:
    """Write a campaign of twenty points with this number of repetitions."""
    file = directory / f"{name}.yaml"
    file.write_text(SPECIFICATION.format(name=name, repetitions=repetitions), "utf-8")
    return file


def report(case: str, ours: Estimate, peer: float) -> None:
    """Print a row. Larger ratios are better."""
    ratio = Estimate(peer / ours.median, peer / ours.high, peer / ours.low)
    emit("campaign", case, ours=ours.median, peer=peer, peer_name="aim", unit="s", ratio=ratio, target=1.0)


def measure(rounds: int, runs: int) -> None:
    """Measure alternately: plan, status, runs by `campaign`, and the command alone."""
    plans, stands, added = [], [], []
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        large = written(directory, "large", POINTS // 20)
        for number in range(rounds):
            plans.append(seconds([COMMAND, "campaign", "plan", str(large)], directory))
            stands.append(seconds([COMMAND, "campaign", "status", str(large)], directory))
            one = written(directory, f"some{number}", runs // 20 or 1)
            begun = seconds([COMMAND, "campaign", "run", str(one)], directory)
            again = seconds(
                [COMMAND, "campaign", "run", str(one)], directory
            )  # the cost of a start without runs
            bare = sum(seconds(["/bin/true", "1", "1"], directory) for _ in range(20 * (runs // 20 or 1)))
            added.append((begun - again - bare) / (20 * (runs // 20 or 1)))
    report(f"plan, {POINTS} points", estimate(plans), AIM)
    report(f"status, {POINTS} points", estimate(stands), AIM)
    report("added to a run on this machine", estimate(added), ADDED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=60, help="runs of each round")
    options = parser.parse_args()
    measure(options.rounds, options.runs)


if __name__ == "__main__":
    main()
