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
from haloscope.explain.findings import RULES
from support.pages import Look, page_data, plotted, wait_until
from support.profiles import Draft, draft, path_rows, process_rows
from support.traced_drafts import CALL, PART, WORLD, symbol, traced_draft

KINDS = {"u2": np.uint16, "u4": np.uint32, "i4": np.int32, "f8": np.float64}


def columns(table: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame({name: numbers(packed) for name, packed in table["columns"].items()})


def numbers(packed: dict[str, str]) -> np.ndarray[Any, Any]:
    """The numbers of a column: all first bytes, then all second bytes, and so on."""
    kind = np.dtype(KINDS[packed["type"]])
    planes = np.frombuffer(base64.b64decode(packed["data"]), dtype=np.uint8).reshape(kind.itemsize, -1)
    return np.ascontiguousarray(planes.T).view(kind).ravel()


def boxes_of(timeline: dict[str, Any]) -> pl.DataFrame:
    """The boxes, with their begins and ends, which gaps and lengths add up to."""
    boxes = columns(timeline["boxes"]).with_columns(pl.col("gap", "length").cast(pl.Int64))
    end = (pl.col("gap") + pl.col("length")).cum_sum().over("location").alias("end")
    time = pl.when(pl.col("calls") == 1).then("length").otherwise("time").alias("time")
    return boxes.with_columns(end, time).with_columns((pl.col("end") - pl.col("length")).alias("begin"))


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
    boxes = boxes_of(timeline)
    assert boxes["calls"].sum() == timeline["calls"] == len(calls)
    assert boxes["time"].sum() * timeline["unit"] == pytest.approx(whole, rel=1e-6)
    assert boxes["waited"].sum() * timeline["unit"] == pytest.approx(waited, rel=1e-6)
    last, first = int(profile.trace().calls["end"].to_numpy().max()), profile.waiting.timeline.start
    assert int(boxes["end"].to_numpy().max()) * timeline["unit"] == pytest.approx((last - first) / 1e9)
    return boxes


def test_a_short_run_has_a_box_per_call_and_an_arrow_per_message(late_ring: Path, page_file: Path) -> None:
    timeline = run_of(page_file)["timeline"]
    with haloscope.open(late_ring) as profile:
        boxes = check_boxes(timeline, profile)
        assert len(boxes) == len(profile.trace().calls)
        assert timeline["shortest"] == 0
    messages = timeline["messages"]
    assert (len(columns(messages)), messages["left_out"]) == (3 * 20, 0)


def exchanges(rounds: int, longest: int) -> Draft:
    """Two ranks that post a receive, send to each other, compute (up to `longest` ns), and wait."""
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
        begin = at + random.integers(1000, longest, 2)
        wait = begin + 400 + random.integers(0, longest // 2, 2)
        at = np.maximum(wait, begin[::-1] + 2100) + 50
        times[:, turn, 0] = np.column_stack([begin, begin + 50])
        times[:, turn, 1] = np.column_stack([begin + 100, begin + 300])
        times[:, turn, 2] = np.column_stack([wait, at])
    return traced_draft(symbols, [of_rank.reshape(-1, 2) for of_rank in times])


@pytest.mark.long
def test_a_long_run_has_a_bounded_page(read: Callable[[Draft], Profile], tmp_path: Path) -> None:
    """A page has about 2^20 boxes, 300 000 messages, and 1000 points of run time by latency at most."""
    rounds = 180_000
    profile = read(exchanges(rounds, 20_000))  # under 4.3 s, whose times have no rounding
    explain.report(profile.path, tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 25_000_000
    run = run_of(tmp_path / "page.html")
    boxes = check_boxes(run["timeline"], profile)
    assert len(boxes) <= 1 << 20 < run["timeline"]["calls"] == 6 * rounds
    assert run["timeline"]["shortest"] > 0
    messages = run["timeline"]["messages"]
    kept = columns(messages)
    assert (len(kept), messages["left_out"]) == (300_000, 2 * rounds - 300_000)
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
        with page.expect_download() as download:
            page.locator("section", has=page.locator("#kinds-table")).locator(".csv").click()
        shown_kinds = pl.read_csv(download.value.path())
        assert dict(shown_kinds.select("kind", "time").iter_rows()) == pytest.approx(
            dict(waits.select("kind", "time_total").iter_rows())
        )
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


def test_the_timeline_has_all_calls(late_ring: Path, page_file: Path, page: Page) -> None:
    calls = run_of(page_file)["timeline"]["calls"]
    told = page.locator("#timeline-source").inner_text()
    assert told.startswith(f"{calls} of {calls} calls are in view.")
    assert "60 messages" in told or "of 60 in view" in told
    with page.expect_download() as download:
        page.click("#timeline > .csv")
    saved = pl.read_csv(download.value.path())
    trace = haloscope.open(late_ring).trace().calls
    assert saved["call"].to_list() == trace["call"].cast(pl.String).to_list()
    assert saved["in MPI, s"].sum() == pytest.approx((trace["end"] - trace["begin"]).sum() / 1e9)
    page.select_option("#region", label="step/halo")
    assert "step/halo" in page.locator("#timeline-legend").inner_text()


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
    ground = "getComputedStyle(document.querySelector('#ranks-plot .main-svg')).backgroundColor"
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
    commands = page.locator("#findings-list code").all_inner_texts()
    assert commands == [
        "haloscope bench noise",
        "haloscope show run.halo --table ranks --region 'step <b>' --exclusive",
    ]
    page.locator("#findings-list .copy").first.click()
    wait_until(page, "document.querySelector('#findings-list .copy').textContent === 'copied'")
    silent = len(RULES) - 1
    assert (
        f"{len(RULES)} rules were checked, {silent} found nothing" in page.locator("#findings").inner_text()
    )
    # There are no call sites in this profile, so no link leads there.
    assert page.locator("#findings-list a").all_inner_texts() == ["Time by rank"]
    page.locator("#findings-list a").click()
    assert page.locator("#region").input_value() == "1"
    assert page.locator("#nesting [aria-pressed=true]").inner_text() == "exclusive"
