"""The page in a real browser: it draws, stays offline, and no name becomes code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from haloscope import OutputError, ProfileError, UsageError, explain
from haloscope.explain import Profile
from support.pages import Look, hover_bar, page_data, plotted, wait_until
from support.profiles import Draft, columns_of, draft, path_rows, process_rows
from support.sample import halo_profile

HOSTILE = "<img src=x onerror=alert(1)></script><b>bold</b> %{x} {{data}} $& é"


RANKS = 12


def marks(page: Page, figure: str, mark: str) -> int:
    return page.locator(f"#{figure} {mark}").count()


def slices(ranks: int, count: int = 20) -> list[dict[str, Any]]:
    """Slices of ranks that wait longer the higher their number is, from half of the time on."""
    return [
        {
            "rank": rank,
            "slice": number,
            "start": 0.5 * number,
            "duration": 0.5,
            "p2p_time": 0.1,
            "coll_time": 0.2,
            "wait_time": 0.2 * rank / ranks if number >= count / 2 else 0.0,
        }
        for rank in range(ranks)
        for number in range(count)
    ]


def with_slices(written: Draft, rows: list[dict[str, Any]]) -> Draft:
    written.tables["slices"] = columns_of("slices", rows)
    return written


def with_sites(written: Draft, name: str = "solve()") -> Draft:
    """Add calls of two regions from three lines of source, one of them through a library."""
    places = [
        (0x10, "main", "/src/main.cpp", 5),
        (0x20, name, "/src/solve.cpp", 40),
        (0x30, "halo(int)", "/src/halo.cpp", 9),
    ]
    rows = [
        (1, "1+20\n1+10", "MPI_Allreduce", 3.0),
        (1, "2+99\n1+30\n1+20\n1+10", "MPI_Waitall", 5.0),
        (2, "1+30\n1+10", "MPI_Waitall", 2.0),
    ]
    sites = [
        {
            "path": path,
            "stack": stack,
            "call": call,
            "ranks": 2,
            "calls": 4,
            "bytes": 8,
            "time_total": time,
            "time_squares": time**2,
        }
        for path, stack, call, time in rows
    ]
    modules: list[dict[str, Any]] = [
        {"module": "1", "file": "/bin/cg", "is_program": 1},
        {"module": "2", "file": "/lib/libpetsc.so.3"},
    ]
    symbols: list[dict[str, Any]] = [
        {"module": "1", "offset": at, "function": f, "file": file, "line": line}
        for at, f, file, line in places
    ]
    symbols.append({"module": "2", "offset": 0x99, "function": "VecScatterEnd"})
    tables: dict[str, list[dict[str, Any]]] = {"sites": sites, "modules": modules, "symbols": symbols}
    for table, more in tables.items():
        written.tables[table] = columns_of(table, more)
    return written


@pytest.fixture
def show(look: Look, tmp_path: Path) -> Callable[[Draft], Page]:
    """`show(draft)` writes the page about a profile and opens it."""

    def open_page(written: Draft) -> Page:
        explain.report(written.write(tmp_path / "run.halo"), tmp_path / "report.html")
        return look(tmp_path / "report.html")

    return open_page


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A profile with all data that a page shows for a run without a trace."""
    written = with_slices(with_sites(halo_profile((3, 2, 2), ranks_a_host=4)), slices(RANKS))
    return written.write(tmp_path_factory.mktemp("report") / "run.halo")


@pytest.fixture(scope="module")
def opened(profile: Path, browser: Browser) -> Iterator[Page]:
    """Its page, opened once for all tests, as that takes seconds."""
    explain.report(profile, profile.with_suffix(".html"))
    look = Look(browser)
    yield look(profile.with_suffix(".html"))
    look.check()


@pytest.fixture
def page(opened: Page) -> Page:
    """The page in its initial state."""
    opened.select_option("#region", index=0)
    opened.click("#nesting >> text=inclusive")
    return opened


def test_all_figures_are_drawn(page: Page) -> None:
    assert page.title() == "cg – Haloscope"
    assert page.locator("#regions-table tbody tr").count() == 8
    assert marks(page, "time-plot", ".bars path") >= 8
    assert marks(page, "ranks-plot", ".bars path") >= RANKS
    assert marks(page, "matrix-plot", "image") == 1
    assert marks(page, "sizes-plot", ".points path") > 5
    assert "mpiexec -n 12 ./cg" in page.locator("#about").inner_text()


def test_the_share_of_mpi_is_that_of_the_table(page: Page, profile: Path) -> None:
    (row,) = explain.open(profile).table("regions", region="<program>").to_dicts()
    share = f"{100 * row['mpi_time_mean'] / row['time_mean']:.1f} %"
    assert share in page.locator("#figures").inner_text()


