"""The documentation as a site: built without a warning, whole, and complete without a network."""

from __future__ import annotations

import json
import re
import sys
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest

from support.limits import HANG
from support.mpi import CHECKOUT
from support.processes import run_program

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DOCS = CHECKOUT / "docs"
REFERENCE = re.compile(r'(?:src|href)="([^"]+)"')
NAMED = re.compile(r'\b(?:id|name)="([^"]+)"')
# A list after a table without an empty line is rows; an example out of its section is a quotation.
UNFORMATTED = re.compile(r"<(?:td|p|li)>\s*(?:[*-] |\||&gt;&gt;)[^<]*|<blockquote>")
LOADED = re.compile(r'<(?:script|img|link|iframe)[^>]*\b(?:src|href)="((?:https?:)?//[^"]+)"')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(directory)]
    assert "WARNING -" not in run_program(words, cwd=CHECKOUT).stderr
    return directory


def test_every_page_is_in_the_navigation(site: Path) -> None:
    """Each page has a line in the `nav` of mkdocs.yml, and becomes a page of the site."""
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert len(pages) > 50
    listed = re.findall(r"^ +- (?:[^:\n]+: )?(\S+\.md)$", (CHECKOUT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert pages - set(listed) == set()
    for name in listed:
        made = Path(name).with_suffix(".html")
        made = made.with_name("index.html") if made.stem == "README" else made
        assert (site / made).is_file(), made
    assert "I want to" in (site / "index.html").read_text()


def test_every_link_and_anchor_leads_somewhere_in_the_site(site: Path) -> None:
    """Or to another site, which is not asked."""
    texts = {page.resolve(): page.read_text() for page in site.rglob("*.html")}
    named = {page: set(NAMED.findall(text)) for page, text in texts.items()}
    broken, links = [], 0
    for page, text in texts.items():
        for link in REFERENCE.findall(text):
            parts = urlsplit(unescape(link))
            if parts.scheme or parts.netloc or page.name == "404.html":
                continue
            links += 1
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file() or (
                parts.fragment and unquote(parts.fragment) not in named.get(target, {parts.fragment})
            ):
                broken.append(f"{page.relative_to(site.resolve())}: {link}")
    assert broken == []
    assert links > 1000


def test_no_markdown_is_left_in_a_page(site: Path) -> None:
    pages = {page.name: page.read_text() for page in site.rglob("*.html")}
    assert {name: UNFORMATTED.findall(text) for name, text in pages.items() if UNFORMATTED.search(text)} == {}


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    assert {found for page in site.rglob("*.html") for found in LOADED.findall(page.read_text())} == set()


def test_the_search_works_from_a_disk(site: Path, browser: Browser) -> None:
    page = browser.new_page()
    page.set_default_timeout(1000 * HANG)
    page.goto((site / "how-to" / "launchers.html").as_uri())
    page.click("input.md-search__input")
    page.keyboard.type("flame graph")
    # The first results are those of a part of the words.
    page.wait_for_selector('.md-search-result__link[href*="source-lines"]', state="attached")


def test_the_search_knows_all_pages(site: Path) -> None:
    found = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    pages = {entry["location"].partition("#")[0] for entry in found}
    assert {"reference/run.html", "design.html", "tutorial/index.html"} <= pages
