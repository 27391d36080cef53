"""Inclusive values: those of each rank in a region and in all regions inside it."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haloscope import explain
from support.profiles import Draft, draft, process_rows

Rows = list[dict[str, Any]]
Values = tuple[Any, ...]


def drawn(random: np.random.Generator, paths: int, ranks: int, whole: bool) -> tuple[list[int], Rows]:
    """Draw the parents in a tree of any shape, and a row per region and rank.

    If `whole`, a rank is in a region only if it is in the one around it.
    """
    parents = [-1, *(int(random.integers(0, path)) for path in range(1, paths))]
    there = random.random((paths, ranks)) < 0.7
    for path in range(paths):
        if whole:
            there[path] &= there[parents[path]] if path else True
    rows = [
        {
            "path": path,
            "rank": rank,
            "sends": int(random.integers(0, 5)),
            "p2p_time": float(random.random()),
            "largest_message": int(random.integers(0, 99)),
            "skew_time": float(random.random()) if random.random() < 0.5 else float("nan"),
        }
        for path, rank in np.argwhere(there).tolist()
    ]
    return parents, rows


def draft_of(parents: list[int], rows: Rows, ranks: int) -> Draft:
    paths = [
        {"path": path, "parent": parent, "name": f"r{path}" if path else "<program>"}
        for path, parent in enumerate(parents)
    ]
    return draft({"ranks": ranks}, paths=paths, processes=process_rows(*["a"] * ranks), ranks=rows)


def added_up(parents: list[int], rows: Rows) -> dict[tuple[str, int], Values]:
    """Return inclusive sends, time, largest message and skew, by region and rank.

    A rank is in a region if it has a row for it.
    """
    inside: dict[tuple[int, int], Rows] = defaultdict(list)
    for row in rows:
        path = row["path"]
        while path >= 0:
            inside[path, row["rank"]].append(row)
            path = parents[path]
    found: dict[tuple[str, int], Values] = {}
    for path, rank in [(row["path"], row["rank"]) for row in rows]:
        own = inside[path, rank]
        known = [row["skew_time"] for row in own if not np.isnan(row["skew_time"])]
        found[f"r{path}" if path else "<program>", rank] = (
            sum(row["sends"] for row in own),
            pytest.approx(sum(row["p2p_time"] for row in own)),
            max(row["largest_message"] for row in own),
            pytest.approx(sum(known)) if known else None,
        )
    return found


@pytest.mark.parametrize("in_order", [True, False], ids=["in order", "in any order"])
@pytest.mark.parametrize("whole", [True, False], ids=["within the outer regions", "anywhere"])
def test_inclusive_values_add_up_all_regions_inside(tmp_path: Path, whole: bool, in_order: bool) -> None:
    rows_seen = 0
    for seed in range(15):
        random = np.random.default_rng(seed)
        ranks = int(random.integers(1, 5))
        parents, rows = drawn(random, int(random.integers(1, 9)), ranks, whole)
        if not in_order:
            random.shuffle(rows)
        with explain.open(draft_of(parents, rows, ranks).write(tmp_path / f"{seed}.halo")) as profile:
            table = profile.table("ranks")
        names = ["region", "rank", "sends", "p2p_time", "largest_message", "skew_time"]
        found = {(region, rank): tuple(values) for region, rank, *values in table.select(names).iter_rows()}
        assert len(found) == len(table)
        assert found == added_up(parents, rows), seed
        # Columns that files of this version do not have are null in sums, too.
        assert table["polls"].null_count() == len(table)
        rows_seen += len(table)
    assert rows_seen > 80


def test_a_rank_may_come_first_in_an_inner_region_only(tmp_path: Path) -> None:
    """Rank 1 alone is in the inner region, and there its row comes first."""
    rows = [
        {"path": 0, "rank": 0, "sends": 1},
        {"path": 0, "rank": 1, "sends": 2},
        {"path": 1, "rank": 1, "sends": 4},
    ]
    for number, ordered in enumerate((rows, rows[::-1])):
        path = draft_of([-1, 0], ordered, 2).write(tmp_path / f"{number}.halo")
        table = explain.open(path).table("ranks").sort("region", "rank")
        assert table.select("region", "rank", "sends").rows() == [
            ("<program>", 0, 1),
            ("<program>", 1, 6),
            ("r1", 1, 4),
        ]
