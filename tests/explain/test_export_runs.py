"""Exports of profiles: CSV, Parquet and Extra-P's text, and what Thicket, DuckDB, Dask and Extra-P read."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import haloscope
from haloscope import OutputError, explain
from support.profiles import draft, path_rows, process_rows
from support.readers import read_by

ODD = 'a, "b"\n=c\\d'
RANKS = (2, 4, 8)


def row(path: int, rank: int, ranks: int) -> dict[str, Any]:
    messages = path * (rank + 1)
    return {
        "path": path,
        "rank": rank,
        "instances": 2,
        "time": 4.0 * ranks - path + 0.25 * rank,
        "sends": messages,
        "recvs": messages,
        "bytes_sent": 100 * messages,
        "bytes_recv": 100 * messages,
        "largest_message": 100 + ranks,
        "p2p_time": 0.125 * path,
        "sends_instance_min": messages // 2,
        "sends_instance_max": messages,
    }


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Runs of a program on 2, 4 and 8 ranks, one region of which has an odd name."""
    folder = tmp_path_factory.mktemp("runs")
    paths = path_rows("main", "main/halo", f"main/{ODD}")
    for place in paths[:2]:
        place["communication"] = 0
    return [
        draft(
            {"ranks": ranks, "program": ODD, "metadata": {"nx": str(8 * ranks), ODD: ODD}},
            paths=paths,
            processes=process_rows(*(f"host-{rank % 2}" for rank in range(ranks))),
            ranks=[row(path, rank, ranks) for path in range(4) for rank in range(ranks)],
            calls=[{"path": 2, "call": "MPI_Isend", "calls": ranks, "bytes": 8, "time_total": 0.25}],
        ).write(folder / f"run-{ranks}.halo")
        for ranks in RANKS
    ]


