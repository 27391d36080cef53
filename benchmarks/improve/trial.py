"""Improve one program, and measure the kept remedies again: `trial.py ROUNDS COMMAND…` prints JSON.

`gain` and `fresh` have the geometric mean of time before / after and its 95 % interval. `gain` is the
statement of `improve`, `fresh` is from new, alternating runs.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from haloscope.hide.improve import Improvement, Runner, improve
from haloscope.predict.tune import gain_interval


def main() -> None:
    """Print the result as JSON."""
    rounds, command = int(sys.argv[1]), sys.argv[2:]
    found = improve(command)
    result: dict[str, Any] = {
        "runs": len(found.runs),
        "kept": [one.name for one in found.kept],
        "description": found.describe(),
    }
    if found.proof is not None:
        result["gain"] = [found.proof.gain, found.proof.low, found.proof.high]
        result |= _fresh(found, rounds)
    print(json.dumps(result, allow_nan=False))


def _fresh(found: Improvement, rounds: int) -> dict[str, Any]:
    """Return `fresh`, or in `failed` the message of the first run that failed."""
    with tempfile.TemporaryDirectory(prefix="haloscope-fresh-") as directory:
        runner = Runner(found.command, Path(directory))
        times = [(runner().seconds, runner(*found.kept).seconds) for _ in range(rounds)]
    if problems := [run.problem for run in runner.runs if run.seconds is None]:
        return {"failed": problems[0]}
    before, after = np.array(times, dtype=np.float64).T
    return {"fresh": gain_interval(np.log(before / after))}


if __name__ == "__main__":
    main()
