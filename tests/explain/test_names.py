"""Paths of regions: no two share one, whatever their names, and each leads back to its names."""

from __future__ import annotations

import io
import re
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from haloscope import explain
from haloscope.profile.shown import SHOWN
from support.profiles import Draft, draft, path_rows, process_rows

NAMES = st.lists(st.text() | st.text("a/\\<>") | st.just("<program>"), max_size=5)


def draft_of(chains: list[list[str]]) -> Draft:
    """A profile with these regions. A region is given by the names of its outer regions and its own name."""
    paths: dict[tuple[str, ...], int] = {(): 0}
    rows = path_rows()
    for chain in chains:
        for length in range(1, len(chain) + 1):
            key = tuple(chain[:length])
            if key not in paths:
                paths[key] = len(rows)
                rows.append({"path": len(rows), "parent": paths[key[:-1]], "name": key[-1]})
    ranks = [{"path": path, "rank": 0, "instances": 1, "sends": path} for path in paths.values()]
    return draft({"ranks": 1}, paths=rows, processes=process_rows("a"), ranks=ranks)


def names_of(path: str) -> list[str]:
    """Split a path into its names, as docs/reference/tables.md describes paths."""
    if path == "<program>":
        return []
    found = re.findall(r"(?:^|/)((?:[^/\\]|\\.)*)", path, re.DOTALL)
    return [re.sub(r"\\(.)", r"\1", name, flags=re.DOTALL) for name in found]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(st.lists(NAMES, max_size=6, unique_by=tuple))
def test_no_two_regions_share_a_path(tmp_path: Path, chains: list[list[str]]) -> None:
    with explain.open(draft_of(chains).write(tmp_path / "run.halo")) as profile:
        paths = profile.table("regions")["path"].to_list()
        expected = {tuple(chain[:length]) for chain in chains for length in range(len(chain) + 1)} | {()}
        assert len(paths) == len(expected)
        assert {tuple(names_of(path)) for path in paths} == expected
        # Tables without the column `path` have the same number of different names.
        assert profile.table("ranks")["region"].n_unique() == len(paths)
        for path in paths[:6]:
            assert path in profile.table("regions", region=path)["path"].to_list()


def test_ordinary_names_are_left_alone(tmp_path: Path) -> None:
    profile = explain.open(draft_of([["main", "MPI <int>: x"]]).write(tmp_path / "run.halo"))
    assert profile.table("regions")["path"].to_list() == ["<program>", "main", "main/MPI <int>: x"]


def test_a_region_may_have_the_name_of_the_program(tmp_path: Path) -> None:
    profile = explain.open(draft_of([["<program>"]]).write(tmp_path / "run.halo"))
    assert profile.table("regions")["path"].to_list() == ["<program>", r"\<program>"]
    assert profile.table("ranks", region=r"\<program>", exclusive=True)["sends"].to_list() == [1]


def test_long_names_are_shown_by_their_ends(tmp_path: Path) -> None:
    name = "begin" + "x" * (1 << 20) + "\nend"
    profile = explain.open(draft_of([[name]]).write(tmp_path / "run.halo"))
    shown = io.StringIO()
    explain.render(profile.table("ranks"), "table", SHOWN["ranks"], shown)
    text = "".join(shown.getvalue().split())
    assert "beginxxx" in text
    assert "xxx\\nend" in text
    assert len(text) < 1500
    assert profile.table("ranks")["region"][1] == name
