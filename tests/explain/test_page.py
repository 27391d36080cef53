"""The page of a run as readers see it: sections and links, the timeline, the node map."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from haloscope import explain
from support.pages import Look, page_data, page_text, wait_until
from support.profiles import Draft, columns_of, process_rows
from support.sample import halo_profile
from support.traced_drafts import CALL, ENTER, LEAVE, WORLD, symbol, traced_draft

ROUNDS = 20
GUTTER, ROW = 68, 40  # pixels of the timeline
WHITE, PALE, ORANGE = [255, 255, 255], [203, 211, 219], [213, 94, 0]
ALL = ["Overview", "Timeline", "Regions", "Ranks", "Messages", "Waiting", "Source", "Run"]


def late_sender() -> Draft:
    """Every millisecond rank 0 waits from 1 µs to 900 µs for a message, which rank 1 sends after 800 µs."""
    message = {"communicator": WORLD, "partner": 1, "tag": 5, "size": 8, "path": 1}
    symbols = [
        symbol(0, CALL, call="MPI_Recv", action=3, **message),
        symbol(1, CALL, call="MPI_Send", action=1, bytes=8, **message),
    ]
    turns = 1_000_000 * np.arange(ROUNDS)
    times = [turns[:, None] + np.array(span) for span in ((1000, 900_000), (800_000, 850_000))]
    written = traced_draft(symbols, times, orders=[[0] * ROUNDS, [1] * ROUNDS])
    written.info |= {"command": "mpiexec -n 2 /project/code/bin/app", "duration": 0.02, "program": "app"}
    written.info["environment"] = {"HALOSCOPE_OUTPUT": "/scratch/code/run.halo"}
    rank = {"instances": 1, "time": 0.02, "p2p_time": 0.018, "wait_time": 0.016}
    rows = [{"path": path, "rank": of, **rank} for path in range(2) for of in range(2)]
    pair = {"path": 1, "rank": 1, "partner": 0, "sends": ROUNDS, "bytes_sent": 8 * ROUNDS, "time": 0.001}
    site = {"path": 1, "stack": "1+10", "ranks": 1, "calls": ROUNDS, "bytes": 0, "time_squares": 1e-4}
    more: dict[str, list[dict[str, Any]]] = {
        "ranks": rows,
        "partners": [pair],
        "sites": [{**site, "call": "MPI_Recv", "time_total": 0.018}],
        "modules": [{"module": "1", "file": "/project/code/bin/app", "is_program": 1}],
        "symbols": [
            {"module": "1", "offset": 16, "function": "halo", "file": "/project/code/halo.c", "line": 9}
        ],
    }
    for table, added in more.items():
        written.tables[table] = columns_of(table, added)
    return written


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = late_sender().write(tmp_path_factory.mktemp("page") / "run.halo")
    explain.report(path, path.with_suffix(".html"))
    return path.with_suffix(".html")


@pytest.fixture(scope="module")
def opened(traced: Path, browser: Browser) -> Iterator[Page]:
    look = Look(browser)
    page = look(traced)
    # Wheel events right after a scroll of the page belong to the page.
    page.locator("#timeline").scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    yield page
    look.check()


@pytest.fixture
def page(opened: Page) -> Page:
    """The page of `late_sender`, with the whole run in its timeline."""
    opened.locator("#timeline-search").fill("")
    opened.click("#timeline-colours >> text=kinds of calls")
    opened.focus("#timeline-plot")
    opened.keyboard.press("Escape")
    opened.keyboard.press("Home")
    wait_until(opened, f"{text_of('timeline-source')}.startsWith('{2 * ROUNDS} of {2 * ROUNDS} calls are')")
    return opened


def text_of(element: str) -> str:
    return f"document.getElementById('{element}').textContent"


def place_of(page: Page, rank: int, milliseconds: float, below: int = 28) -> tuple[float, float]:
    """The place in the timeline's canvas of a time of the whole run, `below` the top of the rank's row."""
    length = ROUNDS - 0.1 - 0.001  # from the first begin to the last end
    width = page.evaluate("document.getElementById('timeline-canvas').clientWidth") - GUTTER
    return GUTTER + (milliseconds - 0.001) / length * width, rank * ROW + below


def colour_at(page: Page, rank: int, milliseconds: float) -> list[int]:
    x, y = place_of(page, rank, milliseconds)
    # A copy, as Chromium complains about canvases that are drawn and read.
    read = (
        "([x, y]) => { const copy = document.createElement('canvas')"
        ".getContext('2d', {willReadFrequently: true});"
        " copy.drawImage(document.getElementById('timeline-canvas'), -x, -y);"
        " return Array.from(copy.getImageData(0, 0, 1, 1).data); }"
    )
    found: list[int] = page.evaluate(read, [round(x), y])
    return found[:3]


def click_call(page: Page, rank: int, milliseconds: float) -> str:
    x, y = place_of(page, rank, milliseconds)
    page.locator("#timeline-canvas").click(position={"x": x, "y": y})
    return page.locator("#timeline-call").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 700])
def test_links_lead_to_each_section(
    traced: Path, look: Look, width: int, scheme: Literal["light", "dark"]
) -> None:
    page = look(traced, width, scheme)
    assert page.locator("#links a").all_inner_texts() == ALL
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # The timeline follows the findings.
    assert page.evaluate("document.querySelector('#findings ~ main > *').id") == "timeline"
    assert page.evaluate("document.getElementById('timeline-canvas').clientHeight") >= 2 * ROW
    for link in page.locator("#links a").all():
        target = page.locator(str(link.get_attribute("href")))
        link.click()
        bar = page.evaluate("document.querySelector('nav').getBoundingClientRect()")
        top = target.evaluate("place => place.getBoundingClientRect().top")
        last = page.evaluate("scrollY + innerHeight >= document.documentElement.scrollHeight - 1")
        assert bar["height"] <= top or link.inner_text() == "Overview"
        assert top <= bar["height"] + 40 or last


def test_sections_without_data_have_no_link(look: Look, tmp_path: Path) -> None:
    explain.report(halo_profile((2, 2, 2)).write(tmp_path / "run.halo"), tmp_path / "page.html")
    page = look(tmp_path / "page.html", 700)
    assert page.locator("#links a").all_inner_texts() == ["Overview", "Regions", "Ranks", "Messages", "Run"]
    assert not page.locator("#timeline").is_visible()
    assert "Paper:" not in page_text(tmp_path / "page.html")


def test_computing_and_waiting_are_filled(page: Page) -> None:
    assert colour_at(page, 0, 4.4) == ORANGE
    assert colour_at(page, 1, 4.4) == PALE
    assert colour_at(page, 1, 0.4) == WHITE  # before its first call
    assert page.locator("#timeline-legend li").all_inner_texts() == [
        "compute",
        "waiting in MPI",
        "point-to-point",
    ]
    page.click("#timeline-colours >> text=regions")
    assert "other MPI" in page.locator("#timeline-legend").inner_text()


def test_a_click_shows_a_call(page: Page) -> None:
    told = click_call(page, 0, 4.4)
    assert "MPI_Recv on rank 0, 899 µs, waiting 799 µs for rank 1: late sender" in told
    assert "from rank 1, 8 B" in told
    assert "halo.c:9 halo" in told
    assert "begins before" not in told
    page.locator("#timeline-call .help button").click()
    assert "until the sender begins to send" in page.locator("#timeline-call").inner_text()
    told = click_call(page, 1, 4.825)
    assert "MPI_Send on rank 1, 50.0 µs" in told
    assert "to rank 0, 8 B" in told
    assert "waiting" not in told
    assert "source" not in told  # the profile has no line of this function
    page.focus("#timeline-plot")
    page.keyboard.press("Escape")
    assert not page.locator("#timeline-call").is_visible()


def test_the_timeline_zooms_and_names_its_times(page: Page) -> None:
    page.evaluate(
        "(() => { const pen = CanvasRenderingContext2D.prototype, old = pen.fillText; window.texts = [];"
        " pen.fillText = function (text, ...at) { texts.push(text); old.call(this, text, ...at); }; })()"
    )
    source = text_of("timeline-source")
    assert "narrower than a pixel" not in page.locator("#timeline-source").inner_text()
    for key, shown in (("w", "fewer"), ("w", "fewer"), ("d", "fewer"), ("s", "fewer"), ("Home", "all")):
        page.keyboard.press(key)
        is_all = f"{source}.startsWith('{2 * ROUNDS} of')"
        wait_until(page, is_all if shown == "all" else f"!{is_all}")
    x, y = place_of(page, 0, 4.4)
    page.locator("#timeline-canvas").hover(position={"x": x, "y": y})
    assert "MPI_Recv on rank 0" in page.locator("#timeline-tip").inner_text()
    page.evaluate("texts.length = 0")
    for _ in range(40):
        page.mouse.wheel(0, -100)
    wait_until(page, f"{source}.startsWith('1 of')")
    wait_until(page, "texts.some(text => /^\\+\\d+ (ns|µs)$/.test(text))")
    assert ", + after 0.00" in page.locator("#timeline-axis").inner_text()
    page.locator("#timeline-map").click(position={"x": 5, "y": 5})
    wait_until(page, f"!{text_of('timeline-axis')}.includes('after 0.004')")
    page.keyboard.press("Home")


def test_arrows_thin_out(page: Page) -> None:
    assert f"{ROUNDS} messages as arrows" in page.locator("#timeline-source").inner_text()
    page.set_viewport_size({"width": 300, "height": 1000})
    thinner = (
        f"{text_of('timeline-source')}.match(/slowest message per 64 pixels and sender, (\\d+) of {ROUNDS}/)"
    )
    wait_until(page, f"{thinner} !== null")
    assert int(page.evaluate(f"{thinner}[1]")) <= 4
    page.uncheck("#timeline-messages")
    wait_until(page, f"!{text_of('timeline-source')}.includes('arrows')")
    page.check("#timeline-messages")
    page.set_viewport_size({"width": 1400, "height": 1000})
    page.wait_for_timeout(500)


def test_a_trace_without_calls_says_so(look: Look, tmp_path: Path) -> None:
    region = [symbol(0, ENTER, path=1), symbol(1, LEAVE, path=1)]
    none = traced_draft(region, [np.array([[100, 100], [200, 200]])] * 2, orders=[[0, 1]] * 2)
    explain.report(none.write(tmp_path / "run.halo"), tmp_path / "page.html")
    page = look(tmp_path / "page.html")
    assert page.locator("#timeline-source").inner_text() == "The trace has no calls of MPI."
    assert not page.locator("#timeline-search").is_visible()


def test_the_timeline_is_searched(page: Page) -> None:
    found = page.locator("#timeline-found")
    page.fill("#timeline-search", "nosuch")
    assert found.inner_text() == "no call"
    assert colour_at(page, 0, 4.4) != ORANGE
    page.fill("#timeline-search", "send")
    assert found.inner_text() == f"{ROUNDS} calls; Enter: next"
    for milliseconds in ("0.8", "1.8"):
        page.press("#timeline-search", "Enter")
        told = page.locator("#timeline-call").inner_text()
        assert "MPI_Send on rank 1" in told
        assert f"{float(milliseconds) / 1000:g} s" in told
    wait_until(page, f"{text_of('timeline-source')}.includes('Each is shown')")


def test_kinds_of_waiting_are_explained(page: Page) -> None:
    table = page.locator("#kinds-table")
    assert "late sender" in table.inner_text()
    assert "late_sender" not in table.inner_text()
    assert "late receiver" not in table.inner_text()
    said = table.locator("tr", has_text="late sender").locator(".said")
    assert not said.is_visible()
    table.locator("tr", has_text="late sender").locator(".help button").click()
    assert "not sent when the call began" in said.inner_text()


def test_the_page_has_no_folders_and_few_keys(traced: Path, page: Page) -> None:
    assert page.locator("#command").inner_text() == "mpiexec -n 2 …/app"
    for folder in ("/project/code", "/scratch/code"):
        assert folder not in page_text(traced)
    assert page.locator("#about dt").count() <= 10
    assert not page.locator("#about-more dl").is_visible()
    page.click("#about-more summary")
    assert "…/run.halo" in page.locator("#about-more dl").inner_text()
    assert traced.stat().st_size < 1_000_000


def many_messages(ranks: int, calls: int) -> Draft:
    """Every microsecond each rank sends to the next one, for 0.1 µs, and no rank receives."""
    message = {"communicator": WORLD, "partner": 1, "tag": 5, "size": 8, "ranks": ranks}
    begin = 1000 * np.arange(calls)
    return traced_draft(
        [symbol(0, CALL, call="MPI_Send", action=1, **message)],
        [np.column_stack([begin, begin + 100])] * ranks,
    )


def test_a_timeline_of_many_ranks_states_what_it_joins(look: Look, tmp_path: Path) -> None:
    explain.report(many_messages(3000, 40).write(tmp_path / "run.halo"), tmp_path / "page.html")
    page = look(tmp_path / "page.html")
    told = page.locator("#timeline-source").inner_text()
    assert told.startswith("560 of 120000 calls of 14 of 3000 ranks are in view. Each is shown.")
    assert "no details" not in told
    assert "faster messages" not in told
    page.set_viewport_size({"width": 300, "height": 900})
    wait_until(page, f"{text_of('timeline-source')}.includes('560 of them are narrower than a pixel')")
    page.focus("#timeline-plot")
    page.keyboard.press("PageDown")
    page.locator("#timeline-map").click(position={"x": 5, "y": 90})
    wait_until(page, f"{text_of('timeline-source')}.startsWith('560 of')")


def on_nodes(names: list[str], sockets: list[str] | None = None) -> Draft:
    """A halo exchange of ranks on these hosts."""
    shape = {1: (1, 1, 1), 8: (2, 2, 2), 12: (3, 2, 2)}[len(names)]
    written = halo_profile(shape)
    written.tables["processes"] = columns_of("processes", process_rows(*names))
    if sockets:
        bound = dict.fromkeys(("sockets", "cpus", "numa_nodes"), sockets)
        written.tables["processes"] = {**written.tables["processes"], **bound}
    return written


def test_matrices_have_numbers_and_the_order_of_nodes(look: Look, tmp_path: Path) -> None:
    plot = "document.getElementById('matrix-plot')"

    def show(names: list[str], sockets: list[str] | None = None) -> Page:
        path = on_nodes(names, sockets).write(tmp_path / "run.halo")
        explain.report(path, tmp_path / "page.html")
        return look(tmp_path / "page.html")

    page = show(["a"] * 8)
    assert page.locator("#nodes-text").inner_text().startswith("All ranks are on one node, a: all ")
    assert not page.locator("#nodes-map").is_visible()
    assert "sockets" not in page.locator("#nodes").inner_text()
    assert page.evaluate(f"{plot}.data[0].text[0][1]") == "5.68 MB"
    assert page.evaluate(f"{plot}.layout.shapes") == []

    page = show(["a", "b", "c"] * 4, [str(rank // 3 % 2) for rank in range(12)])
    assert not page.locator("#nodes-text").is_visible()
    assert page.evaluate(f"{plot}.data[0].text") is None
    assert page.evaluate(f"{plot}.data[0].y") == [
        str(rank) for node in range(3) for rank in range(node, 12, 3)
    ]
    assert [shape["x0"] for shape in page.evaluate(f"{plot}.layout.shapes")][::2] == [3.5, 7.5]
    pairs = explain.open(tmp_path / "run.halo").table("partners", region="<program>")
    cells = page.evaluate("document.getElementById('nodes-plot').data[0].customdata")
    for row, sent in enumerate(cells):
        for column, cell in enumerate(sent):
            here = (pairs["rank"] % 3 == row) & (pairs["partner"] % 3 == column)
            assert cell == pairs.filter(here)["bytes_sent"].sum()
    apart = (
        (pairs["rank"] % 3 == 0) & (pairs["partner"] % 3 == 0) & (pairs["rank"] % 2 != pairs["partner"] % 2)
    )
    assert page.locator("#nodes-source").inner_text() == "Source: partners and binding, inclusive."
    first = page_data(tmp_path / "page.html")["nodes"]["nodes"][0]
    assert first["sockets"] == ["socket 0: ranks 0, 6", "socket 1: ranks 3, 9"]
    shown = page.locator("#nodes-table tbody tr").first.locator("td").all_inner_texts()
    assert shown[0] == "a"
    assert shown[4] == page.evaluate(
        "bytes => (bytes / 1e3).toFixed(0) + ' kB'", pairs.filter(apart)["bytes_sent"].sum()
    )
