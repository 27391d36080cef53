"""Pages of measurements: the sentences and tiles on top, and cases in which they must not appear."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from haloscope.predict import bench, load_machine, write_machine_page, write_measured_page
from support.page_kinds import sweep_records, write_sweep
from support.pages import page_data


def page_of(records: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    """Return the data of the page of a sweep."""
    (folder / "s.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    bench.write_page(bench.Sweep.read(folder / "s.jsonl"), folder / "p.html")
    data: dict[str, Any] = page_data(folder / "p.html")
    return data


def cells(section: dict[str, Any]) -> dict[str, list[str]]:
    """Return the texts of a table by size."""
    (table,) = section["tables"]
    return {row[0][1]: [text for _, text in row[1:]] for row in table["rows"]}


def test_a_sweep_begins_with_the_fastest_algorithm_and_the_loss_of_the_default(tmp_path: Path) -> None:
    data = page_of(sweep_records(), tmp_path)
    assert data["title"] == "Open MPI 4.1.4 on node7"
    first, second = data["sections"]
    assert (first["title"], second["title"]) == ("bcast: fastest algorithm", "allreduce: fastest algorithm")
    assert cells(first)["64 B"] == ["default"] * 3
    assert all(text.startswith("chain (2), default +") for text in cells(first)["1.05 MB"])
    (told,) = first["text"]
    assert told.startswith(
        "bcast: the default is slower than the fastest algorithm at 12 of 33 points, at most"
    )
    assert "no algorithm is significantly faster" not in told


def test_a_good_default_is_not_called_slower(tmp_path: Path) -> None:
    data = page_of(sweep_records(gain=1.001), tmp_path)
    for section in data["sections"]:
        assert {text for texts in cells(section).values() for text in texts} == {"default"}
        (told,) = section["text"]
        assert told.endswith("no algorithm is significantly faster than the default at 33 points.")


def test_a_sweep_without_the_default_has_no_loss(tmp_path: Path) -> None:
    data = page_of([one for one in sweep_records() if one.get("algorithm") != "default"], tmp_path)
    for section in data["sections"]:
        assert section["text"] == ["The library's own choice was not measured."]
        assert not any("default" in text for texts in cells(section).values() for text in texts)
    alone = page_of([one for one in sweep_records() if one.get("algorithm") in (None, "default")], tmp_path)
    assert alone["sections"] == []


LEVEL = {"name": "node", "cores": 4, "latency": "0.5 us", "bandwidth": "12 GB/s"}
SWITCH = [{"from": 0, "latency": "0.5 us"}, {"from": 4096, "latency": "1 us"}]
MEASURED = {
    "description": "node7: 1 × 4 cores, x",
    "source": "haloscope 0.1.0 bench p2p, Open MPI 4.1.4, 2026-01-01",
}


@pytest.mark.parametrize(
    ("about", "level", "title", "limit"),
    [
        (MEASURED, {"protocols": SWITCH}, "node7, Open MPI 4.1.4", "4096 B"),
        (MEASURED, {}, "node7, Open MPI 4.1.4", "–"),
        ({"source": "a paper"}, {"protocols": SWITCH}, "mine", "4096 B"),
        ({"description": "a: b", "source": "haloscope"}, {}, "mine", "–"),
    ],
)
def test_a_machine_begins_with_host_latency_bandwidth_and_eager_limit(
    tmp_path: Path, about: dict[str, str], level: dict[str, Any], title: str, limit: str
) -> None:
    machine = {"name": "mine", **about, "levels": [{**LEVEL, **level}]}
    (tmp_path / "m.yaml").write_text(json.dumps(machine))
    write_machine_page(load_machine(tmp_path / "m.yaml"), tmp_path / "p.html")
    data = page_data(tmp_path / "p.html")
    assert data["title"] == title
    tiles = {name: (value, note) for name, value, note in data["figures"]}
    assert tiles["latency"] == ("500 ns", "node")
    assert tiles["bandwidth"] == ("12 GB/s", "node")
    assert tiles["eager limit"] == (
        limit,
        "no change seen" if limit == "–" else "first change of the protocol",
    )
    # One level has no bars to compare.
    assert not any(section["name"] == "levels" for section in data["sections"])


def test_a_logarithmic_axis_has_ticks_at_one_two_and_five(tmp_path: Path) -> None:
    points = [{"bytes": 4**power, "time": f"{0.4 + 4**power / 1e4:g} us"} for power in range(11)]
    levels = [{**LEVEL, "measured": points}]
    (tmp_path / "m.yaml").write_text(json.dumps({"name": "mine", "levels": levels}))
    write_machine_page(load_machine(tmp_path / "m.yaml"), tmp_path / "p.html")
    (times,) = (one for one in page_data(tmp_path / "p.html")["sections"] if one["name"] == "times")
    axis = times["figures"][0]["layout"]["yaxis"]
    assert [f"{value:.0e}" for value in axis["tickvals"][:4]] == ["1e-07", "2e-07", "5e-07", "1e-06"]
    assert axis["ticktext"][:4] == ["100 ns", "", "", "1 µs"]


def test_the_library_s_own_choice_has_a_colour_of_its_own(tmp_path: Path) -> None:
    points = bench.Sweep.read(write_sweep(tmp_path / "s.jsonl")).points
    rows = points.with_columns(modelled=pl.col("time") * 1.1, error=0.1)
    write_measured_page(rows, load_machine("orfeo"), tmp_path / "p.html")
    for curve in page_data(tmp_path / "p.html")["curves"]:
        colours = {t["name"]: t["marker"]["color"] for t in curve["data"] if t["mode"] == "markers"}
        assert len(set(colours.values())) == len(colours) == 3
        assert "default (the library's choice)" in colours
