"""The study of Open MPI's collectives: its claims, figures and simulated points."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from haloscope.reproduce.study import studies
from support.missing import missing

NAME = "openmpi-collective-algorithms"


def claim_names(part: str) -> set[str]:
    return studies()[NAME].published.claim_names(part)


@pytest.fixture
def imported(script: Callable[..., Any]) -> Callable[[str], Any]:
    return lambda name: script(NAME, name)


def made_up(orfeo: Any, points: Any) -> pl.DataFrame:
    """Times by the algorithm's place in the paper's list: the default is the fastest."""
    rows = [
        (collective, name, ranks, size, place * size, place * size)
        for collective, names in orfeo.NAMES.items()
        for place, name in enumerate(names, 1)
        for ranks in points.RANKS
        for size in points.sizes_on(ranks)
    ]
    return pl.DataFrame(rows, schema=[*orfeo.KEYS, "time", "last"], orient="row")


def test_claims_are_tested_point_by_point(imported: Callable[[str], Any]) -> None:
    claims, orfeo, points = imported("claims"), imported("orfeo"), imported("points")
    times = made_up(orfeo, points)
    formulas = times.filter(pl.col("algorithm") != "default").select(*orfeo.KEYS, "time")
    tested = {one.name: one for one in claims.of_figures_2_to_5(times, formulas)}
    assert set(tested) == {name for name in claim_names("figures-2-5") if not name.endswith("measured")}
    assert {one.source for one in tested.values()} == {"simulated"}
    holds = {name: one.holds for name, one in tested.items()}
    assert holds["bcast: default is lowest"]
    assert holds["bcast: latency grows with size"]
    # Chain, with place 5, is slower than pipeline, with place 3.
    assert not holds["bcast: linear and pipeline are slower"]
    assert tested["bcast: pipeline is slowest"].evidence == "0 of 75 points"
    assert holds["reduce: Rabenseifner is slowest when small"]
    assert tested["reduce: small messages are fast"].evidence == "8 of 8 points"
    assert not holds["reduce: Rabenseifner is better than linear"]
    slow = (pl.col("algorithm") == "default") & (pl.col("ranks") == 8) & (pl.col("bytes") > 16384)
    times = times.with_columns(time=pl.when(slow).then(1e9).otherwise("time"))
    tested = {one.name: one for one in claims.of_figures_2_to_5(times, formulas)}
    one = tested["bcast: default is lowest"]
    assert (one.holds, one.evidence) == (
        False,
        "14 of 15 points; not, for example, on 8 processes with 1 MiB; with the time of the last rank "
        "the claim holds: 15 of 15 points",
    )
    late = times.with_columns(last=pl.when(pl.col("algorithm") == "default").then(1e9).otherwise("last"))
    tested = {one.name: one for one in claims.of_figures_2_to_5(late, formulas)}
    one = tested["bcast: default is lowest"]
    assert one.evidence.endswith("the claim does not hold: 0 of 15 points")


def test_claims_about_two_bytes(imported: Callable[[str], Any]) -> None:
    small, small_claims = imported("small"), imported("small_claims")
    schema = {"collective": pl.String, "algorithm": pl.String, "ranks": pl.Int64, "bytes": pl.Int64}
    table = small.table(pl.DataFrame(schema={**schema, "time": pl.Float64}))
    # Where the simulated times are those of the formulas, both agree.
    same = table.with_columns(open_mpi=pl.col("formula"))
    tested = {one.name: one for one in small_claims.of_figures_6_and_7(same)}
    assert set(tested) == claim_names("figures-6-7")
    assert tested["2 bytes: pipeline agrees with its formula"].holds
    assert tested["2 bytes: formulas of reductions capture trends"].holds
    assert "48" not in tested["2 bytes: steps are where levels change"].evidence
    # By the paper's formulas each curve has its largest step where the network begins.
    assert tested["2 bytes: the network's step is the largest"].holds
    assert tested["2 bytes: binomial scales best"].holds


@pytest.mark.slow
def test_figures_have_all_curves_and_no_empty_panel(
    imported: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    figures, small, orfeo, points = (imported(name) for name in ("figures", "small", "orfeo", "points"))
    rows = made_up(orfeo, points).filter(pl.col("ranks") <= 8).drop("last")
    measured = rows.with_columns(time=pl.lit(2e-6), low=pl.lit(1e-6), high=pl.lit(4e-6))
    simgrid = pl.concat(
        [
            pl.DataFrame({"collective": collective, "algorithm": names, "ranks": 8, "bytes": 2, "time": 3e-6})
            for collective, known in small.SIMGRID.items()
            for names in [list(known.values())]
        ]
    )
    every = [*small.figures(simgrid, measured)]
    for number, collective in ((2, "bcast"), (3, "bcast"), (4, "reduce"), (5, "reduce")):
        every += figures.figures(number, collective, measured)
    every.append(figures.segments())
    for figure in every:
        axes = {trace["xaxis"] for trace in figure.traces}
        assert len(axes) == len(figure.layout["annotations"])
        names = {trace["name"] for trace in figure.traces}
        if "side by side" in figure.title or "segments" in figure.title:
            if figure.title.startswith(("Figure 3", "Figure 5")):
                shown = [title["text"].strip("</b>") for title in figure.layout["annotations"]]
                assert shown == [f"{ranks} processes" for ranks in (4, 8, 16, 32, 64, 128, 256)]
            continue
        assert names == set(figures.together.STYLES)
        here = [trace for trace in figure.traces if trace["name"] == "measured on this machine"]
        assert {value for trace in here for value in trace["y"]} == {2.0}
        assert {value for trace in here for value in trace["error_y"]["arrayminus"]} == {1.0}
        # The least that a message takes on ORFEO is 0.15 µs.
        least = [min(trace["y"]) for trace in figure.traces if trace["name"].endswith("ORFEO")]
        assert 0.14 < min(least) < 1
    six = every[0]
    assert {shape["x0"] for shape in six.layout["shapes"]} == {4.5, 8.5, 16.5, 64.5, 128.5}


def test_the_default_is_the_rules_choice(imported: Callable[[str], Any]) -> None:
    orfeo, points, rules = imported("orfeo"), imported("points"), imported("rules")
    times = orfeo.named().filter(pl.col("algorithm") == orfeo.DEFAULT)
    sizes = [points.sizes_on(ranks) for ranks in points.RANKS]
    assert len(times.filter(pl.col("ranks").is_in(points.RANKS))) == 2 * sum(map(len, sizes))
    choice = rules.choose("4.1", "bcast", 64, 1024)
    row = {"collective": "bcast", "ranks": 64, "bytes": 1024}
    own = orfeo.kept().filter(
        pl.col("algorithm") == choice.algorithm, pl.col("segment") == 0, pl.col("fanout") == 0
    )
    assert (
        times.row(by_predicate=_is(row), named=True)["time"]
        == own.row(by_predicate=_is(row), named=True)["time"]
    )


def _is(row: dict[str, object]) -> pl.Expr:
    return pl.all_horizontal(pl.col(name) == value for name, value in row.items())


def test_simulated_points_come_out_again(imported: Callable[[str], Any]) -> None:
    if shutil.which("smpirun") is None:
        missing("SimGrid is not installed: apt-get install libsimgrid-dev")
    points = imported("points")
    kept = pl.read_csv(points.KEPT).filter(pl.col("ranks") == 8, pl.col("bytes").is_in([2, 16384, 1048576]))
    again = points.simulated(kept.select(points.KEYS).to_dicts())
    both = kept.join(again, on=points.KEYS, suffix="_again")
    assert len(both) == len(kept) > 40
    for name in ("time", "last"):
        assert both[f"{name}_again"].to_list() == pytest.approx(both[name].to_list(), rel=1e-4)


def test_a_message_takes_the_papers_latency(imported: Callable[[str], Any]) -> None:
    orfeo = imported("orfeo")
    two = orfeo.named().filter(pl.col("ranks") == 2, pl.col("bytes") == 2, pl.col("algorithm") == "pipeline")
    assert two["last"].to_list() == pytest.approx([0.15e-6], rel=0.01)


def test_latencies_of_this_machine_are_compared(imported: Callable[[str], Any]) -> None:
    if shutil.which("mpiexec") is None:
        missing("no mpiexec: apt-get install libopenmpi-dev openmpi-bin")
    latencies = imported("latencies")
    here = latencies.measured()
    assert len(here) > 0 or len(os.sched_getaffinity(0)) == 1
    assert here["median"].is_between(here["ci_low"], here["ci_high"]).all()
    rows = latencies.compare(here)
    assert rows["median"].count() == len(here)


def test_the_simulated_machine_has_the_papers_sizes(imported: Callable[[str], Any]) -> None:
    table = imported("latencies").architecture()
    same = [row["attribute"] for row in table.to_dicts() if row["ORFEO"] == row["simulated"]]
    assert len(same) == 7
    assert "interconnect" in same


def test_latencies_are_compared_by_level(imported: Callable[[str], Any]) -> None:
    latencies = imported("latencies")
    here = pl.DataFrame(
        {
            "level": ["L2", "L3", "socket"],
            "time": [1e-7, 2e-7, 5e-7],
            "median": [1e-7, 2e-7, 4e-7],
            "ci_low": [9e-8, 1.9e-7, 3e-7],
            "ci_high": [2e-7, 2.1e-7, 6e-7],
        }
    )
    rows = latencies.compare(here)
    found = {one.name: one.value for one in latencies.reproduced(rows)}
    assert set(found) == studies()[NAME].published.number_names("latencies")
    assert {name for name, value in found.items() if value is not None} == {"same CCX", "cross NUMA"}
    assert found["cross NUMA"] == pytest.approx(0.5)
    assert latencies.tested(rows).holds
    assert latencies.tested(latencies.compare(here.head(2))).holds is None
    figure = latencies.figure(rows)
    assert [len(trace["x"]) for trace in figure.traces] == [7, 3]