def test_the_page_begins_with_the_verdict_of_the_summary(page: Page, profile: Path) -> None:
    line = next(line for line in explain.summary(explain.open(profile)) if line.startswith("efficiency: "))
    boxes = page.locator("#efficiency div").all_inner_texts()
    shown = [re.sub(r"\s+", " ", text.lstrip("× ")) for text in boxes]
    assert shown[0].startswith("parallel efficiency = ")
    for text in shown:
        name, rate, sign, grade = text.removeprefix("parallel ").replace(" =", ":").rsplit(" ", 3)
        assert f"{name} {rate} {sign} ({grade})" in line
        assert page.locator(f"#efficiency .{grade}").count()


def test_a_page_of_one_rank_has_no_efficiency(
    read: Callable[[Draft], Profile], look: Look, tmp_path: Path
) -> None:
    rows = [{"path": 0, "rank": 0, "instances": 1, "time": 10.0}]
    alone = read(draft({"ranks": 1}, paths=path_rows(), processes=process_rows("alpha"), ranks=rows))
    explain.report(alone.path, tmp_path / "one.html")
    assert look(tmp_path / "one.html").locator("#efficiency").inner_text() == ""


def test_the_embedded_numbers_are_those_of_the_tables(page: Page, profile: Path) -> None:
    """Sums of the page over nested regions are those of the inclusive tables."""
    page.select_option("#region", label="solve")
    shown = page.evaluate("document.getElementById('matrix-plot').data[0].customdata")
    tables = explain.open(profile)
    expected: list[list[int | None]] = [[None] * RANKS for _ in range(RANKS)]
    for row in tables.table("partners", region="solve").to_dicts():
        expected[row["rank"]][row["partner"]] = row["bytes_sent"] or None
    assert shown == expected
    bars = page.evaluate("document.getElementById('ranks-plot').data.map(t => Array.from(t.y))")
    times = tables.table("ranks", region="solve")["time"].to_list()
    assert [sum(parts) for parts in zip(*bars, strict=True)] == pytest.approx(times, rel=1e-6)
    stems = page.evaluate("document.getElementById('sizes-plot').data.map(t => t.y).flat()")
    assert sorted(stems) == sorted(tables.table("sizes", region="solve")["messages"].to_list())


def test_choices_change_what_is_shown(page: Page) -> None:
    most = "document.getElementById('matrix-plot').data[0].zmax"
    whole = page.evaluate(most)
    page.locator("#regions-table tbody tr", has_text="level 1").first.click()
    assert page.locator("#region").input_value() == "4"
    assert 0 < page.evaluate(most) < whole
    page.click("#nesting >> text=exclusive")
    assert "No point-to-point messages" in page.locator("#matrix-plot").inner_text()
    page.click("#nesting >> text=inclusive")
    page.click("#matrix-measure >> text=messages")
    assert page.evaluate(most) == 50
    page.check("#matrix-log")
    assert page.evaluate(most) == 2
    page.click("#columns >> text=per instance")
    assert "recvs" in page.locator("#regions-table thead").inner_text()
    page.uncheck("#matrix-log")


def test_the_regions_can_be_sorted(page: Page) -> None:
    def first() -> str:
        return page.locator("#regions-table tbody tr td").first.inner_text()

    page.click("#regions-table th:has-text('region')")
    assert first() == "<program>"
    page.click("#regions-table th:has-text('region')")
    assert first().startswith("solve/level 2/halo")
    page.click("#columns button >> nth=0")
    page.click("#regions-table th:has-text('largest')")
    page.click("#regions-table th:has-text('largest')")
    assert first().startswith("solve/level 2")


def test_call_sites_are_a_flame_graph_and_a_table(page: Page) -> None:
    wait_until(page, "document.querySelectorAll('#flames-plot .slice').length > 11")
    labels = [text for text in page.locator("#flames-plot .slicetext").all_text_contents() if text]
    assert {"MPI", "solve", "main", "halo", "VecScatterEnd", "MPI_Waitall", "MPI_Allreduce"} <= set(labels)
    values = page.evaluate(
        "(() => { const t = document.getElementById('flames-plot').data[0];"
        " return t.labels.map((label, i) => [label, t.values[i] / 1e9]); })()"
    )
    assert values[0] == ["MPI", 10]
    assert [value for label, value in values if label == "MPI_Waitall"] == [5, 2]
    rows = page.locator("#sites-table tbody tr").all_inner_texts()
    assert [row.split("\t")[:3] for row in rows] == [
        ["halo.cpp:9 halo", "MPI_Waitall", "8"],
        ["solve.cpp:40 solve", "MPI_Allreduce", "4"],
    ]
    assert [row.split("\t")[4:] for row in rows] == [
        ["7.00 s", "70.0 %", "–"],
        ["3.00 s", "30.0 %", "100.0 %"],
    ]
    page.select_option("#region", index=1)
    page.click("#nesting >> text=exclusive")
    assert page.locator("#sites-table tbody tr").count() == 2
    assert "VecScatterEnd" in "".join(page.locator("#flames-plot .slicetext").all_text_contents())
    page.select_option("#region", index=0)
    assert "No call of this region" in page.locator("#flames-plot").inner_text()


