"""The report of a run with a trace, in a browser: its figures have the numbers of the tables."""

from __future__ import annotations

import base64
import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import haloscope
from haloscope import explain
from haloscope.explain import _report_data, _report_timeline, _report_waiting
from haloscope.explain._report_packing import packed_columns
from haloscope.explain.findings import Evidence, Finding
from support.mpi import Mpi
from support.pages import Look, page_data, wait_until
from support.programs import Compiler
from support.watched import watch

if TYPE_CHECKING:
    from playwright.sync_api import Page

BOTH = pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-system"], indirect=True)
ONE = pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
RING = Path(__file__).parent / "programs" / "late_ring.c"
KINDS = {"u2": np.uint16, "u4": np.uint32, "i4": np.int32, "f8": np.float64}


@pytest.fixture(scope="module")
def traced(mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return watch(
        mpi, 3, [compiler(mpi, RING)], tmp_path_factory.mktemp("ring"), options=["--trace"], timeout=240
    ).path


def columns(table: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            name: np.frombuffer(base64.b64decode(packed["data"]), dtype=KINDS[packed["type"]])
            for name, packed in table["columns"].items()
        }
    )


@pytest.fixture(scope="module")
def page_file(traced: Path) -> Path:
    explain.report(traced, traced.with_suffix(".html"))
    return traced.with_suffix(".html")


def run_of(page: Path) -> dict[str, Any]:
    run: dict[str, Any] = page_data(page)
    return run


def written_anew(traced: Path, directory: Path) -> dict[str, Any]:
    explain.report(traced, directory / "page.html")
    return run_of(directory / "page.html")


