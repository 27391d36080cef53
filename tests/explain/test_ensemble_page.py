"""The page about many runs, in a browser: its numbers are those of the frames, and no name is code."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page

import haloscope
from haloscope import ProfileError, UsageError
from haloscope.explain import ensembles
from haloscope.explain.ensembles import Speeds
from support.pages import Look, page_data
from support.profiles import draft, path_rows, process_rows
from support.sample import halo_profile

EVIL = "<img src=x onerror=alert(1)>&amp;\u202e"
GRIDS = ((1, 1, 1), (2, 1, 1), (2, 2, 1), (2, 2, 2), (4, 2, 2))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs each on 1 to 16 ranks, of a program and with a region of bad names."""
    folder = tmp_path_factory.mktemp("runs")
    paths = []
    for number, grid in enumerate(GRIDS):
        for turn in (0, 1):
            written = halo_profile(grid, seed=2 * number + turn)
            names = [EVIL if name == "level 1" else name for name in written.tables["paths"]["name"]]
            written.tables["paths"] = {**written.tables["paths"], "name": names}
            written.info |= {"program": EVIL, "metadata": {EVIL: str(number), "nx": str(8 * number)}}
            paths.append(written.write(folder / f"run-{number}-{turn}.halo"))
    return paths


def drawn(page: Page) -> None:
    for place in ("sections", "region-sections"):
        page.wait_for_selector(f"#{place}[data-waiting='0']", state="attached")


@pytest.fixture(scope="module")
def page_file(runs: list[Path]) -> Path:
    """The page of all runs, with a machine model."""
    file = runs[0].with_name("page.html")
    haloscope.report(runs, file, machine=Speeds(EVIL, lambda size: 1e-6 + size * 1e-9))
    return file


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (700, "dark")])
def test_the_page(
    look: Look, runs: list[Path], page_file: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    page = look(page_file, width, scheme)
    drawn(page)
    assert "10 runs" in page.title()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("body img, body b").count() == 0
    assert page.locator("#runs tbody tr").count() == 10
    # One rank has no partner, which is no reason for a warning.
    assert page.locator("#warnings").inner_text() == ""
    assert page.locator("section").first.get_attribute("id") == "scaling"
    assert page.locator("#scaling tbody tr").count() == 5
    assert "on 160 ranks (10 times the largest run)" in page.locator("#laws").inner_text()
    frame = ensembles.totals(haloscope.open_all(runs)).frame
    shown = page.locator("#totals tbody tr td:nth-child(5)").all_inner_texts()
    assert shown == [str(round(sends)) for sends in frame["sends"]]
    page.select_option("#region", label="solve")
    drawn(page)
    bars = page.evaluate("[...document.querySelectorAll('#times .plot')].at(-1).data.map(t => t.y)")
    assert [sum(parts) for parts in zip(*bars, strict=True)] == pytest.approx([100.0] * 5)
    speeds = page.locator("#sizes tbody tr td:nth-child(7)").all_inner_texts()
    assert len(speeds) >= 4
    assert all(text.endswith("B/s") for text in speeds)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (max(map(int, ground[4:-1].split(","))) < 100) == (scheme == "dark")


def test_figures_against_metadata_of_the_program(runs: list[Path], tmp_path: Path) -> None:
    haloscope.report(runs, tmp_path / "page.html", against="nx", by=EVIL)
    data = page_data(tmp_path / "page.html")
    figures = {figure["title"]: figure for figure in data["regions"][0]["sections"][0]["figures"]}
    lines = figures["Time per rank"]["traces"]
    assert sorted({x for line in lines for x in line["x"]}) == [0, 8, 16, 24, 32]
    with pytest.raises(UsageError, match="no run has the column 'ny'"):
        haloscope.report(runs, tmp_path / "page.html", against="ny")


def test_the_page_leaves_out_unreadable_runs(runs: list[Path], tmp_path: Path) -> None:
    bad, silent, lacking = (tmp_path / name for name in ("bad.halo", "silent.halo", "lacking.halo"))
    bad.write_bytes(runs[0].read_bytes()[:-1])
    hosts = process_rows("a", "a")
    ranks = [{"path": 0, "rank": rank, "instances": 1, "time": 1.0} for rank in (0, 1)]
    draft({"program": "other"}, paths=path_rows(), processes=hosts, ranks=ranks).write(silent)
    draft({"missing_ranks": [1]}, paths=path_rows(), processes=hosts[:1], ranks=ranks[:1]).write(lacking)
    page = tmp_path / "page.html"
    haloscope.report([bad, *runs, silent, lacking], page)
    notes = page_data(page)["notes"]
    for part in (
        f"left out: {tmp_path.name}/bad.halo: the profile is damaged",
        f"left out of all figures: {tmp_path.name}/lacking.halo: 1 of 2 ranks is missing",
        "runs of different programs: ",
        f"no messages and no collectives: {tmp_path.name}/silent.halo",
    ):
        assert sum(note.startswith(part) for note in notes) == 1, notes
    before = page.read_bytes()
    with pytest.raises(ProfileError, match=r"bad\.halo"):
        haloscope.report([bad, tmp_path / "none.halo"], page)
    assert page.read_bytes() == before


def test_sound_runs_have_no_remarks(runs: list[Path], tmp_path: Path) -> None:
    haloscope.report(runs[2:], tmp_path / "page.html")
    assert page_data(tmp_path / "page.html")["notes"] == []


@pytest.mark.long
def test_many_curves_do_not_cover_figures(look: Look, tmp_path: Path) -> None:
    """Eight programs, as in a campaign: no legend covers a figure, and no title is longer than its axis."""
    names = [f"program-{number}/system/variant" for number in range(8)]
    for name in names:
        for place, grid in enumerate(GRIDS[:2]):
            written = halo_profile(grid)
            written.info |= {"program": name}
            written.write(tmp_path / f"{name.partition('/')[0]}-{place}.halo")
    haloscope.report(sorted(tmp_path.glob("*.halo")), tmp_path / "page.html")
    page = look(tmp_path / "page.html")
    drawn(page)
    boxes = page.evaluate(
        """[...document.querySelectorAll('#region-sections .js-plotly-plot')]
          .filter(plot => plot.querySelectorAll('.legend .traces').length >= 8)
          .filter(plot => plot.querySelector('.ytitle') !== null)
          .map(plot => [['legend', '.legend'], ['title', '.ytitle'], ['ground', '.nsewdrag']].map(
            ([name, which]) => [name, plot.querySelector(which).getBoundingClientRect()]))
          .map(found => Object.fromEntries(found.map(([name, box]) => [name, [box.top, box.bottom]])))"""
    )
    assert len(boxes) >= 6
    for box in boxes:
        assert box["legend"][1] <= box["ground"][0] + 1
        assert box["ground"][0] - 8 <= box["title"][0] < box["title"][1] <= box["ground"][1] + 8