def test_the_history_of_a_run(page: Page) -> None:
    assert marks(page, "history-plot", ".bars path") == 40
    p2p, coll, waiting = plotted(page, "history-plot", "y")
    assert p2p == pytest.approx([0.2] * 20)
    assert coll == pytest.approx([0.4] * 20)
    mean = 0.4 * sum(range(RANKS)) / RANKS**2
    assert waiting == pytest.approx([0.0] * 10 + [mean] * 10)
    (shares,) = plotted(page, "waiting-plot", "z")
    assert [row[5] for row in shares] == [0] * RANKS
    assert [row[15] for row in shares] == pytest.approx(
        [40 * rank / RANKS for rank in range(RANKS)], abs=0.02
    )
    told = page.locator("#history").inner_text()
    assert "Mean over 12 ranks, all threads together, in each cell of 500 ms. Source: slices" in told
    titles = page.locator("#history .xtitle, #history .ytitle").all_text_contents()
    assert titles == [
        "time since MPI_Init, s",
        "time in MPI, s per s, mean over ranks",
        "time since MPI_Init, s",
        "rank",
    ]


def test_nothing_is_wider_than_a_narrow_window(page: Page) -> None:
    for width in (800, 420, 1400):
        page.set_viewport_size({"width": width, "height": 1000})
        wait_until(page, "document.documentElement.scrollWidth <= innerWidth")
        plot = "document.getElementById('matrix-plot')"
        wait_until(page, f"{plot}.layout.width <= {plot}.clientWidth")


def test_hostile_names_are_text(show: Callable[[Draft], Page]) -> None:
    written = with_sites(halo_profile((2, 2, 2)), HOSTILE)
    paths = written.tables["paths"]
    names = [HOSTILE if name == "level 1" else name for name in paths["name"]]
    written.tables["paths"] = {**paths, "name": names}
    written.tables["processes"] = {**written.tables["processes"], "host": [HOSTILE] * 8}
    written.info |= {"program": HOSTILE, "command": HOSTILE + "\n\u202e"}
    page = show(written)
    assert page.title() == f"{HOSTILE} – Haloscope"
    assert page.locator("h1").inner_text() == HOSTILE
    assert page.locator("#command").inner_text() == HOSTILE + "\\n\\u202e"
    assert HOSTILE in page.locator("#about").inner_text()
    cells = page.locator("#regions-table td:first-child").all_text_contents()
    assert cells.count(HOSTILE + "comm") == 1
    assert page.locator("body img, body b").count() == 0
    labels = " ".join(page.locator("#time-plot .ytick text").all_text_contents())
    assert "/b> %{x} {{data}} $& é" in labels
    wait_until(page, "document.querySelectorAll('#flames-plot .slice').length > 11")
    assert any(HOSTILE[:12] in text for text in page.locator("#flames-plot .slicetext").all_text_contents())
    assert HOSTILE in page.locator("#sites-table").inner_text()
    hover = hover_bar(page, "#time-plot", 4)
    # Slashes separate the names of a path, so a slash in a name is escaped.
    assert HOSTILE.replace("/", r"\/") in "".join(hover.all_text_contents())
    assert page.locator("body img, body b").count() == 0


@pytest.mark.parametrize(
    "ranks", [[], [{"path": 0, "rank": 0, "instances": 1, "time": 1.0}]], ids=["none", "one"]
)
def test_an_empty_run_has_a_page(show: Callable[[Draft], Page], ranks: list[dict[str, Any]]) -> None:
    written = draft({"ranks": 1}, paths=path_rows("idle"), processes=process_rows("a"), ranks=ranks)
    page = show(with_slices(written, slices(1, count=1)))
    assert "No point-to-point messages" in page.locator("#matrix-plot").inner_text()
    assert "No messages" in page.locator("#sizes-plot").inner_text()
    told = page.locator("#time-plot").inner_text()
    assert ("No rank recorded its time" in told) == (not ranks)
    assert not page.locator("#sites").is_visible()
    assert not page.locator("#history").is_visible()  # one slice is too few for a history
    page.select_option("#region", label="idle")
    assert "No rank entered" in page.locator("#ranks-plot").inner_text()