@BOTH
def test_boxes_have_all_calls_and_all_their_time(
    traced: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with haloscope.open(traced) as profile:
        calls = profile.trace().calls
        waited = profile.waiting.waits.filter(pl.col("partner").is_not_null())["time"].sum()
        whole = profile.table("waits", region="<program>")["time_total"].sum()
    assert (calls["end"] - calls["begin"]).sum() / 1e9 == pytest.approx(whole)
    for most in (150_000, 100):
        monkeypatch.setattr(_report_timeline, "_MOST_BOXES", most)
        run = written_anew(traced, tmp_path)["timeline"]
        boxes = columns(run["boxes"])
        assert boxes["calls"].sum() == run["calls"] == len(calls)
        assert len(boxes) <= most
        assert boxes["time"].sum() * run["unit"] == pytest.approx(whole, rel=1e-6)
        assert boxes["waited"].sum() * run["unit"] == pytest.approx(waited, rel=1e-6)
        assert (run["shortest"] > 0) == (most == 100)
        # Boxes of a thread stand one after the other.
        ends = boxes.with_columns(pl.col("end").shift(1).over("location").alias("before")).drop_nulls()
        assert (ends["begin"] >= ends["before"]).all()
    monkeypatch.setattr(_report_timeline, "_MOST_MESSAGES", 40)
    some = written_anew(traced, tmp_path)["timeline"]["messages"]
    assert (len(columns(some)), some["left_out"]) == (40, 3 * 20 - 40)


def plotted(page: Page, figure: str, what: str) -> Any:
    return page.evaluate(f"document.getElementById('{figure}').data.map(t => Array.from(t.{what}))")


@ONE
@pytest.mark.slow
def test_every_figure_has_the_numbers_of_its_table(traced: Path, page_file: Path, look: Look) -> None:
    page = look(page_file)
    profile = haloscope.open(traced)
    for region in ("<program>", "step"):
        page.select_option("#region", label=region)
        waits = profile.table("waits", region=region)
        (kinds,), (times,) = plotted(page, "kinds-plot", "y"), plotted(page, "kinds-plot", "x")
        assert {
            kind.replace(" ", "_"): time for kind, time in zip(kinds, times, strict=True)
        } == pytest.approx(dict(waits.select("kind", "time_total").iter_rows()))
        pairs = (
            profile.table("wait_pairs", region=region).group_by("rank", "partner").agg(pl.col("time").sum())
        )
        cells = page.evaluate("document.getElementById('pairs-plot').data[0].customdata")
        shown = {(i, j): v for i, row in enumerate(cells) for j, v in enumerate(row) if v is not None}
        assert shown == pytest.approx({(i, j): time for i, j, time in pairs.iter_rows()})
        direct, indirect = plotted(page, "causes-plot", "y")
        delays = profile.table("delays", region=region)
        for bars, column in ((direct, "direct"), (indirect, "indirect")):
            by_rank = dict(delays.select("rank", column).iter_rows())
            assert bars == pytest.approx([by_rank.get(rank, 0.0) for rank in range(len(bars))])
        path = profile.table("critical_path", region=region)
        compute, mpi = plotted(page, "critical-plot", "y")
        assert sum(compute) + sum(mpi) == pytest.approx(path["time"].sum())
        assert sum(mpi) == pytest.approx(path["mpi_time"].sum())
        rows = page.locator("#calls-table tbody tr td:nth-child(2)").all_inner_texts()
        assert rows == [str(count) for count in profile.table("calls", region=region)["calls"].to_list()]
    marks = profile.table("tolerance", region="<program>")
    assert page.evaluate("document.getElementById('latency-plot').data[1].x") == pytest.approx(
        [marks[f"latency_{share}"][0] for share in (1, 2, 5)]
    )
    corners = page.evaluate("document.getElementById('latency-plot').data[0]")
    curve = profile.waiting.run_time_with(corners["x"][-1])
    for x, y in zip(corners["x"], corners["y"], strict=True):
        assert y == pytest.approx(curve.at(x))
    page.click("#columns >> text=efficiency")
    cells = page.locator("#regions-table tbody tr td:nth-child(2)").all_inner_texts()
    assert cells == [f"{100 * share:.1f} %" for share in profile.table("pop")["parallel"].to_list()]


@ONE
def test_one_zooms_into_the_timeline(page_file: Path, look: Look) -> None:
    run = run_of(page_file)
    page = look(page_file)
    plot = "document.getElementById('timeline-plot')"

    def calls_in_view() -> int:
        return int(page.locator("#timeline-source").inner_text().split(" of ")[0])

    everything = calls_in_view()
    assert everything == run["timeline"]["calls"]
    assert "60 messages as arrows" in page.locator("#timeline-source").inner_text()
    legend = [trace["name"] for trace in page.evaluate(f"{plot}.data.map(t => ({{ name: t.name }}))")]
    assert legend[-1] == "messages"
    assert {"waiting in MPI", "point-to-point"} <= set(legend)
    page.click("#timeline-moves >> text=+")
    some = calls_in_view()
    assert some < everything
    page.focus("#timeline-plot")
    page.keyboard.press("+")
    assert calls_in_view() <= some
    page.keyboard.press("Home")
    assert calls_in_view() == everything
    box = page.locator("#timeline-plot .nsewdrag").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 + 60, box["y"] + 12, steps=4)
    page.mouse.up()
    wait_until(
        page, f"{plot}.layout.xaxis.range[1] - {plot}.layout.xaxis.range[0] < {run['timeline']['length'] / 4}"
    )
    assert calls_in_view() < everything
    page.focus("#timeline-plot")
    page.keyboard.press("Home")
    page.select_option("#region", label="step/halo")
    shaded = page.evaluate(f"{plot}.data[0].name")
    assert shaded == "halo"
    page.uncheck("#timeline-messages")
    assert "arrows" not in page.locator("#timeline-source").inner_text()
    # What lies above a bar to catch the mouse is Plotly's own.
    page.locator("#timeline-plot .bars path").nth(3).hover(force=True)
    page.locator("#timeline-plot .hoverlayer text").first.wait_for()


