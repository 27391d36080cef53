"""The generated parts of the documentation are those that the declarations make."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from haloscope.base import schema
from haloscope.base.shown import SHOWN
from haloscope.cli._main import _VERBS as VERBS
from haloscope.explain import TABLES
from support.mpi import CHECKOUT

TOOL = CHECKOUT / "tools" / "reference.py"
PAGES = CHECKOUT / "docs" / "reference"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(TOOL), *words], capture_output=True, text=True, timeout=200, check=False
    )


def test_no_page_is_stale() -> None:
    done = run("--check")
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_every_verb_has_a_page() -> None:
    done = run("--verbs")
    text = "".join(page.read_text("utf-8") for page in PAGES.glob("*.md"))
    assert done.returncode == 0, done.stderr
    assert [verb for verb in done.stdout.splitlines() if f"<!-- options: {verb} -->" not in text] == []


def test_every_verb_has_a_how_to() -> None:
    text = (CHECKOUT / "docs/how-to/README.md").read_text("utf-8")
    _, _, rows = text.partition("| verb | how to |")
    first = re.findall(r"^\|(.*?)\|", rows.partition("\n\n")[0], re.MULTILINE)
    named = re.findall(r"`([a-z0-9 ]+)`", "".join(first))
    done = run("--verbs")
    assert sorted(named) == sorted(done.stdout.splitlines())


def test_readme_has_every_verb() -> None:
    readme = (CHECKOUT / "README.md").read_text("utf-8")
    assert [verb for verb in VERBS if f"`haloscope {verb}" not in readme and f"`{verb}`" not in readme] == []


def test_every_table_that_is_declared_is_there_and_described() -> None:
    assert set(SHOWN) | {"info"} == set(TABLES)
    tables, file_format = (CHECKOUT / "docs" / page for page in ("reference/tables.md", "format.md"))
    assert [name for name in SHOWN if f"<!-- shown: {name} -->" not in tables.read_text("utf-8")] == []
    described = file_format.read_text("utf-8")
    stored = set(schema.STORED) - {"neighbors"}  # which has the columns of `partners`
    assert [name for name in stored if f"<!-- stored: {name} -->" not in described] == []


def test_a_stale_page_is_named(tmp_path: Path) -> None:
    page = tmp_path / "run.md"
    page.write_text("# Page\n\n<!-- options: where -->\nold\n<!-- end -->\nlast\n")
    assert run("--check", str(page)).stdout == f"{page}: its generated parts are stale; run: make reference\n"
    assert run(str(page)).returncode == 0
    assert page.read_text() == ("# Page\n\n<!-- options: where -->\nIt has no options.\n<!-- end -->\nlast\n")
    assert run("--check", str(page)).returncode == 0


@pytest.mark.parametrize(
    "part", ["<!-- options: fly -->\n<!-- end -->\n", "<!-- wings: fly -->\n<!-- end -->\n"]
)
def test_what_nothing_declares_is_an_error(part: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(part)
    done = run(str(page))
    assert done.returncode == 1
    assert str(page) in done.stdout
