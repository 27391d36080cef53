"""Fitted models: known parameters come back from noisy times; files keep them; choices pay."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from haloscope import UsageError, predict
from haloscope.predict.bench import frame
from support.command import Command
from support.pages import page_text

Fitted = Any  # an element of `Machine.fitted`
SIZES = [4**k for k in range(1, 11)]
RANKS = [2, 4, 8, 16, 32]


def machine(fitted: Sequence[object] = ()) -> predict.Machine:
    levels = [
        {"name": "socket", "cores": 8, "latency": "0.3 us", "bandwidth": "9 GB/s"},
        {"name": "network", "cores": 32, "latency": "1.8 us", "bandwidth": "11 GB/s"},
    ]
    described = {"name": "two levels", "levels": levels, "arithmetic": "4 GB/s", "fitted": fitted}
    return predict.Machine.model_validate(described)


def true_model(collective: str, algorithm: str, seed: int) -> Fitted:
    random = np.random.default_rng(seed)

    def known(low: float, high: float) -> tuple[float, float, float]:
        value = float(random.uniform(low, high))
        return value, value, value

    call, gamma = known(1e-7, 5e-7), known(2e-10, 4e-10)
    ranges = [
        {"from": 0, "overhead": known(1e-7, 4e-7), "alpha": known(0.7, 1.5), "beta": known(0.8, 1.6)},
        {"from": 8192, "overhead": known(1e-6, 2e-6), "alpha": known(1, 2), "beta": known(0.8, 1.6)},
    ]
    described = {"collective": collective, "algorithm": algorithm, "call": call, "gamma": gamma}
    return machine([{**described, "ranges": ranges}]).fitted[0]


def times_of(models: list[Fitted], noise: float, outliers: float = 0.0) -> pl.DataFrame:
    """A sweep's points on the machine of these models, with log-normal noise and some outliers."""
    truth = machine().model_copy(update={"fitted": tuple(models)})
    random = np.random.default_rng(0)
    rows = []
    for model in models:
        for ranks in RANKS:
            for size in SIZES:
                time = predict.predict(truth, model.collective, model.algorithm, ranks, size)
                time *= float(np.exp(random.normal(0, noise)))
                time *= 5 if random.random() < outliers else 1
                rows.append(
                    {
                        "collective": model.collective,
                        "algorithm": model.algorithm,
                        "number": 7,
                        "segment": 0,
                        "fanout": 0,
                        "ranks": ranks,
                        "bytes": size,
                        "status": "ok",
                        "time": time,
                        "ci_low": time * 0.98,
                        "ci_high": time * 1.02,
                    }
                )
    return frame(rows)


@pytest.mark.parametrize(
    ("collective", "algorithm"),
    [("bcast", "pipeline"), ("reduce", "binomial"), ("allgather", "bruck"), ("alltoall", "pairwise")],
)
def test_known_parameters_come_back(collective: str, algorithm: str) -> None:
    true = true_model(collective, algorithm, 1)
    (found,) = predict.fit_points(times_of([true], 0.02, 0.03), machine())
    assert found.error < 0.04
    assert (found.points, found.ranks, found.number) == (50, (2, 32), 7)
    # Bandwidth of large messages is what large ones are made of; single small parameters trade off.
    assert found.ranges[-1].beta[0] == pytest.approx(true.ranges[-1].beta[0], rel=0.12)
    modelled = machine().model_copy(update={"fitted": (found,)})
    exact = machine().model_copy(update={"fitted": (true,)})
    apart = [
        predict.predict(modelled, collective, algorithm, ranks, size)
        / predict.predict(exact, collective, algorithm, ranks, size)
        - 1
        for ranks in (3, 8, 24)
        for size in (16, 5000, 300_000)
    ]
    assert float(np.median(np.abs(apart))) < 0.06


def test_intervals_hold_more_the_more_noise() -> None:
    true = true_model("bcast", "binomial", 2)
    widths = []
    for noise in (0.01, 0.2):
        (found,) = predict.fit_points(times_of([true], noise), machine())
        value, low, high = found.ranges[0].beta
        assert low <= value <= high
        widths.append(found.call[2] - found.call[1])
    assert widths[1] > 2 * widths[0]


