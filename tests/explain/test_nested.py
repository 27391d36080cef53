"""Values of regions with those inside them: the short way has what the long way has."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from haloscope.explain._nested import is_ordered, with_nested
from haloscope.explain._tree import Reduction, RegionTree, roll_up

REDUCTIONS: dict[str, Reduction] = {
    "sends": "sum",
    "time": "sum",
    "largest": "max",
    "skew": "sum",
    "never": "sum",
}


def _drawn(
    random: np.random.Generator, paths: int, ranks: int, whole: bool
) -> tuple[pl.DataFrame, RegionTree]:
    """A tree of any shape; a rank is in a region only if it is in the one around it, or anyhow."""
    parents = np.array([-1, *(int(random.integers(0, path)) for path in range(1, paths))])
    tree = RegionTree([f"r{path}" for path in range(paths)], parents, np.zeros(paths, dtype=np.int64))
    there = random.random((paths, ranks)) < 0.7
    for path in range(paths):
        if whole:
            there[path] &= there[parents[path]] if path else True
    places, seats = np.nonzero(there)
    count = len(places)
    skew = pl.Series(random.random(count)).set(pl.Series(random.random(count) < 0.5), None)
    columns = {
        "sends": random.integers(0, 5, count),
        "time": random.random(count),
        "largest": random.integers(0, 99, count),
        "skew": skew,
        "never": pl.Series([None] * count, dtype=pl.Float64),
    }
    # Ranks of one of many runs are far apart.
    return pl.DataFrame({"path": places, "rank": seats * (1 << 33) + 7, **columns}), tree


@pytest.mark.parametrize("seed", range(20))
def test_the_short_way_has_what_the_long_way_has(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows, tree = _drawn(random, int(random.integers(1, 9)), int(random.integers(1, 5)), True)
    made = with_nested(rows, tree, REDUCTIONS)
    assert made is not None
    expected = roll_up(rows, tree, ["rank"], REDUCTIONS).sort("path", "rank")
    assert_frame_equal(made.select(expected.columns), expected)


@pytest.mark.parametrize("seed", range(20))
def test_no_rank_is_lost_where_the_region_around_has_none(seed: int) -> None:
    """Then the short way is not taken."""
    rows, tree = _drawn(np.random.default_rng(seed), 6, 3, False)
    made = with_nested(rows, tree, REDUCTIONS)
    around = {(path, rank) for path, rank in rows.select("path", "rank").iter_rows()}
    inner = [(int(tree.parents[path]), rank) for path, rank in around if path]
    assert (made is None) == any(pair not in around for pair in inner)


def test_the_short_way_needs_order() -> None:
    """Rank 1 is in the inner region alone, and there it is the first."""
    tree = RegionTree(["p", "a"], np.array([-1, 0]), np.zeros(2, dtype=np.int64))
    rows = pl.DataFrame({"path": [0, 0, 1], "rank": [0, 1, 1], "sends": [1, 2, 4]})
    made = with_nested(rows, tree, {"sends": "sum"})
    assert made is not None
    assert made["sends"].to_list() == [1, 6, 4]
    assert with_nested(rows.reverse(), tree, {"sends": "sum"}) is None
    assert with_nested(rows.clear(), tree, {"sends": "sum"}) is not None
    far = rows.with_columns(rank=pl.Series([0, 1 << 62, 1 << 62]))
    assert with_nested(far, tree, {"sends": "sum"}) is None


@pytest.mark.parametrize(
    ("paths", "ranks", "ordered"),
    [
        ([0, 0, 1], [0, 1, 0], True),
        ([0, 0, 1], [0, 0, 0], False),
        ([0, 1, 0], [0, 0, 1], False),
        ([], [], True),
    ],
)
def test_what_is_in_order(paths: list[int], ranks: list[int], ordered: bool) -> None:
    assert is_ordered(np.array(paths, dtype=np.int64), np.array(ranks, dtype=np.int64)) == ordered
