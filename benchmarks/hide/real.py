"""Two ranks with the real clock: comparison with virtual time, and runs of apps/poisson."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import cells
import checks
import numpy as np
import scenario
from numpy.typing import NDArray

from haloscope import HaloscopeError
from haloscope.base.launcher import report_toolchain
from haloscope.hide import build_fem

Floats = NDArray[np.float64]

HALOSCOPE = Path(sys.executable).with_name("haloscope")
METHODS = ("fixed", "dynamic", "test")
SLOWER = 10  # factor of all times, so that sleeping and a busy machine have little effect
MEDIAN, SPREAD = SLOWER * 0.8e-3, 0.4  # of both exchanges' latencies: lognormal
ITEM = SLOWER * scenario.WORK / scenario.INDEPENDENT
LAYERS, LAYER = 24, 780
COMMON = {"theta": scenario.THETA, "epsilon": SLOWER * scenario.EPSILON}
MATVECS = 200


def save(path: Path, **arrays: object) -> None:
    """Write an .npz file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with aside.open("wb") as stream:
            np.savez(stream, **arrays)  # type: ignore[arg-type]
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def measured(method: str, run: int, matvecs: int) -> dict[str, Floats]:
    """Run matvecs.c under the injector."""
    words = cells.METHODS[method] | {"layers": LAYERS, "layer": LAYER, "item": ITEM} | COMMON
    model = f"lognormal:{MEDIAN * 1e3}ms,{SPREAD}"
    with tempfile.TemporaryDirectory() as name:
        record = str(Path(name) / "injected.csv")
        before = [
            str(HALOSCOPE),
            "inject",
            "--quiet",
            "--no-collectives",
            "--latency",
            model,
            "--seed",
            str(run),
            "-o",
            record,
            "--",
        ]
        return checks.measured(words, matvecs, before)


def virtual(method: str, run: int, matvecs: int) -> dict[str, Floats]:
    """Run the same in virtual time, with different draws of the same latencies."""
    latency = scenario.Latencies(
        "lognormal",
        np.array([MEDIAN * np.exp(SPREAD**2 / 2)]),
        np.array([MEDIAN * np.exp(SPREAD**2 / 2) * np.sqrt(np.expm1(SPREAD**2))]),
        (0,),
        np.ones((1, 1, 1)),
        np.ones((1, 1)),
    )
    words = (
        cells.METHODS[method]
        | {
            "px": 2,
            "py": 1,
            "pz": 1,
            "ex": LAYERS,
            "ey": LAYER,
            "ez": 1,
            "matvecs": matvecs,
            "element": ITEM,
            "input": MEDIAN,
            "input_spread": SPREAD,
            "seed": run + 1,
        }
        | COMMON
    )
    with tempfile.TemporaryDirectory() as name:
        latencies, output = Path(name) / "latencies.txt", Path(name) / "out"
        latencies.write_text(latency.lines(), "ascii")
        given = [f"{key}={value:.12g}" for key, value in words.items()]
        program = str(cells.build("ranks"))
        subprocess.run([program, str(latencies), str(output), *given], check=True, env=cells.ENVIRONMENT)
        return {name: array.astype(float) for name, array in cells.read(output).items()}


def compare(results: Path, runs: int, matvecs: int) -> None:
    """Write real and virtual times and α, a file per run."""
    for run in range(runs):
        for method in METHODS:
            path = results / "two-ranks" / f"{method}-{matvecs}-{run}.npz"
            if path.is_file():
                continue
            sides = {"real": measured(method, run, matvecs), "virtual": virtual(method, run, matvecs)}
            save(
                path,
                **{
                    f"{side}_{name}": values[name]
                    for side, values in sides.items()
                    for name in checks.COLUMNS
                },
            )


def poisson(results: Path, run: int, matvecs: int, level: int, solver: str) -> None:
    """Run apps/poisson with each method; latencies are Table 1's, scaled to the measured work."""
    program = str(build_fem().poisson)
    folder = results / "poisson"
    work = None
    for method in METHODS:
        path = folder / f"{solver}-level{level}-{matvecs}-{method}-{run}.npz"
        if path.is_file():
            continue
        if work is None:
            table = _csv(program, solver, "fixed", level, 60, None, run)
            work = float(np.median(table["t_in"] + table["t_out"]))
        save(path, work=work, **_csv(program, solver, method, level, matvecs, work, run))


def _csv(  # noqa: PLR0917
    program: str, solver: str, method: str, level: int, matvecs: int, work: float | None, run: int
) -> dict[str, Floats]:
    """Return two ranks' times of the finest level; Table 1 is scaled to `work` seconds."""
    import polars as pl

    with tempfile.TemporaryDirectory() as name:
        model, output = Path(name) / "table1.json", Path(name) / "times.csv"
        scenario.table1().save(model)
        launch = [
            str(report_toolchain().launcher),
            "-n",
            "2",
            program,
            "--level",
            str(level),
            "--solver",
            solver,
            "--policy",
            method,
            "--iterations",
            str(matvecs),
            "--tolerance",
            "0",
            "--csv",
            str(output),
        ]
        if work is not None:
            epsilon, scale = scenario.EPSILON / scenario.WORK * work, work / scenario.WORK
            launch += ["--epsilon", f"{epsilon:.3g}", "--theta", str(scenario.THETA)]
            launch = [
                str(HALOSCOPE),
                "inject",
                "--quiet",
                "--no-collectives",
                "--latency",
                f"{scale:.6g}*model:{model}",
                "--seed",
                str(run),
                "-o",
                str(Path(name) / "injected.csv"),
                "--",
                *launch,
            ]
        subprocess.run(launch, env=cells.ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
        table = pl.read_csv(output).sort("rank", "application")
    renamed = {"t_in": "input_block", "t_out": "output_block"}
    return {
        key: table[renamed.get(key, key)].to_numpy().reshape(2, -1)[:, :matvecs] for key in checks.COLUMNS
    }


def measure(results: Path, runs: int, matvecs: int, level: int, solvers: tuple[str, ...]) -> None:
    """Measure on two ranks; poisson only if p4est and PETSc are installed."""
    compare(results, runs, min(matvecs, MATVECS))
    try:
        build_fem()
    except HaloscopeError as error:
        print(f"left out: {error}", file=sys.stderr)
        return
    for run in range(runs):
        for solver in solvers:
            poisson(results, run, matvecs, level, solver)
