"""The study of HPCG: the paper's values in its figures, speeds by class, and verdicts from the data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
import pytest

from haloscope.explain.ensembles import Speeds
from haloscope.markov.figures import Figure
from haloscope.reproduce.study import studies

NAME = "hpcg-communication-patterns"


@pytest.fixture
def imported(script: Callable[..., Any]) -> Callable[[str], Any]:
    return lambda name: script(NAME, name)


def printed(part: str, place: str) -> dict[str, float]:
    """Return the numbers of a place in the paper."""
    groups = [one for one in studies()[NAME].published.numbers if one.part == part and place in one.where]
    return {name: float(text) for group in groups for name, text in group.values.items()}


def test_a_class_has_the_mean_speed_of_its_sizes(imported: Callable[[str], Any]) -> None:
    speeds = imported("speeds")
    assert dict(zip(speeds.CLASSES, speeds.PUBLISHED, strict=True)) == printed("speeds", "Table 2")
    for (name, sizes), published in zip(speeds.CLASSES.items(), speeds.PUBLISHED, strict=True):
        # 0.01 MB/s are 80 kbit/s; the paper cuts its numbers off after two digits.
        lacks = -published * len(sizes) % 80
        assert lacks < 0.01 * len(sizes), name
    constant = Speeds("1 µs per message", lambda _: 1e-6)
    means = [8e3 * fmean(sizes) for sizes in speeds.CLASSES.values()]
    assert speeds.kilobits(constant) == pytest.approx(means)
    why = speeds.explain_difference(constant, speeds.SIZES[:7], 2 * means[0], 1e8)
    assert "0.50 µs" in why
    assert "1.00 µs" in why
    why = speeds.explain_difference(
        Speeds("link", lambda size: size / 1.25e10), speeds.SIZES[14:22], 7e7, 1e8
    )
    assert "published: 70 % of the link; simulated: 100 %" in why


def test_figures_have_the_papers_values(imported: Callable[[str], Any]) -> None:
    values = imported("printed_values")
    bars = [
        {"type": "bar", "name": name, "x": ["2", "28", "56", "392"], "y": [1.0, 2, 3, 4]}
        for name in ("compute", "point-to-point", "collective", "other MPI")
    ]
    lines = [{"name": "below 100 B", "x": [2], "y": [1.0], "xaxis": "x2", "line": {"color": "#123456"}}]
    plain, panels = Figure("", bars, {"xaxis": {}}), Figure("Sums.", lines, {})
    speeds = pl.DataFrame({"ranks": [28, 2], "gbit_s": [1.0, 2.0]})
    drawn = values.added(dict.fromkeys((1, 2, 3, 5), plain) | {4: panels}, speeds)
    assert drawn[3] is plain
    for number in (1, 5):
        shares = printed("patterns", f"Figure {number}")
        where = {f"{processes}, paper" for processes in ((2, 28, 392) if number == 1 else ("all",))}
        known = {value for trace in drawn[number].traces for value in by_category(trace, where)}
        # Of 72 % the bar has the rest, 28 % of computing; 4.44 is in kB.
        assert set(shares.values()) - known <= {72.0, 4.44}
        assert known
        assert "Paper: " in drawn[number].caption
        order = drawn[number].layout["xaxis"]["categoryarray"]
        assert set(order) == {"2", "28", "56", "392"} | where
    assert order[0] == "all, paper"
    order = drawn[1].layout["xaxis"]["categoryarray"]
    assert order.index("28, paper") + 1 == order.index("28")
    by_name = {trace["name"]: trace for trace in drawn[4].traces}
    assert by_name["all sizes, paper"]["y"] == [125e6 * 0.26]
    assert by_name["all sizes"]["y"] == [250e6, 125e6]
    assert by_name["below 100 B, Table 2"]["line"]["color"] == "#123456"
    table = {trace["y"][0] for name, trace in by_name.items() if "Table 2" in name}
    assert table == {125 * speed for speed in printed("speeds", "Table 2").values()}


def by_category(trace: Any, names: set[str]) -> list[float]:
    return [y for x, y in zip(trace["x"], trace["y"], strict=True) if x in names]


def tables(collective: float) -> dict[str, pl.DataFrame]:
    """Return tables in which collectives take this share, and messages 20 %."""
    ranks = [2, 28, 392]
    shares = [
        {
            "ranks": count,
            "operations": kind,
            "published": 40.0,
            "alike": 1.0,
            "delayed": value,
            "delayed_low": value,
            "delayed_high": value,
        }
        for count in ranks
        for kind, value in (("p2p", 20.0), ("collective", collective), ("both", 20 + collective))
    ]
    partners = {
        "ranks": ranks,
        "partners_least": [1, 7, 7],
        "partners_most": [1, 11, 26],
        "messages": [1, 2, 3],
        "mean_message": [9.0, 9, 9],
        "over_10000": [0.6, 0.6, 0.1],
        "bytes": ["8", "8", "8"],
        "collective_bytes": ["8", "8", "8"],
    }
    return {
        "shares": pl.DataFrame(shares),
        "partners": pl.DataFrame(partners),
        "speeds": pl.DataFrame({"ranks": ranks, "gbit_s": [0.7, 0.2, 0.1], "fastest_gbit_s": [9.0, 9, 9]}),
        "classes": pl.DataFrame({"run_ranks": [392, 392], "speed": [1.0, 2.0]}),
        "by_size": pl.DataFrame({"nx": [16, 104], "p2p": [0.2, 0.2], "collective": [0.01 * collective] * 2}),
    }


def test_verdicts_follow_the_data(imported: Callable[[str], Any]) -> None:
    verdicts = imported("verdicts")
    published = studies()[NAME].published
    tested = verdicts.test_claims(tables(25.0), 104)
    holds = {one.name: one.holds for one in tested}
    assert set(holds) == published.claim_names("patterns")
    assert holds["equal at all sizes"]
    assert holds["far below the network"]
    few = {one.name: one for one in verdicts.test_claims(tables(5.0), 104)}
    assert not few["equal at all sizes"].holds
    assert "0.25 with 104³ points" in few["equal at all sizes"].evidence
    verdicts.write_numbers(tables(25.0), tested)
    numbers = {
        one["name"]: one for one in json.loads(Path("patterns.reproduced.json").read_text())["numbers"]
    }
    assert set(numbers) == published.number_names("patterns")
    # Every number that differs has the reason.
    assert all(one["why"] for name, one in numbers.items() if "processes" in name)
    assert "1 % without delays" in numbers["28 processes: collectives"]["why"]
    assert "share one" not in numbers["392 processes: collectives"]["why"]
