"""The page of a comparison, in a browser: no error, nothing fetched, both themes, within the window."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import haloscope
from support.pages import Look
from support.repeated_runs import repeated_run

EVIL = "<img src=x onerror=alert(1)>&amp;\u202e"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("compared")
    random = np.random.default_rng(3)
    sides: list[list[Path]] = []
    for messages, slower in ((400, 1.0), (500, 1.3)):
        side = []
        for index in range(3):
            run = repeated_run(random, 0.02, slower, messages=messages)
            run.tables["paths"]["name"][1] = EVIL
            side.append(run.write(directory / f"{messages}-{index}.halo"))
        sides.append(side)
    haloscope.compare(sides[0], sides[1], output=directory / "page.html")
    return directory / "page.html"


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (700, "dark")])
def test_the_page(look: Look, page_file: Path, width: int, scheme: Literal["light", "dark"]) -> None:
    page = look(page_file, width, scheme)
    page.wait_for_selector("#sections[data-waiting='0']")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sections = page.locator("section").evaluate_all("all => all.map(one => one.id)")
    assert sections == ["answer", "counts", "times", "where"]
    assert "messages sent 400 → 500" in page.locator("#answer").inner_text()
    assert page.locator("img").count() == 0
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    drawn = page.evaluate("getComputedStyle(document.querySelector('.main-svg')).backgroundColor")
    assert (max(map(int, ground[4:-1].split(","))) < 100) == (scheme == "dark")
    assert (max(map(int, drawn[4:-1].split(",")[:3])) < 100) == (scheme == "dark")
    assert page.locator("h1").inner_text().startswith("Messages grew by 25 %; B takes ")
    # One row per region, and one point per run.
    assert page.locator("#counts tbody tr").count() == 1
    assert "400 → 500 (+25 %)" in page.locator("#counts tbody").inner_text()
    assert page.locator("#times .plot").first.locator(".point").count() == 6 + 2
    first = page.locator("#times tbody tr td:nth-child(3)")
    page.locator("#times th:nth-child(3)").click()
    order = [float(text.split()[0]) for text in first.all_inner_texts() if text.endswith(" ms")]
    assert len(order) > 2
    assert order == sorted(order, reverse=True)
