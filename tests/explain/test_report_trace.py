"""The report of a run with a trace, in a browser: its figures have the numbers of the tables."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import Browser, Page

import haloscope
from haloscope import explain
from haloscope.explain import Profile
from support.pages import Look, hover_bar, page_data, plotted, wait_until
from support.profiles import Draft, draft, path_rows, process_rows
from support.traced_drafts import CALL, PART, WORLD, symbol, traced_draft

KINDS = {"u2": np.uint16, "u4": np.uint32, "i4": np.int32, "f8": np.float64}


def columns(table: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            name: np.frombuffer(base64.b64decode(packed["data"]), dtype=KINDS[packed["type"]])
            for name, packed in table["columns"].items()
        }
    )


@pytest.fixture(scope="module")
def page_file(late_ring: Path) -> Path:
    explain.report(late_ring, late_ring.with_suffix(".html"))
    return late_ring.with_suffix(".html")


@pytest.fixture(scope="module")
def opened(page_file: Path, browser: Browser) -> Iterator[Page]:
    """The page, opened once for all tests, as that takes seconds."""
    look = Look(browser)
    yield look(page_file)
    look.check()


@pytest.fixture
def page(opened: Page) -> Page:
    """The page in its initial state."""
    opened.select_option("#region", index=0)
    return opened


def run_of(page: Path) -> dict[str, Any]:
    run: dict[str, Any] = page_data(page)
    return run


def check_boxes(timeline: dict[str, Any], profile: Profile) -> pl.DataFrame:
    """Assert that the boxes of a timeline contain all calls and their time. Return the boxes."""
    calls = profile.trace().calls
    waited = profile.waiting.waits.filter(pl.col("partner").is_not_null())["time"].sum()
    whole = profile.table("waits", region="<program>")["time_total"].sum()
    assert (calls["end"] - calls["begin"]).sum() / 1e9 == pytest.approx(whole)
    boxes = columns(timeline["boxes"])
    assert boxes["calls"].sum() == timeline["calls"] == len(calls)
    assert boxes["time"].sum() * timeline["unit"] == pytest.approx(whole, rel=1e-6)
    assert boxes["waited"].sum() * timeline["unit"] == pytest.approx(waited, rel=1e-6)
    # Boxes of a thread follow each other.
    ends = boxes.with_columns(pl.col("end").shift(1).over("location").alias("before")).drop_nulls()
    assert (ends["begin"] >= ends["before"]).all()
    return boxes


def test_a_short_run_has_a_box_per_call_and_an_arrow_per_message(late_ring: Path, page_file: Path) -> None:
    timeline = run_of(page_file)["timeline"]
    with haloscope.open(late_ring) as profile:
        boxes = check_boxes(timeline, profile)
        assert len(boxes) == len(profile.trace().calls)
        assert timeline["shortest"] == 0
    messages = timeline["messages"]
    assert (len(columns(messages)), messages["left_out"]) == (3 * 20, 0)


def exchanges(rounds: int) -> Draft:
    """Two ranks that post a receive from each other, send to each other, compute and wait."""
    random = np.random.default_rng(0)
    message = {"communicator": WORLD, "partner": 1, "tag": 5, "size": 8}
    symbols = [
        symbol(0, CALL, call="MPI_Irecv", action=4, **message),
        symbol(1, CALL, call="MPI_Send", action=1, bytes=8, **message),
        symbol(2, PART, action=8, request=1, **message),
        symbol(3, CALL, call="MPI_Wait"),
    ]
    times = np.zeros((2, rounds, 3, 2), dtype=np.int64)
    at = np.zeros(2, dtype=np.int64)
    for turn in range(rounds):
        begin = at + random.integers(1000, 100_000, 2)
        wait = begin + 400 + random.integers(0, 50_000, 2)
        at = np.maximum(wait, begin[::-1] + 2100) + 50
        times[:, turn, 0] = np.column_stack([begin, begin + 50])
        times[:, turn, 1] = np.column_stack([begin + 100, begin + 300])
        times[:, turn, 2] = np.column_stack([wait, at])
    return traced_draft(symbols, [of_rank.reshape(-1, 2) for of_rank in times])


@pytest.mark.slow
def test_a_long_run_has_a_bounded_page(read: Callable[[Draft], Profile], tmp_path: Path) -> None:
    """A page has at most 150 000 boxes, 30 000 messages, and 1000 points of run time by latency."""
    rounds = 26_000
    profile = read(exchanges(rounds))
    explain.report(profile.path, tmp_path / "page.html")
    run = run_of(tmp_path / "page.html")
    boxes = check_boxes(run["timeline"], profile)
    assert len(boxes) <= 150_000 < run["timeline"]["calls"] == 6 * rounds
    assert run["timeline"]["shortest"] > 0
    messages = run["timeline"]["messages"]
    kept = columns(messages)
    assert (len(kept), messages["left_out"]) == (30_000, 2 * rounds - 30_000)
    assert (kept["end"] > kept["begin"]).all()
    latency = run["waiting"]["latency"]
    curve = profile.waiting.run_time_with(latency["corners"][-1][0])
    assert len(latency["corners"]) - 1 <= 1000 < len(curve.begin)
    assert len(latency["corners"]) - 1 + latency["left_out"] == len(curve.begin)
    for x, y in latency["corners"]:
        assert y == pytest.approx(curve.evaluate(x))


def test_every_figure_has_the_numbers_of_its_table(late_ring: Path, page: Page) -> None:
    profile = haloscope.open(late_ring)
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
        assert y == pytest.approx(curve.evaluate(x))
    page.click("#columns >> text=efficiency")
    cells = page.locator("#regions-table tbody tr td:nth-child(2)").all_inner_texts()
    assert cells == [f"{100 * share:.1f} %" for share in profile.table("pop")["parallel"].to_list()]


def test_the_timeline_zooms(page_file: Path, page: Page) -> None:
    run = run_of(page_file)
    plot = "document.getElementById('timeline-plot')"

    def calls_in_view() -> int:
        return int(page.locator("#timeline-source").inner_text().split(" of ")[0])

    everything = calls_in_view()
    assert everything == run["timeline"]["calls"]
    assert "60 messages as arrows" in page.locator("#timeline-source").inner_text()
    legend = [trace["name"] for trace in page.evaluate(f"{plot}.data.map(t => ({{ name: t.name }}))")]
    assert legend[-1] == "messages"
    assert {"waiting in MPI", "point-to-point"} <= set(legend)
    # A rank sleeps for at least 0.3 ms in each of 20 steps, so its calls take more than 5 ms.
    page.click("#timeline-moves >> text=+")
    page.focus("#timeline-plot")
    shown = f"{plot}.layout.xaxis.range[1] - {plot}.layout.xaxis.range[0]"
    while (width := page.evaluate(shown)) > 0.005:
        page.keyboard.press("+")
        wait_until(page, f"{shown} < {width}")
    assert calls_in_view() < everything
    page.keyboard.press("Home")
    assert calls_in_view() == everything
    box = page.locator("#timeline-plot .nsewdrag").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 + 60, box["y"] + 12, steps=4)
    page.mouse.up()
    wait_until(page, f"{shown} < {run['timeline']['length'] / 4}")
    page.focus("#timeline-plot")
    page.keyboard.press("Home")
    page.select_option("#region", label="step/halo")
    shaded = page.evaluate(f"{plot}.data[0].name")
    assert shaded == "halo"
    page.uncheck("#timeline-messages")
    assert "arrows" not in page.locator("#timeline-source").inner_text()
    hover_bar(page, "#timeline-plot")


def test_tables_are_filtered_sorted_by_keys_and_saved(late_ring: Path, page: Page, tmp_path: Path) -> None:
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
    with haloscope.open(late_ring) as profile:
        table = profile.table("calls", region="<program>").sort("call")
    assert [row["call"] for row in rows] == table["call"].to_list()
    assert [float(row["time"]) for row in rows] == pytest.approx(table["time_total"].to_list())
    with page.expect_download() as download:
        page.locator("section", has=page.locator("#ranks-plot")).locator(".csv").click()
    download.value.save_as(tmp_path / "ranks.csv")
    bars = list(csv.DictReader(io.StringIO((tmp_path / "ranks.csv").read_text("utf-8"))))
    with haloscope.open(late_ring) as profile:
        time = profile.table("ranks", region="<program>")["time"].sum()
    assert sum(float(row["time, s"]) for row in bars) == pytest.approx(time)


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


def test_findings_link_to_their_figures(read: Callable[[Draft], Profile], look: Look, tmp_path: Path) -> None:
    """Rank 2 computes in `step <b>` for 6 s, the others for 2 s and wait for 4 s."""
    rows = []
    for rank in range(4):
        computing = 6.0 if rank == 2 else 2.0
        rows += [
            {"path": 0, "rank": rank, "instances": 1, "time": 10.0, "other_time": 4.0},
            {"path": 1, "rank": rank, "instances": 10, "time": computing},
            {"path": 2, "rank": rank, **dict.fromkeys(("time", "coll_time", "wait_time"), 6.0 - computing)},
        ]
    paths = path_rows("step <b>", "reduce")
    profile = read(draft({"ranks": 4}, paths=paths, processes=process_rows(*["alpha"] * 4), ranks=rows))
    (finding,) = haloscope.findings(profile)
    assert (finding.rule, finding.region, finding.ranks) == ("imbalance", "step <b>", (2,))
    explain.report(profile.path, tmp_path / "page.html")
    page = look(tmp_path / "page.html")
    told = page.locator("#findings-list li").inner_text()
    assert finding.sentence[1:] in told
    assert "step <b>" in told
    assert "Would save 3.00 s of the run" in told
    assert "30.0 %." in told
    assert finding.remedy[1:] in told
    # There are no call sites in this profile, so no link leads there.
    assert page.locator("#findings-list a").all_inner_texts() == ["Time by rank"]
    page.locator("#findings-list a").click()
    assert page.locator("#region").input_value() == "1"
    assert page.locator("#nesting [aria-pressed=true]").inner_text() == "exclusive"


def test_a_timeline_of_many_threads_is_bounded(look: Look, tmp_path: Path) -> None:
    """3000 ranks make a call of 0.5 us every microsecond."""
    ranks, calls = 3000, 40
    begin = 1000 * np.arange(calls)
    made = traced_draft([symbol(0, CALL, call="MPI_Wtime")], [np.column_stack([begin, begin + 500])] * ranks)
    explain.report(made.write(tmp_path / "run.halo"), tmp_path / "page.html")
    page = look(tmp_path / "page.html")
    told = page.locator("#timeline-source").inner_text()
    assert "One of 3 ranks is drawn" in told
    assert told.startswith("40000 of 120000 calls")
    bars = "document.getElementById('timeline-plot').data.map(t => t.base ? t.base.length : 0)"
    assert 1000 <= sum(page.evaluate(bars)) <= 4000
