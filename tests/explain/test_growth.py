"""Scaling models: known ones are found, they equal those of Extra-P, and intervals cover the truth."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import haloscope
from haloscope.explain import Ensemble, ensembles
from support.page_kinds import write_runs
from support.pages import page_data
from support.profiles import draft, path_rows, process_rows
from support.readers import read_by
from support.sample import halo_profile

RANKS = np.array([2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
# pᵃ · log₂(p)ᵇ, as text and as numbers: all terms of Extra-P, and the same terms with negative exponents.
PLAIN = "1/4 1/3 1/2 2/3 3/4 4/5 1 5/4 4/3 3/2 5/3 7/4 2 9/4 7/3 5/2 8/3 11/4 3".split()
ONCE = "0 1/4 1/3 1/2 2/3 3/4 1 5/4 4/3 3/2 2 5/2 3".split()
TWICE = "0 1/4 1/3 1/2 2/3 3/4 1 3/2 2 5/2".split()
RISING = [(Fraction(power), log) for log, powers in enumerate((PLAIN, ONCE, TWICE)) for power in powers]
FALLING = [(-Fraction(power), 0) for power in PLAIN]


def of(term: tuple[Fraction, int], points: NDArray[np.float64]) -> NDArray[np.float64]:
    power, log = term
    value: NDArray[np.float64] = points ** float(power) * np.log2(points) ** log
    return value


def measured(folder: Path, points: NDArray[np.float64], times: NDArray[np.float64]) -> Ensemble:
    """Write runs whose regions took `times`, (runs, regions, points). Their metadata have the point."""
    names = [f"region-{number:03}" for number in range(times.shape[1])]
    for turn, run in enumerate(times):
        for point, own in zip(points.tolist(), run.T.tolist(), strict=True):
            rows = [
                {"path": path, "rank": 0, "instances": 1, "time": time}
                for path, time in enumerate([sum(own), *own])
            ]
            info = {"ranks": 1, "metadata": {"n": f"{point:g}"}}
            made = draft(info, paths=path_rows(*names), processes=process_rows("host"), ranks=rows)
            made.write(folder / f"{point:g}-{turn}.halo")
    return haloscope.open_all(f"{folder}/*.halo")


def laws_of(folder: Path, points: NDArray[np.float64], times: NDArray[np.float64]) -> pl.DataFrame:
    """Return the scaling model of each region, in their order."""
    ensemble = measured(folder, points, times)
    regions = [f"region-{number:03}" for number in range(times.shape[1])]
    return ensembles.laws(ensemble, "time", regions, against="n").frame.sort("path")


@pytest.mark.parametrize("seed", range(3))
def test_a_law_without_noise_is_found(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    terms = [*RISING, *FALLING]
    values, beyond = [], []
    for term in terms:
        constant, shape = random.uniform(0.0, 10.0 * seed), of(term, RANKS)
        factor = 10.0 ** random.uniform(-1, 2) * max(constant, 1.0) / np.ptp(shape)
        values.append(constant + factor * shape)
        beyond.append([constant + factor * of(term, points)[0] for points in 10 * RANKS[-1:] * [[1], [10]]])
    found = laws_of(tmp_path, RANKS, np.array(values)[None])
    assert found["term"].to_list() == [text_of(term) for term in terms]
    np.testing.assert_allclose(found.select("at_10", "at_100").to_numpy(), beyond, rtol=1e-5)


def text_of(term: tuple[Fraction, int]) -> str:
    power, log = term
    exponent = f"{power}" if power.denominator == 1 and power > 0 else f"({power})"
    known = {Fraction(0): "", Fraction(1): "p"}
    parts = [known.get(power, f"p^{exponent}"), ["", "log2(p)", "log2(p)^2"][log]]
    return " · ".join(filter(None, parts))


def test_laws_in_words(tmp_path: Path) -> None:
    rising = 3 + 0.5 * RANKS * np.log2(RANKS)
    times = [np.full(6, 7.0), np.zeros(6), rising, 1 + 8 / RANKS, 1 + 2 * RANKS**1.5]
    found = laws_of(tmp_path, RANKS, np.array(times)[None])
    assert found["law"].to_list() == [
        "7 s",
        "0 s",
        "(3 + 0.5 · p · log2(p)) s",
        "(1 + 8 · p^(-1)) s",
        "(1 + 2 · p^(3/2)) s",
    ]
    assert found["at_100"].to_list()[:2] == [7.0, 0.0]


def cases(noise: float, number: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return points, and values of rising models there, (models, points), with relative `noise`."""
    random = np.random.default_rng(7)
    points = RANKS[:5] if noise else RANKS
    values = []
    for _ in range(number):
        term = of(RISING[random.integers(0, 42)], points)
        value = random.uniform(0.1, 10) + random.uniform(0.5, 20) * term / term.max()
        values.append(value * (1 + noise * random.standard_normal(len(points))))
    return points, np.array(values)