@pytest.fixture(scope="module")
def in_thicket(runs: Sequence[Path], tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What Thicket reads: all runs, the ranks of two runs, and the ranks of one run."""
    folder = tmp_path_factory.mktemp("cali")
    whole = [haloscope.export(run, "cali", folder / f"{run.stem}.cali") for run in runs]
    ranks = [haloscope.export(run, "cali-ranks", folder / f"{run.stem}-ranks.cali") for run in runs[:2]]
    groups = (whole, ranks, ranks[:1])
    found: list[dict[str, Any]] = read_by("read_thicket", *(":".join(map(str, group)) for group in groups))
    return found


@pytest.mark.long
def test_thicket_has_many_runs_in_one_tree(runs: Sequence[Path], in_thicket: list[dict[str, Any]]) -> None:
    found = in_thicket[0]
    assert found["index"] == ["node", "profile"]
    assert "halo" in found["tree"]
    assert len(found["rows"]) == 4 * len(RANKS)
    # The table of the paper on communication regions: bytes, sends, largest and average send of a region.
    for run, ranks in zip(runs, RANKS, strict=True):
        halo = explain.open(run).table("regions", region="halo").row(0, named=True)
        expected = {
            "Bytes sent (total)": halo["bytes_sent_total"],
            "Sends (total)": halo["sends_total"],
            "Largest send": halo["largest_message"],
            "average": halo["mean_message"],
        }
        assert halo["largest_message"] == 100 + ranks
        assert [line for line in found["halo"] if line == pytest.approx(expected)]
    assert {line["mpi.world.size"] for line in found["metadata"]} == {str(ranks) for ranks in RANKS}
    assert {line["program"] for line in found["metadata"]} == {ODD}
    assert {line["nx"] for line in found["metadata"]} == {str(8 * ranks) for ranks in RANKS}


@pytest.mark.long
def test_thicket_has_the_ranks_of_many_runs(runs: Sequence[Path], in_thicket: list[dict[str, Any]]) -> None:
    found = in_thicket[1]
    assert found["index"] == ["node", "profile", "rank"]
    assert "halo" in found["tree"]
    known = [line for line in found["rows"] if line["time"] is not None]
    assert len(known) == 4 * (RANKS[0] + RANKS[1])
    halos = [line for line in known if line["node"] == "halo"]
    ours = pl.concat([explain.open(run).table("ranks", region="halo") for run in runs[:2]])
    assert sum(line["Sends (total)"] for line in halos) == ours["sends"].sum()
    assert sum(line["time (inc)"] for line in halos) == pytest.approx(ours["time"].sum())
    # Own times of a rank add up to its time.
    program = sum(line["time (inc)"] for line in known if line["node"] == "<program>")
    assert sum(line["time"] for line in known) == pytest.approx(program)
    assert len([line for line in in_thicket[2]["rows"] if line["time"] is not None]) == 4 * RANKS[0]


def test_a_data_set_has_the_tables_of_all_runs(runs: Sequence[Path], tmp_path: Path) -> None:
    folder = haloscope.export(runs[:2], "parquet", tmp_path / "campaign")
    haloscope.export(runs[2], "parquet", folder)  # another run, exported by another job
    haloscope.export(runs[0], "parquet", folder)  # one run again
    ours = explain.open_all(runs)
    for name in ("regions", "ranks", "calls"):
        table = ours.table(name)
        theirs = pl.read_parquet(folder / name / "**" / "*.parquet")
        assert theirs.height == table.height
        keys = ["profile", "region", *(["rank"] if name == "ranks" else [])]
        assert theirs.select(table.columns).sort(keys).equals(table.sort(keys))


@pytest.mark.long
def test_duckdb_and_dask_read_the_same_rows(runs: Sequence[Path], tmp_path: Path) -> None:
    folder = haloscope.export(runs[:2], "parquet", tmp_path / "campaign")
    haloscope.export(runs[2], "parquet", folder)  # another run, exported by another job
    haloscope.export(runs[0], "parquet", folder)  # one run again
    found = read_by("read_parquet", folder, "ranks", "run_ranks", "time")
    ours = explain.open_all(runs).table("ranks")
    keys = ["profile", "region", "rank"]
    theirs = pl.DataFrame(found["duckdb"]["rows"], infer_schema_length=None).drop("run")
    assert theirs.height == ours.height
    both = theirs.select(ours.columns).cast(ours.schema).sort(keys)
    assert both.equals(ours.sort(keys))
    sums = ours.group_by("run_ranks").agg(pl.col("time").sum()).sort("run_ranks").rows()
    for one in (found["duckdb"]["sums"], found["dask"]["sums"]):
        assert [tuple(pair) for pair in one] == [(ranks, pytest.approx(total)) for ranks, total in sums]
    assert found["dask"]["workers"] == 2


def test_a_data_set_is_not_written_into_a_foreign_directory(runs: Sequence[Path], tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("not ours")
    with pytest.raises(OutputError, match="not a data set of profiles"):
        haloscope.export(runs[0], "parquet", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_csv_has_the_tables(runs: Sequence[Path], tmp_path: Path) -> None:
    folder = haloscope.export(runs[0], "csv", tmp_path / "tables")
    profile = explain.open(runs[0])
    for name in ("regions", "ranks", "calls", "info", "binding"):
        with (folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            found = list(csv.DictReader(file))
        table = profile.table(name)
        assert list(found[0]) == table.columns
        assert len(found) == table.height
    with (folder / "regions.csv").open(newline="", encoding="utf-8") as file:
        assert [line["region"] for line in csv.DictReader(file)] == profile.table("regions")[
            "region"
        ].to_list()
    assert not (folder / "partners.csv").exists()


def extrap(text: str) -> tuple[list[str], list[list[float]], dict[tuple[str, str], list[list[float]]]]:
    """Return parameters, points and values by region and metric, parsed like Extra-P's reader does."""
    parameters: list[str] = []
    points: list[list[float]] = []
    values: dict[tuple[str, str], list[list[float]]] = {}
    region = metric = ""
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "PARAMETER":
            parameters = rest.split(" ")
        elif word == "POINTS":
            points = [[float(n) for n in part.split(" ")] for part in rest[1:-1].split(") (")]
        elif word == "REGION":
            region = rest
        elif word == "METRIC":
            metric = rest
        else:
            assert word == "DATA"
            values.setdefault((region, metric), []).append([float(number) for number in rest.split(" ")])
    return parameters, points, values


def test_extrap_has_regions_by_ranks(runs: Sequence[Path], tmp_path: Path) -> None:
    text = haloscope.export([*runs, runs[0]], "extrap", tmp_path / "scaling.txt").read_text("utf-8")
    parameters, points, values = extrap(text)
    # `nx` grows with the ranks, so it is no parameter of its own.
    assert (parameters, points) == (["p"], [[2], [4], [8]])
    assert {len(data) for data in values.values()} == {3}
    tables = [explain.open(run).table("regions", region="halo").row(0, named=True) for run in runs]
    halo = "<program>->main->halo"
    sums = [[table["bytes_sent_total"]] for table in tables]
    assert values[halo, "bytes_sent"] == [sums[0] * 2, *sums[1:]]
    assert values[halo, "time"] == [[tables[0]["time_mean"]] * 2, *([t["time_mean"]] for t in tables[1:])]


@pytest.mark.long
def test_extra_p_reads_the_text(runs: Sequence[Path], tmp_path: Path) -> None:
    """Its reader finds the same numbers as ours, and the mean of repetitions."""
    path = haloscope.export([*runs, runs[0]], "extrap", tmp_path / "scaling.txt")
    parameters, points, values = extrap(path.read_text("utf-8"))
    found = read_by("read_extrap_text", path)
    assert found["parameters"] == parameters
    theirs = {(region, metric, *at): (count, mean) for region, metric, at, count, mean in found["rows"]}
    ours = {
        (region, metric, *point): (len(numbers), pytest.approx(sum(numbers) / len(numbers)))
        for (region, metric), data in values.items()
        for point, numbers in zip(points, data, strict=True)
    }
    assert theirs == ours
    assert len(theirs) > 10 * len(points)


def test_metadata_independent_of_ranks_are_parameters(tmp_path: Path) -> None:
    for ranks in (2, 4):
        for size in (10, 20):
            said = {"size": str(size), "name": "x", "seed": "1", "tolerance": "0.5"}
            rows = [{"path": 0, "rank": rank, "time": 1.0, "instances": 1} for rank in range(ranks)]
            info = {"ranks": ranks, "metadata": said}
            draft(info, paths=path_rows(), ranks=rows).write(tmp_path / f"{ranks}-{size}.halo")
    text = haloscope.export(sorted(tmp_path.glob("*.halo")), "extrap", tmp_path / "t.txt").read_text("utf-8")
    parameters, points, _ = extrap(text)
    assert parameters == ["p", "size"]
    assert points == [[2, 10], [2, 20], [4, 10], [4, 20]]
