"""The documentation as a site: built without a warning, whole, and complete without a network."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from support.mpi import CHECKOUT

DOCS = CHECKOUT / "docs"
REFERENCE = re.compile(r'(?:src|href)="([^"]+)"')
LOADED = re.compile(r'<(?:script|img|link|iframe)[^>]*\b(?:src|href)="((?:https?:)?//[^"]+)"')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(directory)]
    done = subprocess.run(words, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return directory


def test_every_page_is_there(site: Path) -> None:
    pages = list(DOCS.rglob("*.md"))
    assert len(pages) > 50
    for page in pages:
        made = page.relative_to(DOCS).with_suffix(".html")
        made = made.with_name("index.html") if page.name == "README.md" else made
        assert (site / made).is_file(), made
    assert "Two commands" in (site / "index.html").read_text()


def test_every_link_leads_somewhere_in_the_site(site: Path) -> None:
    """Or to another site, which is not asked."""
    broken, links = [], 0
    for page in site.rglob("*.html"):
        for link in REFERENCE.findall(page.read_text()):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or not parts.path or page.name == "404.html":
                continue
            links += 1
            target = page.parent / unquote(parts.path)
            if not (target.is_file() or (target / "index.html").is_file()):
                broken.append(f"{page.relative_to(site)}: {link}")
    assert broken == []
    assert links > 1000


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    assert {found for page in site.rglob("*.html") for found in LOADED.findall(page.read_text())} == set()


def test_the_search_knows_all_pages(site: Path) -> None:
    found = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    pages = {entry["location"].partition("#")[0] for entry in found}
    assert {"reference/run.html", "design.html", "tutorial/index.html"} <= pages