@pytest.mark.long
def test_laws_are_those_of_extra_p(tmp_path: Path) -> None:
    """Extra-P also has negative factors, for noisy values at the last points."""
    asked: list[tuple[list[float], list[float], float]] = []
    ours = []
    for noise in (0.0, 0.02, 0.2):
        folder = tmp_path / f"{noise}"
        folder.mkdir()
        points, values = cases(noise, 40)
        ours += laws_of(folder, points, values[None]).to_dicts()
        asked += [(points.tolist(), row.tolist(), float(100 * points[-1])) for row in values]
    (tmp_path / "cases.json").write_text(json.dumps(asked))
    theirs = read_by("read_extrap", tmp_path / "cases.json")
    differ = 0
    for own, other in zip(ours, theirs, strict=True):
        if own["at_100"] == pytest.approx(other["beyond"], rel=1e-4):
            assert own["error"] == pytest.approx(other["error"], rel=0.02, abs=1e-2)
        else:
            differ += 1
            assert other["factor"] < 0 or own["error"] == pytest.approx(other["error"], rel=0.02, abs=1e-2)
    assert differ <= len(asked) // 20


def test_intervals_cover_the_truth(tmp_path: Path) -> None:
    """Three runs on each of six numbers of ranks, 5 % of noise: nearly all 95 % intervals cover the truth."""
    random = np.random.default_rng(3)
    truth = 1 + 0.25 * RANKS**0.5
    found = laws_of(tmp_path, RANKS, truth * (1 + 0.05 * random.standard_normal((3, 60, 6))))
    beyond = 1 + 0.25 * (10 * RANKS[-1]) ** 0.5
    held = found.filter(pl.col("low_10") <= beyond, pl.col("high_10") >= beyond)
    assert 51 <= len(held) <= 60
    assert (found["agreement"] <= 1).all()
    # Intervals are not so wide that they are useless.
    assert (found["high_10"] - found["low_10"]).median() < beyond


def grown(folder: Path, times: dict[str, Callable[[int], float]], turns: int = 2, most: int = 5) -> Ensemble:
    """Write runs on 2, 4, … ranks whose regions take `times`, with 1 % of noise."""
    paths = path_rows(*times)
    random = np.random.default_rng(0)
    for power in range(1, most + 1):
        ranks = 2**power
        for turn in range(turns):
            own = [time(ranks) * (1 + 0.01 * random.standard_normal()) for time in times.values()]
            seconds = [sum(own), *own]
            rows = [
                {"path": path, "rank": rank, "instances": 1, "time": second}
                for path, second in enumerate(seconds)
                for rank in range(ranks)
            ]
            hosts = process_rows(*["host"] * ranks)
            made = draft({"ranks": ranks}, paths=paths, processes=hosts, ranks=rows)
            made.write(folder / f"{ranks:03}-{turn}.halo")
    return haloscope.open_all(f"{folder}/*.halo")


TIMES: dict[str, Callable[[int], float]] = {
    "compute": lambda p: 64.0 / p,
    "halo": lambda _: 1.0,
    "reduce": lambda p: 0.02 * p,
}


def test_dominating_regions_are_extrapolated(tmp_path: Path) -> None:
    frame = ensembles.dominance(grown(tmp_path, TIMES)).frame
    assert frame["run_ranks"].unique(maintain_order=True).to_list() == [32, 320, 3200]
    sums = frame.group_by("times", maintain_order=True).agg(pl.col("share", "probability").sum())
    assert sums["share"].to_list() == pytest.approx([1.0] * 3)
    assert sums["probability"].to_list() == pytest.approx([1.0] * 3)
    for times, first, share in (
        (1, "compute", 2 / 3.64),
        (10, "reduce", 6.4 / 7.6),
        (100, "reduce", 64 / 65.02),
    ):
        row = frame.filter(times=times).row(0, named=True)
        assert row["path"] == first
        assert row["share"] == pytest.approx(share, abs=0.1)
        assert row["share_low"] <= row["share"] <= row["share_high"]
        assert row["probability"] > 0.9


