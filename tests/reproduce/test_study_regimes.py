"""The parts of the study of regimes, in small versions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from haloscope import ComponentError
from haloscope.hide import build_fem
from haloscope.reproduce.study import studies
from haloscope.reproduce.study.reproduced import find_name_error, read_reproduced
from support.missing import missing

STUDY = studies()["hmm-regimes-communication-hiding"]
PARTS = {part.name: part for part in STUDY.parts}
WORK = 1e-3  # seconds


@pytest.fixture
def module(script: Callable[..., Any]) -> Callable[[str], Any]:
    """`module("paper")` imports a module of the study for a test, which runs in `tmp_path`."""
    return lambda name: script(STUDY.name, name)


def check_results(part: str) -> None:
    """Check that a part has all its files, and a verdict on each of its numbers and claims."""
    assert find_name_error(STUDY.published, PARTS[part], Path()) == ""
    assert all(Path(name).is_file() for name in PARTS[part].results)
    for name in PARTS[part].figures:
        drawn = json.loads(Path(name).read_text())
        assert drawn
        assert all(figure["traces"] and figure["layout"]["height"] for figure in drawn)


def test_many_ranks_in_virtual_time(module: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    paper = module("paper")
    for name, value in {"RANKS": 8, "MATVECS": 120}.items():
        monkeypatch.setattr(paper, name, value)
    monkeypatch.setattr(paper.cells, "SWEPT_RANKS", (8,))
    monkeypatch.setattr(paper.cells, "SWEPT_EDGES", (8, 20))
    first: dict[str, bytes] = {}
    for _ in range(2):  # from the same runs they are the same, byte for byte
        paper.main()
        made = {name: Path(name).read_bytes() for name in PARTS["many-ranks"].results}
        assert not first or made == first
        first = made
    check_results("many-ranks")
    table = pl.read_csv("regimes-of-many-ranks.csv")
    assert table["method"].unique(maintain_order=True).to_list() == ["fixed", "dynamic", "test"]
    shares = table.group_by("method").agg(pl.col("our_share").sum())["our_share"]
    assert shares.to_list() == pytest.approx([1] * 3, abs=1e-3)  # as printed
    assert table["decoded_right"].is_between(0, 1).all()
    numbers = {one.name: one.value for one in read_reproduced(Path(), "many-ranks").numbers}
    assert numbers["elements"] == 134217728
    assert numbers["unknowns"] == 135005697
    claims = {one.name: one for one in read_reproduced(Path(), "many-ranks").claims}
    assert claims["output is late"].holds is True
    assert claims["first MatVecs wait longer"].holds is True
    assert "(8000)" in claims["much computation hides all"].evidence


def run_of(hidden: float, seed: int) -> dict[str, Any]:
    """A run of two ranks: of rank 0's MatVecs a third is late by what is not `hidden`, a third by 2 WORK."""
    random = np.random.default_rng(seed)
    level = np.repeat(random.permutation(np.repeat([0.0, 0.75 - hidden, 2.0], 20)), 10)
    late = np.maximum(level, 0) * WORK * random.lognormal(0, 0.02, 600)
    t_in = hidden_half(hidden) * random.lognormal(0, 0.01, (2, 600))
    t_out = (WORK - hidden_half(hidden)) * random.lognormal(0, 0.01, (2, 600)) + np.stack([late, 0 * late])
    found: dict[str, Any] = {"t_in": t_in, "t_out": t_out, "input_wait": 0 * t_in, "output_wait": 0 * t_out}
    times = t_in + t_out
    found |= {
        "alpha": t_in / times,
        "slowest": times.max(axis=0),
        "total": np.array([times.max(axis=0).sum()]),
    }
    found["samples"] = np.stack([t_in.T, t_out.T], axis=-1)
    return found | {
        f"rank_{name}": np.zeros(2) for name in ("input_wait", "output_wait", "mean_alpha", "alpha")
    }


def hidden_half(hidden: float) -> float:
    return WORK * (0.5 if hidden < 0.5 else 0.1)


