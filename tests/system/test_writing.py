"""The page of benchmarks shows the stored rows, and studies write only to the directory of their option."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.mpi import CHECKOUT
from support.processes import run_program

KEPT = sorted(path.parent.name for path in CHECKOUT.glob("benchmarks/*/rows.csv"))


@pytest.mark.parametrize("name", KEPT)
def test_the_page_shows_rows_that_are_kept(name: str, script: Callable[..., Any]) -> None:
    table = script("table", "benchmarks")
    kept = table.rows(name)
    assert kept
    _, part, _ = table.between(table.page_of(name), name)
    assert table.shown(part, kept) == part
    rows = [line for line in part.splitlines() if re.search(r"\| [-.\d]+ \[[-.\d]+, [-.\d]+\] \|", line)]
    assert rows
    assert set(rows) <= {table.line(row) for row in kept.values()}
    for case, row in kept.items():
        assert float(row["ci_low"]) <= float(row["ratio"]) <= float(row["ci_high"]), case
        reached = float(row["ratio"]) >= float(row["target"]) if row["target"] else ""
        assert row["met"] == str(reached), case


def test_the_page_shows_the_programs_that_are_kept(script: Callable[..., Any]) -> None:
    pages = script("pages", "benchmarks/programs")
    kept = pages.read_rows(CHECKOUT / "benchmarks" / "programs" / "counts.csv")
    shown = re.findall(r"^\| [^|]+ \| \d+ \| .*$", pages.PAGE.read_text("utf-8"), re.MULTILINE)
    assert shown == [pages.show(row) for row in kept.values()]
    assert {row["equal"] for row in kept.values()} == {"yes"}


def test_no_table_of_the_pages_is_empty() -> None:
    pages = "\n".join(page.read_text("utf-8") for page in CHECKOUT.glob("docs/quality/*.md"))
    parts = re.findall(r"<!-- bench-(\w+): begin -->\n(.*?)<!-- bench-\1: end -->", pages, re.DOTALL)
    assert sorted(name for name, _ in parts) == sorted([*KEPT, "programs"])
    assert [name for name, part in parts if part.count("\n|") < 2] == []


@pytest.mark.parametrize(
    "study",
    [
        "caliper-communication-regions/scaling.py",
        "caliper-communication-regions/study.py",
        "dynamic-stencil-protocols/figures.py",
        "dynamic-stencil-protocols/miniamr.py",
        "dynamic-stencil-protocols/nodes.py",
        "hpcg-communication-patterns/networks.py",
        "hpcg-communication-patterns/patterns.py",
        "hmm-regimes-communication-hiding/figures.py",
        "hmm-regimes-communication-hiding/paper.py",
        "openmpi-collective-algorithms/figures.py",
        "openmpi-collective-algorithms/latencies.py",
        "openmpi-collective-algorithms/small.py",
    ],
)
def test_a_study_asks_where_to_write(study: str, tmp_path: Path) -> None:
    done = run_program([sys.executable, str(CHECKOUT / "studies" / study)], cwd=tmp_path, status=None)
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
