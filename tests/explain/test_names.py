"""Paths of regions: no two share one, whatever their names, and each leads back to its names."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from haloscope.explain._tree import RegionTree, joined, parts, region_text

NAMES = st.lists(st.text() | st.text("a/\\<>") | st.just("<program>"), max_size=5)


@given(NAMES)
def test_a_path_leads_back_to_its_names(names: list[str]) -> None:
    assert parts(joined(names)) == names


@given(st.lists(NAMES, max_size=8, unique_by=tuple))
def test_no_two_regions_share_a_path(chains: list[list[str]]) -> None:
    tree = tree_of(chains)
    assert len(set(tree.full_names)) == len(tree)
    assert len(set(tree.distinct_names)) == len(tree)
    for path, full in enumerate(tree.full_names):
        assert path in tree.matching(full).nonzero()[0]
        (chosen,) = [p for p in range(len(tree)) if tree.full_names[p] == full]
        assert chosen == path


def tree_of(chains: list[list[str]]) -> RegionTree:
    """A tree with these regions, each given by the names on the way to it."""
    places: dict[tuple[str, ...], int] = {(): 0}
    names, parents = ["<program>"], [-1]
    for chain in chains:
        for length in range(1, len(chain) + 1):
            key = tuple(chain[:length])
            if key in places:
                continue
            places[key] = len(names)
            names.append(chain[length - 1])
            parents.append(places[key[:-1]])
    return RegionTree(names, np.array(parents), np.zeros(len(names), dtype=np.int64))


def test_ordinary_names_are_left_alone() -> None:
    assert joined([]) == "<program>"
    assert joined(["main", "MPI <int>: x"]) == "main/MPI <int>: x"


def test_long_names_are_shown_by_their_ends() -> None:
    shown = region_text("begin" + "x" * (1 << 20) + "\nend")
    assert len(shown) < 200
    assert shown.startswith("begin")
    assert shown.endswith("\\nend")