@pytest.mark.slow
def test_the_choice_costs_little() -> None:
    names = ("basic_linear", "chain", "pipeline", "binomial", "scatter_allgather_ring")
    models = [true_model("bcast", name, seed) for seed, name in enumerate(names)]
    points = times_of(models, 0.02)
    fitted = machine().model_copy(update={"fitted": predict.fit_points(points, machine())})
    losses = predict.losses(fitted, points)
    assert len(losses) == len(SIZES) * len(RANKS)
    assert (losses["options"] == len(names)).all()
    assert float(losses["loss"].mean()) < 0.02  # type: ignore[arg-type]
    chosen = predict.choose(fitted, "bcast", 32, 4)
    best = points.filter((pl.col("ranks") == 32) & (pl.col("bytes") == 4)).sort("time")
    assert chosen.time == pytest.approx(best["time"][0], rel=0.2)
    assert (chosen.number, chosen.segment, chosen.fanout) == (7, 0, 0)


def test_what_nobody_knows_gets_the_generic_form() -> None:
    points = times_of([true_model("bcast", "binomial", 3)], 0.01)
    points = points.with_columns(
        algorithm=pl.lit("of_tomorrow"),
        time=1e-6 + 2e-7 * pl.col("ranks") + 1e-10 * pl.col("bytes") * pl.col("ranks"),
    )
    (found,) = predict.fit_points(points, machine())
    assert (found.ranges, len(found.generic)) == ((), 6)
    fitted = machine().model_copy(update={"fitted": (found,)})
    time = predict.predict(fitted, "bcast", "of_tomorrow", 24, 3000)
    assert time == pytest.approx(1e-6 + 24 * 2e-7 + 3000 * 24e-10, rel=0.01)


def test_a_sweep_without_times_is_refused() -> None:
    points = times_of([true_model("bcast", "binomial", 3)], 0.01)
    with pytest.raises(UsageError, match="no measured point"):
        predict.fit_points(points.with_columns(status=pl.lit("failed")), machine())
    with pytest.raises(UsageError, match=r"bcast 'binomial'.*bench fit"):
        predict.predict(machine(), "bcast", "binomial", 2, 8)
    with pytest.raises(UsageError, match="nothing was fitted"):
        predict.choose(machine(), "bcast", 2, 8)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A machine's YAML, with a remark, and a sweep."""
    source = tmp_path / "machine.yaml"
    source.write_text(
        "# kept\nname: two levels\nlevels:\n"
        "  - {name: a, cores: 8, latency: 0.3 us, bandwidth: 9 GB/s}\n"
        "  - {name: b, cores: 32, latency: 1.8 us, bandwidth: 11 GB/s}\n"
    )
    lines = [json.dumps({"record": "environment", "library": "Open MPI 4.1.4"})]
    points = times_of([true_model("bcast", n, 4) for n in ("chain", "binomial")], 0.02)
    for row in points.to_dicts():
        nanoseconds = [[max(1, round(1e9 * row["time"]))] * 8] * 2
        lines.append(json.dumps({**row, "record": "point", "samples_ns": nanoseconds}))
    (tmp_path / "sweep.jsonl").write_text("\n".join(lines) + "\n")
    return source, tmp_path / "sweep.jsonl"


def test_from_sweep_to_page(files: tuple[Path, Path], tmp_path: Path, command: Command) -> None:
    source, sweep = files
    words = ["bench", "fit", str(source), str(sweep), "--format", "json"]
    out = tmp_path / "fitted.yaml"
    summary = json.loads(command(*words, "-o", out).stdout)
    assert [row["algorithm"] for row in summary] == ["chain", "binomial"]
    assert all(row["error_median"] < 0.1 for row in summary)
    loaded = predict.load_machine(out)
    assert "# kept" in out.read_text()
    assert [model.library for model in loaded.fitted] == ["Open MPI 4.1.4"] * 2
    predict.save_fitted(out, loaded.fitted, tmp_path / "again.yaml")
    assert (tmp_path / "again.yaml").read_text() == out.read_text()
    asked = ["bench", "model", str(out), "bcast", "--formula", "fitted"]
    rows = json.loads(command(*asked, "-n", "24", "-m", "100:100", "--format", "json").stdout)
    assert {row["algorithm"] for row in rows} == {"chain", "binomial"}
    page = tmp_path / "page.html"
    against = ["bench", "model", str(out), str(sweep)]
    command(*against, "-o", page)
    assert "median error" in page_text(page)
    assert "modelled" in command(*against).stdout
