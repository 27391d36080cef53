"""Errors of fitted models.

Data are measured here at 2 ranks, where all trees are equal, and at 8 to 256 ranks on the simulated ORFEO,
whose sweep is part of the study. The first error is at the points of the fit. The second is at every second
size, which is not used in the fit. `extrapolation.py` measures the cost of choices at unmeasured points.

The aim is an error of at most 15 %; the ratio is 0.15 / error.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from common import MPI_ENVIRONMENT, Estimate, emit, estimate

from haloscope import predict
from haloscope.predict.bench import Sweep, frame

CASES = [
    f"models/{where}/{what}"
    for where in ("2 ranks here", "simulated ORFEO, 8 to 256 ranks")
    for what in ("error", "error, unseen sizes")
]
STUDIES = Path(__file__).resolve().parents[2] / "studies"
SIMULATED = STUDIES / "openmpi-collective-algorithms" / "simulated"
SIZES = "2,16,128,1024,4096,8192,16384,65536,262144,1048576"
ERROR = 0.15
_LEAST = 0.001


def measure() -> None:
    """Print all rows."""
    with tempfile.TemporaryDirectory() as directory:
        judge("2 ranks here", _measured_here(Path(directory)), _here())
    points = frame(pl.read_csv(SIMULATED / "orfeo.csv").to_dicts())
    machine = predict.load_machine(SIMULATED / "orfeo.yaml")
    judge("simulated ORFEO, 8 to 256 ranks", points, machine)


def _here() -> predict.Machine:
    """Return two cores of this machine, in round numbers: fits are factors of these."""
    level = {"name": "node", "cores": 2, "latency": "0.4 us", "bandwidth": "8 GB/s"}
    return predict.Machine.model_validate({"name": "here", "levels": [level], "arithmetic": "5 GB/s"})


def _measured_here(directory: Path) -> pl.DataFrame:
    sweep = directory / "here.jsonl"
    command = [
        str(Path(sys.executable).with_name("haloscope")),
        "bench",
        "collective",
        "all",
        "-n",
        "2",
        "-m",
        SIZES,
        "-i",
        "200",
        "-x",
        "20",
        "-o",
        str(sweep),
        "--format",
        "csv",
    ]
    subprocess.run(command, env=MPI_ENVIRONMENT, stdout=subprocess.DEVNULL, check=True, timeout=400)
    return Sweep.read(sweep).points


def judge(where: str, points: pl.DataFrame, machine: predict.Machine) -> None:
    """Print the two errors of one sweep."""
    fitted = _fitted(machine, points)
    errors = predict.errors(fitted, points)["error"].to_numpy()
    _share(f"models/{where}/error", errors, ERROR)
    sizes = points["bytes"].unique().sort().to_list()
    held_out = pl.col("bytes").is_in(sizes[1:-1:2])
    seen, unseen = points.filter(~held_out), points.filter(held_out)
    blind = _fitted(machine, seen)
    _share(f"models/{where}/error, unseen sizes", predict.errors(blind, unseen)["error"].to_numpy(), ERROR)


def _fitted(machine: predict.Machine, points: pl.DataFrame) -> predict.Machine:
    return machine.model_copy(update={"fitted": predict.fit_points(points, machine)})


def _share(case: str, values: np.ndarray, target: float) -> None:
    """Print a median in percent; `ratio` is the target over it, so 1 or more meets the target."""
    share = estimate(values)
    ratio = Estimate(*(target / max(value, _LEAST) for value in (share.median, share.high, share.low)))
    emit(
        "predict",
        case,
        ours=100 * share.median,
        peer=100 * target,
        peer_name="target",
        unit="%",
        ratio=ratio,
        target=1.0,
    )