@pytest.mark.parametrize(("cpus", "is_named"), [("0", True), ("0-1", False)])
def test_more_ranks_than_cpus_are_a_warning(show: Callable[[Draft], Page], cpus: str, is_named: bool) -> None:
    rows = [{"path": 0, "rank": rank, "instances": 1, "time": 1.0} for rank in range(2)]
    written = draft(paths=path_rows(), processes=process_rows("alpha", "alpha"), ranks=rows)
    written.tables["processes"] = {**written.tables["processes"], "cpus": [cpus] * 2}
    assert ("2 ranks on 1 CPU: counts are exact" in show(written).inner_text("body")) == is_named


def two_ranks(**columns: dict[str, Any]) -> Draft:
    """Ranks that compute for 8 of 10 s, with newer columns of tables."""
    rows = [{"path": 0, "rank": rank, "instances": 1, "time": 10.0, "coll_time": 2.0} for rank in (0, 1)]
    made = draft({}, paths=path_rows(), processes=process_rows("alpha", "beta"), ranks=rows)
    for table, more in columns.items():
        made.tables[table] = {**made.tables[table], **more}
    return made


def rows_of(page: Page, table: str) -> list[list[str]]:
    rows = page.locator(f"#{table} tr").all()
    return [row.locator("th, td").all_inner_texts() for row in rows]


USED = {
    "cpus": ["0-1", "2-3"],
    "cpu_time": [20.0, 15.0],
    "preemptions": [12, 3456],
    "memory_max": [5 << 20, 70 << 20],
}


def test_the_use_of_the_machine_by_each_rank(show: Callable[[Draft], Page]) -> None:
    page = show(two_ranks(processes=USED))
    assert rows_of(page, "usage-table") == [
        ["rank", "host", "CPUs", "CPU time", "CPUs used", "preemptions", "memory"],
        ["0", "alpha", "0-1", "20.0 s", "2.00", "12", "5.24 MB"],
        ["1", "beta", "2-3", "15.0 s", "1.50", "3456", "73.4 MB"],
    ]
    page.click("text=efficiency >> nth=-1")
    assert "OpenMP" not in page.locator("#regions-table").inner_text()


def test_ranks_of_older_profiles_have_no_table(show: Callable[[Draft], Page]) -> None:
    assert not show(two_ranks()).locator("#usage").is_visible()


def test_hybrid_programs_have_efficiencies_of_both(show: Callable[[Draft], Page]) -> None:
    """8 s outside of MPI: 2 s of serial code and 6 s of two threads."""
    times = {"parallel": 6.0, "team": 12.0, "thread": 9.0, "mpi": 0.0, "barrier": 2.4, "imbalance": 2.0}
    threads: dict[str, Any] = {f"omp_{name}_time": [time] * 2 for name, time in times.items()}
    page = show(two_ranks(processes=USED, ranks={"omp_regions": [1, 1], "omp_threads": [2, 2], **threads}))
    first = [re.sub(r"\s+", " ", text) for text in page.locator("#efficiency div").all_inner_texts()]
    assert first == ["parallel efficiency = 55 % poor", "MPI 80 % good", "× OpenMP 69 % fair"]
    assert rows_of(page, "usage-table")[1][-5:] == ["2", "6.00 s", "75.0 %", "20.0 %", "16.7 %"]
    page.click("#columns >> text=efficiency")
    names, values = rows_of(page, "regions-table")
    shown = dict(zip(names, values, strict=True))
    assert [shown[name] for name in ("MPI × OpenMP", "OpenMP", "scheduling")] == [
        "55.0 %",
        "68.8 %",
        "93.8 %",
    ]


def test_empty_messages_and_ranges_are_drawn(show: Callable[[Draft], Page]) -> None:
    sizes = [
        {"path": 0, "kind": "p2p", "bytes": 0, "bytes_upper": 0, "messages": 5},
        {"path": 0, "kind": "p2p", "bytes": 64, "bytes_upper": 127, "messages": 7},
    ]
    page = show(draft(paths=path_rows(), sizes=sizes))
    assert "64–127 bytes" in page.evaluate("document.getElementById('sizes-plot').data[0].customdata.flat()")
    ticks = page.locator("#sizes-plot .xtick text").all_text_contents()
    assert ticks == ["0", "64"]
    page.click("#sizes-measure >> text=time")
    assert "empty or have no times" in page.locator("#sizes-plot").inner_text()


