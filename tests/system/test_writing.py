"""Benchmarks and studies write where they are told to, and redraw nothing of the checkout."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.mpi import CHECKOUT

SOURCES = [*CHECKOUT.glob("benchmarks/**/*.py"), *CHECKOUT.glob("studies/**/*.py")]
# table.py is the command that puts rows into a document.
TOLD = {"benchmarks/table.py"}
WRITES = re.compile(
    r"(write_\w+|savefig|screenshot|save|open)\([^)]*(HERE|ROOT|CHECKOUT|PICTURE|__file__)"
    r"|(HERE|ROOT|CHECKOUT|PICTURE)\b[^\n]*\.(write_\w+|save|open)\("
)


def test_nothing_is_written_beside_the_sources() -> None:
    found = [
        path.relative_to(CHECKOUT).as_posix()
        for path in SOURCES
        if WRITES.search(path.read_text(encoding="utf-8"))
        or re.search(r'"docs" / "', path.read_text(encoding="utf-8"))
    ]
    assert set(found) == TOLD


@pytest.mark.parametrize("name", ["overlap", "stencil", "hydro"])
def test_the_page_shows_rows_that_are_kept(name: str, script: Callable[..., Any]) -> None:
    table = script("table", "benchmarks")
    kept = table.rows(name)
    _, part, _ = table.between(table.DOCUMENT, name)
    assert table.shown(part, kept) == part
    rows = [line for line in part.splitlines() if re.search(r"\| [-.\d]+ \[[-.\d]+, [-.\d]+\] \|", line)]
    assert set(rows) <= {table.line(row) for row in kept.values()}
    for case, row in kept.items():
        assert float(row["ci_low"]) <= float(row["ratio"]) <= float(row["ci_high"]), case
        reached = float(row["ratio"]) >= float(row["target"]) if row["target"] else ""
        assert row["met"] == str(reached), case


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
        "openmpi-collective-algorithms/measured.py",
    ],
)
def test_a_study_asks_where_to_write(study: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(CHECKOUT / "studies" / study)],
        cwd=tmp_path,
        timeout=100,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
