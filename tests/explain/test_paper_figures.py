"""Each figure and table of two papers, by the call that the documentation names for it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import haloscope
from haloscope.explain import Ensemble, ensembles
from haloscope.explain.ensembles import Speeds
from support.mpi import CHECKOUT
from support.pages import page_data
from support.profiles import Draft
from support.sample import halo_profile

_PAGE = CHECKOUT / "docs" / "reference" / "ensembles.md"
_GRIDS = ((2, 1, 1), (2, 2, 1), (2, 2, 2), (4, 2, 2))
MACHINE = Speeds("a machine", lambda size: 1e-6 + size * 1e-9)


def _rows() -> list[list[str]]:
    """Read the table in the documentation: figure of a paper, call, and place on the page."""
    table = _PAGE.read_text().partition("## The figures of two papers\n")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return lines[2:]


ROWS = {what: call.strip("`") for what, call, _ in _rows()}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Ensemble:
    """Two programs on two systems, on 2 to 16 ranks, with problems of several sizes."""
    folder = tmp_path_factory.mktemp("papers")
    for number, grid in enumerate(_GRIDS):
        for program, cluster in (("amg", "cpu"), ("amg", "gpu"), ("kripke", "cpu")):
            written = halo_profile(grid, seed=number)
            written.info |= {"program": program, "metadata": {"cluster": cluster, "nx": str(8 * number + 8)}}
            if cluster == "gpu":
                _onto_gpu(written)
            written.write(folder / f"{program}-{cluster}-{number}.halo")
    return haloscope.open_all(f"{folder}/*.halo")


def _onto_gpu(written: Draft) -> None:
    """Send half of all messages from a GPU's memory. The other files do not record the kind of memory."""
    written.version = (1, 4)
    for name, sums in (("calls", ("calls", "bytes", "time_total")), ("sizes", ("messages", "time_total"))):
        table = written.tables[name]
        rows = len(table["path"])
        twice: dict[str, Any] = {column: [*values, *values] for column, values in table.items()}
        for column in sums:
            whole = np.asarray(table[column])
            half = whole // 2 if whole.dtype.kind == "i" else whole / 2
            twice[column] = [*half.tolist(), *(whole - half).tolist()]
        written.tables[name] = {**twice, "memory": ["host"] * rows + ["device"] * rows}


def _called(call: str, runs: Ensemble) -> Any:
    return eval(call, {"ensembles": ensembles, "runs": runs, "machine": MACHINE})  # our own documentation


def test_all_figures_of_both_papers_are_listed() -> None:
    text = " ".join(ROWS)
    first, second = text.split("*Communication patterns in HPCG*")
    assert {*re.findall(r"Table (\w+)", first)} == {"I", "IV"}  # II and III describe machines and inputs
    assert {*re.findall(r"\d", first.split("Table IV")[1])} >= set("123456")
    assert {*re.findall(r"(?:Figure|Table) (\d)", second)} == set("12345")


@pytest.mark.parametrize("what", ROWS)
def test_it_is_one_call(runs: Ensemble, what: str) -> None:
    """Its table has numbers, and its figure has all of its points."""
    found = _called(ROWS[what], runs)
    frame = found if isinstance(found, pl.DataFrame) else found.frame
    assert len(frame)
    if isinstance(found, pl.DataFrame):
        names = [
            f"{kind}_instance_{end}" for kind in ("sends", "recvs", "dest_ranks") for end in ("min", "max")
        ]
        assert {*names, "src_ranks_instance_max", "bytes_sent_instance_max"} <= {*frame.columns}
    else:
        assert found.figure().data


def test_levels_and_rates_by_their_definitions(runs: Ensemble) -> None:
    """Figures 2, 3 and 5 are computed from the table of ranks, row by row."""
    ranks = runs.table("ranks").filter(pl.col("profile").str.contains("amg-gpu"))
    level = ranks.filter(pl.col("region").str.contains("level 1") & ~pl.col("region").str.contains("halo"))
    for figure, quantity, by_hand in (("Figure 2", "bytes_sent", pl.max), ("Figure 3", "src_ranks", pl.mean)):
        call = next(call for what, call in ROWS.items() if what.startswith(figure) and "level" in call)
        frame = _called(call, runs).frame.filter(series="gpu", level=1).sort("run_ranks")
        expected = level.group_by("run_ranks").agg(by_hand(quantity)).sort("run_ranks")[quantity]
        assert frame["mean"].to_list() == pytest.approx(expected.to_list())
    call = next(call for what, call in ROWS.items() if what.startswith("Figures 5 and 6, left"))
    frame = _called(call, runs).frame.filter(series="kripke").sort("run_ranks")
    whole = runs.table("ranks", region="<program>").filter(pl.col("profile").str.contains("kripke"))
    sums = (
        whole.group_by("run_ranks").agg(pl.col("bytes_sent").sum() / pl.col("time").sum()).sort("run_ranks")
    )
    assert frame["mean"].to_list() == pytest.approx(sums["bytes_sent"].to_list())


@pytest.mark.parametrize(
    "call",
    [
        'over(runs, "time", ["<program>", "solve"], by="cluster")',
        'over(runs, "bandwidth", ["<program>"], by="cluster")',
        'levels(runs, "solve/level #", "most_bytes", by="cluster")',
        'totals(runs, by="cluster")',
        'size_classes(runs, machine=machine, by="cluster")',
    ],
)
def test_runs_on_gpus_and_cpus_are_in_one_figure(runs: Ensemble, call: str) -> None:
    """Both send the same messages: two rows of one call or size, by memory, are one row in each figure."""
    found = _called(f"ensembles.{call}", runs)
    drawn = found.figure().to_json()
    assert "cpu" in drawn
    assert "gpu" in drawn
    one, other = (found.frame.filter(series=cluster).drop("series", "runs") for cluster in ("cpu", "gpu"))
    assert len(one) >= len(_GRIDS)
    assert_frame_equal(one, other)


def test_the_machine_by_classes() -> None:
    frame = ensembles.speed_classes(MACHINE).frame
    assert frame["smallest"].to_list() == [1, 128, 1024, 16384]
    assert frame["largest"].to_list() == [64, 512, 8192, 1 << 22]
    assert frame["machine_speed"][1] == pytest.approx((128 + 256 + 512) / (3e-6 + 896e-9))


def test_one_page_has_them(runs: Ensemble, tmp_path: Path) -> None:
    haloscope.report(runs.paths, tmp_path / "page.html", machine=MACHINE, by="cluster")
    data = page_data(tmp_path / "page.html")
    titles = [section["title"] for section in data["sections"]]
    inside = [section["title"] for section in data["regions"][0]["sections"]]
    named = {where.split(",")[0] for _, _, where in _rows()}
    for name in named - {"page of one profile"}:
        assert any(title.startswith(name.removesuffix(" …")) for title in [*titles, *inside]), (name, titles)
