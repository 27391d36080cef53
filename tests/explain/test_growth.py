"""Laws of growth: known ones are found, they are those of Extra-P, and their intervals hold what is true."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import haloscope
from haloscope.explain import Ensemble, ensembles
from haloscope.explain.ensembles._laws import TERMS, draws_of, fit
from support.profiles import draft, path_rows, process_rows
from support.readers import read_by
from support.sample import halo_profile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RANKS = np.array([2.0, 4.0, 8.0, 16.0, 32.0, 64.0])


@given(st.sampled_from(range(len(TERMS))), st.floats(1e-3, 1e3), st.floats(0.0, 1e3))
@settings(max_examples=150, deadline=None)
def test_a_law_without_noise_is_found(number: int, factor: float, constant: float) -> None:
    term = TERMS[number].of(RANKS)
    # Less of it than rounding leaves of the constant is nothing to find.
    factor *= max(constant / np.ptp(term), 1.0)
    found = fit(RANKS, constant + factor * term)
    beyond = np.array([6400.0])
    expected = constant + factor * TERMS[number].of(beyond)[0]
    assert found.at(beyond)[0, 0] == pytest.approx(expected, rel=1e-6)
    assert found.chosen[0] == number


def test_what_does_not_change_is_constant() -> None:
    found = fit(RANKS, np.array([np.full(6, 7.0), np.zeros(6)]))
    assert found.chosen.tolist() == [-1, -1]
    assert found.at(np.array([1e6]))[:, 0].tolist() == [7.0, 0.0]
    assert found.text(0, "s") == "7 s"


def test_a_law_in_words() -> None:
    found = fit(RANKS, 3 + 0.5 * RANKS * np.log2(RANKS))
    assert found.text(0, "s") == "(3 + 0.5 · p · log2(p)) s"
    assert fit(RANKS, 1 + 8 / RANKS).text(0) == "1 + 8 · p^(-1)"
    assert fit(RANKS, 1 + 2 * RANKS**1.5).text(0) == "1 + 2 · p^(3/2)"


def cases(noise: float, number: int) -> list[tuple[list[float], list[float], float]]:
    """Rising laws, with so much noise."""
    random = np.random.default_rng(7)
    made = []
    for _ in range(number):
        points = RANKS[: random.integers(5, 7)] * random.choice([1, 2, 16])
        term = TERMS[random.integers(0, 42)].of(points)
        values = random.uniform(0.1, 10) + random.uniform(0.5, 20) * term / term.max()
        values *= 1 + noise * random.standard_normal(len(points))
        made.append((points.tolist(), values.tolist(), float(100 * points[-1])))
    return made


def test_laws_are_those_of_extra_p(tmp_path: Path) -> None:
    """It has a factor below 0, too, where a noisy end asks for it."""
    asked = [case for noise in (0.0, 0.02, 0.2) for case in cases(noise, 40)]
    (tmp_path / "cases.json").write_text(json.dumps(asked))
    theirs = read_by("read_extrap", tmp_path / "cases.json", environment="extrap")
    differ = 0
    for (points, values, beyond), other in zip(asked, theirs, strict=True):
        ours = fit(points, np.array(values))
        if ours.at(np.array([beyond]))[0, 0] == pytest.approx(other["beyond"], rel=1e-4):
            assert ours.error[0] == pytest.approx(other["error"], rel=0.02, abs=1e-2)
        else:
            differ += 1
            assert other["factor"] < 0 or ours.error[0] == pytest.approx(other["error"], rel=0.02, abs=1e-2)
    assert differ <= len(asked) // 20


def test_intervals_hold_what_is_true() -> None:
    """Three runs each on six numbers of ranks, 5 % of noise: of 95 % intervals nearly all hold the truth."""
    random = np.random.default_rng(3)
    truth = 1 + 0.25 * RANKS**0.5
    beyond = np.array([640.0])
    held = 0
    for _ in range(100):
        runs = truth[:, None] * (1 + 0.05 * random.standard_normal((6, 3)))
        drawn = draws_of(runs.tolist(), 300, random)
        assert drawn is not None
        low, high = np.percentile(fit(RANKS, drawn).at(beyond)[:, 0], [2.5, 97.5])
        held += bool(low <= 1 + 0.25 * 640**0.5 <= high)
    assert held >= 85


def test_without_repetitions_there_are_no_intervals() -> None:
    assert draws_of([[1.0], [2.0]], 10, np.random.default_rng(0)) is None


def grown(folder: Path, times: dict[str, Callable[[int], float]], turns: int = 2, most: int = 5) -> Ensemble:
    """Runs on 2, 4, … ranks whose regions take so long, 1 % more or less in each run."""
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


def test_who_dominates_beyond_what_was_measured(tmp_path: Path) -> None:
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


def test_bars_of_who_dominates_are_all_of_the_time(tmp_path: Path) -> None:
    """Of more regions than have a colour, the rest is one bar."""
    runs = [
        halo_profile(grid, regions=9, seed=number).write(tmp_path / f"{number}.halo")
        for number, grid in enumerate([(2, 1, 1), (2, 2, 1), (2, 2, 2), (4, 2, 2), (4, 4, 2)])
    ]
    bars = ensembles.dominance(haloscope.open_all(runs)).figure().data
    assert bars[-1].name.endswith(" others")
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


def test_single_runs_say_nothing_of_how_sure_laws_are(tmp_path: Path) -> None:
    ensemble = grown(tmp_path, TIMES, turns=1)
    frame = ensembles.dominance(ensemble).frame
    assert frame["probability"].null_count() == frame["share_low"].null_count() == len(frame) == 12
    assert ensembles.laws(ensemble).frame["agreement"].null_count() == 4
