"""Each kind of page in a browser: it has no error, fits the window, and both themes colour it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page

from support.page_kinds import KINDS
from support.pages import Look, wait_until

_IS_DRAWN = "![...document.querySelectorAll('[data-waiting]')].some(one => one.dataset.waiting !== '0')"
# Headings of each visible section: its title first, and below it no level is left out.
_HEADINGS = """[...document.querySelectorAll('h1, h2, h3, h4')]
  .filter(one => one.checkVisibility()).map(one => [Number(one.tagName[1]), one.innerText.trim()])"""
# Buttons and figures that leave their card, with their text.
_OUTSIDE = """[...document.querySelectorAll('section')].filter(one => one.checkVisibility()).flatMap(card => {
  const around = card.getBoundingClientRect();
  return [...card.querySelectorAll('button, .plot, table')].filter(part => part.checkVisibility()
    && !part.closest('.scroll')).filter(part => {
      const box = part.getBoundingClientRect();
      return box.bottom > around.bottom + 1 || box.right > around.right + 1 || box.left < around.left - 1;
    }).map(part => card.id + ': ' + part.className + part.innerText);
})"""
_GROUND = "getComputedStyle(document.body).backgroundColor"


def _is_dark(page: Page) -> bool:
    return max(map(int, str(page.evaluate(_GROUND))[4:-1].split(","))) < 100


def _check(page: Page, width: int, scheme: str, folder: Path) -> None:
    wait_until(page, f"document.documentElement.dataset.theme === '{scheme}'")
    wait_until(page, _IS_DRAWN)
    assert _is_dark(page) == (scheme == "dark")
    wait_until(page, "document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("innerWidth") == width
    headings = page.evaluate(_HEADINGS)
    levels = [level for level, _ in headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below <= above + 1 for above, below in pairwise(levels)), headings
    assert all(text for _, text in headings)
    wait_until(page, f"{_OUTSIDE}.length === 0")
    # Pages are sent to others.
    assert str(folder) not in page.locator("body").inner_text()


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_page(look: Look, kind: str, tmp_path: Path) -> None:
    """It is loaded once, as that takes most of the time. Half of the kinds begin narrow and dark."""
    file = KINDS[kind](tmp_path)
    sides: list[tuple[int, Literal["light", "dark"]]]
    sides = [(1400, "light"), (1400, "dark"), (700, "dark"), (700, "light")]
    if list(KINDS).index(kind) % 2:
        sides = [*sides[2:], *sides[:2]]
    page = look(file, *sides[0])
    for width, scheme in sides:
        page.set_viewport_size({"width": width, "height": 1000})
        page.emulate_media(color_scheme=scheme)
        _check(page, width, scheme, tmp_path)