def test_a_long_slice_is_spread_over_its_time(show: Callable[[Draft], Page]) -> None:
    rows = [
        {"rank": 0, "slice": 0, "start": 0.0, "duration": 4.0, "io_time": 4.0},
        {"rank": 0, "slice": 4, "start": 4.0, "duration": 1.0, "io_time": 0.5},
        # Impossible times are not shown.
        {"rank": 0, "slice": 5, "start": float("nan"), "duration": 1.0, "io_time": 1.0},
        {"rank": 0, "slice": 6, "start": 5.0, "duration": float("inf"), "io_time": 1.0},
        {"rank": -1, "slice": 1, "start": -1.0, "duration": 1.0, "io_time": 1.0},
    ]
    page = show(with_slices(halo_profile((1, 1, 1)), rows))
    files, waiting = plotted(page, "history-plot", "y")
    assert files == pytest.approx([1, 1, 1, 1, 0.5])
    assert waiting == [0] * 5
    assert not page.locator("#waiting-plot").is_visible()  # a single rank has no waiting


def test_many_ranks_are_binned_and_the_page_says_so(show: Callable[[Draft], Page], tmp_path: Path) -> None:
    """1100 ranks are more than 1024, so at most 512 bins of three ranks are drawn."""
    page = show(with_slices(halo_profile((11, 10, 10), regions=1, ranks_a_host=1), slices(1100, 4)))
    nodes = page.locator("#nodes-source").inner_text()
    assert "The first 256 of 1100 nodes. Each cell of the figure is the sum over 3 × 3 nodes" in nodes
    assert page.locator("#nodes-table tbody tr").first.locator("td").last.inner_text() == "–"
    assert "sum over 3 × 3 ranks" in page.locator("#matrix-source").inner_text()
    for source in ("#ranks-source", "#waiting-source"):
        assert "mean of 3 neighbouring ranks" in page.locator(source).inner_text()
    cells = page.evaluate("document.getElementById('matrix-plot').data[0].customdata")
    total = explain.open(tmp_path / "run.halo").table("regions", region="<program>")["bytes_sent_total"][0]
    assert len(cells) == 367
    assert sum(value or 0 for row in cells for value in row) == total
    (shares,) = plotted(page, "waiting-plot", "z")
    assert (len(shares), len(shares[0])) == (367, 4)


@pytest.mark.slow
def test_too_many_pairs_are_binned_further(tmp_path: Path) -> None:
    """1024 ranks have more than 400 000 pairs here."""
    path = halo_profile((16, 8, 8), regions=20).write(tmp_path / "run.halo")
    explain.report(path, tmp_path / "report.html")
    matrix = page_data(tmp_path / "report.html")["matrix"]
    assert len(explain.open(path).frame("partners")) > 400_000
    assert (matrix["bin"], matrix["bins"]) == (2, 512)
    assert 0 < matrix["offsets"][-1] <= 400_000


def test_the_page_is_replaced_only_when_whole(tmp_path: Path) -> None:
    good = halo_profile((2, 1, 1)).write(tmp_path / "run.halo")
    bad = tmp_path / "bad.halo"
    bad.write_bytes(good.read_bytes()[:-1])
    page = tmp_path / "a page.html"
    page.write_text("<!DOCTYPE html>before")
    with pytest.raises(ProfileError, match=r"bad\.halo"):
        explain.report([bad], page)
    assert page.read_text() == "<!DOCTYPE html>before"
    explain.report([good], page)
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a page.html", "bad.halo", "run.halo"]


def test_a_page_that_cannot_be_written_names_its_path(tmp_path: Path) -> None:
    good = halo_profile((2, 1, 1)).write(tmp_path / "run.halo")
    with pytest.raises(OutputError, match=r"nowhere/report.html: cannot be written: .*; "):
        explain.report([good], tmp_path / "nowhere" / "report.html")
    with pytest.raises(OutputError, match="is not a file"):
        explain.report([good], tmp_path)
    with pytest.raises(UsageError):
        explain.report([], tmp_path / "report.html")


def test_sums_that_overflow_are_unknown(tmp_path: Path) -> None:
    row = {"path": 0, "rank": 0, "instances": 1, "p2p_time": 1e308, "coll_time": 1e308}
    path = draft(paths=path_rows(), ranks=[row]).write(tmp_path / "run.halo")
    explain.report([path], tmp_path / "report.html")
    run = page_data(tmp_path / "report.html")
    assert run["inclusive"]["mpi_time_mean"] == [None]