def test_bars_of_dominating_regions_cover_all_time(tmp_path: Path) -> None:
    """If there are more regions than colours, the rest is one bar."""
    runs = [
        halo_profile(grid, regions=9, seed=number).write(tmp_path / f"{number}.halo")
        for number, grid in enumerate([(2, 1, 1), (2, 2, 1), (2, 2, 2), (4, 2, 2), (4, 4, 2)])
    ]
    bars = ensembles.dominance(haloscope.open_all(runs)).figure().data
    assert bars[-1].name.endswith(" other regions")
    assert np.sum([bar.y for bar in bars], axis=0) == pytest.approx([100.0] * 3)


def test_laws_of_regions(tmp_path: Path) -> None:
    view = ensembles.laws(grown(tmp_path, TIMES), "time", ["compute", "halo", "reduce"])
    for path, at in (("compute", 64 / 320), ("halo", 1.0), ("reduce", 6.4)):
        row = view.frame.row(by_predicate=pl.col("path") == path, named=True)
        assert (row["points"], row["runs"]) == (5, 10)
        assert row["low_10"] <= row["at_10"] <= row["high_10"]
        assert row["at_10"] == pytest.approx(at, rel=0.5, abs=0.3)
    assert len(view.figure().data) == 9


def test_fewer_than_five_points_have_no_law(tmp_path: Path) -> None:
    ensemble = grown(tmp_path, TIMES, most=4)
    assert ensembles.dominance(ensemble).frame.is_empty()
    frame = ensembles.laws(ensemble).frame
    assert frame["law"].null_count() == len(frame) == 4
    assert frame["points"].to_list() == [4] * 4


def test_regions_that_take_no_time_have_no_shares(tmp_path: Path) -> None:
    ensemble = grown(tmp_path, {"nothing": lambda _: 0.0})
    assert ensembles.dominance(ensemble).frame.is_empty()
    assert ensembles.laws(ensemble).frame["at_100"].to_list() == [0.0, 0.0]


def test_single_runs_give_no_intervals(tmp_path: Path) -> None:
    ensemble = grown(tmp_path, TIMES, turns=1)
    frame = ensembles.dominance(ensemble).frame
    assert frame["probability"].null_count() == frame["share_low"].null_count() == len(frame) == 12
    assert ensembles.laws(ensemble).frame["agreement"].null_count() == 4


def page_about(ensemble: Ensemble, folder: Path) -> dict[str, Any]:
    """Return the sections of the page of these runs, by name."""
    haloscope.report(ensemble.paths, folder / "page.html")
    return {section["name"]: section for section in page_data(folder / "page.html")["sections"]}


def erratic(ranks: int) -> float:
    """Return times that no model of the number of ranks fits."""
    return 1.0 if ranks in (4, 16) else 20.0


@pytest.mark.parametrize("is_reliable", [True, False])
def test_only_models_with_a_small_error_are_extrapolated_on_a_page(tmp_path: Path, is_reliable: bool) -> None:
    times = TIMES if is_reliable else {**TIMES, "halo": erratic}
    laws = page_about(grown(tmp_path, times), tmp_path)["laws"]
    lines = " ".join(laws["text"])
    assert ("on 320 ranks (10 times the largest run): predicted share of reduce" in lines) == is_reliable
    assert ("no reliable scaling model (cross-validation error of halo" in lines) == (not is_reliable)
    assert ("run on more numbers of ranks" in lines) == (not is_reliable)
    assert [figure["title"] for figure in laws["figures"]] == [
        *["Predicted shares of the time"] * is_reliable,
        "Scaling models",
    ]
    largest = {max(trace["x"]) for trace in laws["figures"][-1]["traces"] if trace["name"] == "halo"}
    assert (largest == {32}) == (not is_reliable)
    (table,) = laws["tables"]
    (halo,) = (row for row in table["rows"] if row[0][1] == "halo")
    assert ([text for _, text in halo[-4:]] == ["–"] * 4) == (not is_reliable)


@pytest.mark.parametrize("most", [4, 5])
def test_fewer_than_five_points_have_a_sentence_and_no_table(tmp_path: Path, most: int) -> None:
    sections = page_about(grown(tmp_path, TIMES, most=most), tmp_path)
    assert list(sections)[:2] == ["scaling", "laws"]
    told = "no prediction for more ranks: a scaling model needs five numbers of ranks"
    assert (told in " ".join(sections["laws"]["text"])) == (most == 4)
    assert bool(sections["laws"]["tables"]) == bool(sections["laws"]["figures"]) == (most == 5)


def test_an_interval_over_most_of_the_time_is_no_prediction(tmp_path: Path) -> None:
    """The same work on any number of ranks, with noise: models of resampled runs have different terms."""
    lines = " ".join(page_about(haloscope.open_all(write_runs(tmp_path)), tmp_path)["laws"]["text"])
    assert "no reliable prediction: repeated runs allow a share of" in lines
    assert "predicted share" not in lines