@pytest.mark.slow
def test_the_measured_part_judges_its_runs(
    module: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = module("measured")
    monkeypatch.setattr(measured.poisson_runs, "cores", lambda: 2)
    hidden = {"fixed": 0.25, "dynamic": 0.75, "test": 0.75}

    def made(name: str, seeds: range, event: bool = False) -> Any:
        runs = [run_of(hidden[name], seed) for seed in seeds]
        for run in runs if event else []:
            run["slowest"][100:200] += 20 * WORK
        return measured.study.method(name, runs, emission="gaussian")

    found = {solver: [made(name, range(3)) for name in hidden] for solver in ("cg", "gmg")}
    event = [made(name, range(1), event=name == "fixed") for name in hidden] + [made("fixed", range(1))]
    measured.write(found, event)
    check_results("measured")
    titles = {}
    for number in (6, 11, 12):
        figure, *_ = json.loads(Path(f"figure-{number}.json").read_text())
        titles[number] = [text["text"] for text in figure["layout"]["annotations"]]
    assert [title.partition(",")[0] for title in titles[6]] == ["<b>fixed", "<b>dynamic", "<b>test"]
    assert titles[11] == ["published: dynamic and test −10 %"]
    assert titles[12][:3] == ["<b>fixed</b>", "<b>dynamic</b>", "<b>test</b>"]
    results = read_reproduced(Path(), "measured")
    numbers = {one.name: one.value for one in results.numbers}
    assert numbers["fixed 1: mean"] == pytest.approx(WORK, rel=0.02)
    assert numbers["dynamic: fast regime"] == pytest.approx(100 * 5 / 6, abs=3)  # rank 1 is never late
    # Each number has a reason from this run and, relative to another number, the paper's.
    whys = {one.name: one.why for one in results.numbers}
    assert all(whys.values())
    assert re.match(
        r"1\.[0-9]{2} times fixed 1, paper 1\.06; fixed takes 1\.[0-9]{2} ms", whys["fixed 2: mean"]
    )
    assert "% of its mean, paper 214 %" in whys["fixed 3: std"]
    assert whys["dynamic: gain in the fast regime"].startswith(
        "the fast regime has 83 % of the MatVecs of fixed"
    )
    machines = {row["property"]: row for row in pl.read_csv("machines.csv").to_dicts()}
    assert machines["MPI library"]["Anvil"] == "OpenMPI 4.0.6"
    assert machines["nodes, ranks per node (section 3.2)"]["here"] == "1, 2"
    assert int(machines["CPU cores per node"]["here"]) >= 1
    claims = {one.name: one.holds for one in results.claims}
    assert claims["new methods perform alike"] is True
    for name in ("slowest regime varies most", "more in the fast regime", "regimes remove the event"):
        assert claims[name] is True, results.claims
    # The second of three levels is hidden with dynamic.
    assert claims["three modes of medians"] is False
    evidence = next(one.evidence for one in results.claims if one.name == "three modes of medians")
    assert re.search(r"fixed 3 .*dynamic 2 ", evidence)
    alike = next(one.evidence for one in results.claims if one.name == "runs of one method are alike")
    assert re.search(r"; medians of runs without waits, ms: CG fixed 1\.[0-9]{2} to 1\.", alike)
    assert claims["methods differ"] is False  # dynamic and test are the same here
    assert claims["one mode of GMG-CG"] is False
    monkeypatch.setattr(measured.poisson_runs, "cores", lambda: 1)
    measured.write(found, event)
    assert {one.holds for one in read_reproduced(Path(), "measured").claims} == {None}


def test_contributions_of_the_measured_runs_are_late(
    module: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        build_fem(quiet=True)
    except ComponentError as error:
        missing(str(error))
    runs = module("poisson_runs")
    monkeypatch.setattr(runs, "LEVEL", 3)
    monkeypatch.setattr(runs, "work", lambda _: WORK)
    monkeypatch.setitem(runs.ITERATIONS, "gmg", 12)
    monkeypatch.setattr(runs, "DELAYS", (4.0, 4.0, 4.0))
    run = runs.Run("gmg", "dynamic", 1)
    found = runs.arrays(runs.record(run, Path()))
    assert found["t_in"].shape == found["t_out"].shape
    assert found["t_in"].shape[0] == 2
    assert found["t_in"].shape[1] >= 5 * 12  # and what multigrid's set-up needs
    assert np.median(found["output_wait"][0]) > 3 * WORK  # rank 0 waits for contributions
    assert np.median(found["output_wait"][1]) < WORK  # and rank 1 for none
    assert run.delays(WORK) == run.delays(WORK)


def test_the_event_is_the_only_extreme_delay_of_its_runs(module: Callable[[str], Any]) -> None:
    runs = module("poisson_runs")

    def lengths(**more: bool) -> set[str]:
        return {delay.split(":")[2] for delay in runs.Run("cg", "fixed", 1, **more).delays(WORK)}

    assert lengths() == {"650.000us", "1900.000us"}
    assert lengths(calm=True) == {"650.000us"}
    assert lengths(calm=True, event=True) == {"650.000us", "10000.000us"}