@ONE
def test_corners_that_are_left_out_are_counted(
    traced: Path, page_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = run_of(page_file)["waiting"]["latency"]
    assert every["left_out"] == 0
    monkeypatch.setattr(_report_waiting, "_MOST_CORNERS", 2)
    few = written_anew(traced, tmp_path)["waiting"]["latency"]
    assert len(few["corners"]) - 1 + few["left_out"] == len(every["corners"]) - 1
    assert [few["corners"][0], few["corners"][-1]] == [every["corners"][0], every["corners"][-1]]


@ONE
def test_tables_are_filtered_sorted_by_keys_and_saved(
    traced: Path, page_file: Path, look: Look, tmp_path: Path
) -> None:
    page = look(page_file)
    names = page.locator("#calls-table tbody tr td:first-child")
    assert names.count() > 4
    page.fill("#calls .filter", "allreduce")
    assert names.all_inner_texts() == ["MPI_Allreduce"]
    page.fill("#calls .filter", "")
    page.focus("#calls-table th:first-child")
    page.keyboard.press("Enter")
    assert names.all_inner_texts() == sorted(names.all_inner_texts())
    page.focus("#regions-table tbody tr:first-child")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#region").input_value() == "1"
    page.select_option("#region", label="<program>")
    with page.expect_download() as download:
        page.click("#calls .csv")
    download.value.save_as(tmp_path / "calls.csv")
    assert download.value.suggested_filename == "mpi-calls.csv"
    rows = list(csv.DictReader(io.StringIO((tmp_path / "calls.csv").read_text("utf-8"))))
    with haloscope.open(traced) as profile:
        table = profile.table("calls", region="<program>").sort("call")
    assert [row["call"] for row in rows] == table["call"].to_list()
    assert [float(row["time"]) for row in rows] == pytest.approx(table["time_total"].to_list())
    with page.expect_download() as download:
        page.locator("section", has=page.locator("#ranks-plot")).locator(".csv").click()
    download.value.save_as(tmp_path / "ranks.csv")
    bars = list(csv.DictReader(io.StringIO((tmp_path / "ranks.csv").read_text("utf-8"))))
    with haloscope.open(traced) as profile:
        time = profile.table("ranks", region="<program>")["time"].sum()
    assert sum(float(row["time, s"]) for row in bars) == pytest.approx(time)


@ONE
def test_the_page_is_light_or_dark_and_prints_light(page_file: Path, look: Look, tmp_path: Path) -> None:
    page = look(page_file, 700, "dark")
    ground = "getComputedStyle(document.querySelector('#timeline-plot .main-svg')).backgroundColor"
    assert page.evaluate(ground) == "rgb(29, 36, 43)"
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    page.pdf(path=str(tmp_path / "page.pdf"))
    assert (tmp_path / "page.pdf").stat().st_size > 10_000
    assert page.evaluate(ground) == "rgb(29, 36, 43)"
    page.click("#theme")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    assert page.locator("#theme").inner_text() == "dark"


@ONE
def test_findings_lead_to_what_shows_them(
    traced: Path, look: Look, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence = (Evidence("ranks", {"region": "step"}, {}), Evidence("sites", {}, {}))
    gains = {"gain": 0.02, "gain_low": 0.01, "gain_high": 0.03, "share": 0.25}
    one = Finding(
        "imbalance", "rank 3 computes longer <b>", "share it out", "step", (3,), **gains, evidence=evidence
    )
    monkeypatch.setattr(_report_data, "findings", lambda _profile: [one])
    explain.report(traced, tmp_path / "page.html")
    page = look(tmp_path / "page.html")
    told = page.locator("#findings-list li").inner_text()
    assert told.startswith("Rank 3 computes longer <b>.")
    assert "Would save 20.0 ms of the run (10.0 ms to 30.0 ms), 25.0 %." in told
    assert "Share it out." in told
    # There are no call sites in this profile, so no link leads there.
    assert page.locator("#findings-list a").all_inner_texts() == ["Time by rank"]
    page.locator("#findings-list a").click()
    assert page.locator("#region").input_value() == "1"
    assert page.locator("#nesting [aria-pressed=true]").inner_text() == "exclusive"


def of_many_threads(threads: int, calls: int) -> dict[str, Any]:
    """Return a timeline whose threads call once a microsecond, for half of it."""
    begin = np.tile(1000 * np.arange(calls), threads)
    thread = np.repeat(np.arange(threads), calls)
    one, none = np.ones(len(thread)), np.zeros(len(thread))
    numbers = {"begin": begin, "end": begin + 500, "time": 500 * one, "waited": none, "calls": one}
    boxes = pl.DataFrame({**numbers, "location": thread, "name": none, "region": none, "cause": none - 1})
    messages = dict.fromkeys(("begin", "end", "source", "destination", "bytes"), np.zeros(0))
    kinds = dict.fromkeys(boxes.columns, "u4") | {"cause": "i4"}
    return {
        "unit": 1e-9,
        "length": calls * 1e-6,
        "locations": [str(rank) for rank in range(threads)],
        "names": [["MPI_Send", "p2p"]],
        "calls": len(boxes),
        "shortest": 0.0,
        "boxes": {"columns": packed_columns(boxes, kinds)},
        "visits": {"shortest": 0.0, "offsets": [0, 0, 0, 0], "columns": {}},
        "messages": {
            "left_out": 0,
            "columns": packed_columns(pl.DataFrame(messages), dict.fromkeys(messages, "f8")),
        },
    }


@ONE
def test_a_timeline_of_many_threads_is_bounded(
    traced: Path, look: Look, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_report_data, "timeline", lambda _profile: of_many_threads(3000, 40))
    explain.report(traced, tmp_path / "page.html")
    page = look(tmp_path / "page.html")
    told = page.locator("#timeline-source").inner_text()
    assert "Of each 3 ranks one is drawn" in told
    assert told.startswith("40000 of 120000 calls")
    bars = "document.getElementById('timeline-plot').data.map(t => t.base ? t.base.length : 0)"
    assert 1000 <= sum(page.evaluate(bars)) <= 4000
