"""Profiles of released versions open in every later version, and their tables do not change."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import haloscope
from keep_profile import KEPT_TABLES, said

DATA = Path(__file__).resolve().parents[1] / "data"
KEPT = sorted(DATA.glob("*.halo"))


def test_there_are_some() -> None:
    assert "0.1.0.halo" in {path.name for path in KEPT}


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_it_is_whole(path: Path) -> None:
    with haloscope.open(path) as profile:
        profile.verify()
        assert profile.info["version"] == path.stem


def kept(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the stored tables, whose first row has the names of the columns."""
    tables = json.loads(path.with_suffix(".json").read_text("utf-8"))
    return {
        name: [dict(zip(names, row, strict=True)) for row in rows] for name, (names, *rows) in tables.items()
    }


def keyed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the table `info` as one row."""
    return [{str(row["key"]): row["value"] for row in rows}]


def as_then(then: Any, now: Any) -> bool:
    """Return whether a value is the same; computed times may differ in their last digits."""
    if isinstance(then, float) and isinstance(now, float):
        return math.isclose(then, now, rel_tol=1e-9, abs_tol=1e-15)
    return bool(then == now)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
@pytest.mark.parametrize("table", [*KEPT_TABLES, "trace"])
def test_its_tables_do_not_change(path: Path, table: str) -> None:
    """All stored columns and rows are the same; there may be new ones."""
    then = kept(path).get(table, [])
    now = said(path)[table]
    if table == "info":
        then, now = keyed(then), keyed(now)
    if then:
        assert len(now) == len(then)
    for row, same in zip(then, now, strict=False):
        assert not {
            name: (value, same.get(name)) for name, value in row.items() if not as_then(value, same.get(name))
        }


def test_no_table_and_no_column_is_gone() -> None:
    for path in KEPT:
        then = kept(path)
        assert then.keys() <= {*KEPT_TABLES, "trace"}
        assert {"regions", "ranks", "calls", "partners", "sizes", "collectives"} <= then.keys()
