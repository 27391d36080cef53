"""Single instances, from profiles with a second packing: as a table, and as matrices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from haloscope import ProfileError, UsageError, explain
from haloscope.explain import Profile
from support.profiles import Draft, draft, path_rows, process_rows

Read = Callable[[Draft], Profile]

# Durations that a double represents exactly, in ticks of 2⁻²⁰ s.
exact = st.integers(0, 1 << 19).map(lambda ticks: ticks * 2.0**-20)
PATHS = path_rows("halo", "solve", "solve/halo")


def rows_of(path: int, rank: int, times: list[tuple[float, float]]) -> list[dict[str, Any]]:
    """Instances of one path on one rank, from the gap before each and its duration."""
    rows, end = [], 0.0
    for instance, (gap, duration) in enumerate(times):
        rows.append(
            {
                "path": path,
                "rank": rank,
                "instance": instance,
                "start": end + gap,
                "duration": duration,
                "wait": duration * (instance % 2),
            }
        )
        end += gap + duration
    return rows


def halo(*counts: int) -> list[dict[str, Any]]:
    """Ranks with `counts` instances of `halo`, each 1 s long after a gap of 1/4 s."""
    return [row for rank, n in enumerate(counts) for row in rows_of(1, rank, [(0.25, 1.0)] * n)]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    series=st.lists(st.lists(st.tuples(exact, exact), max_size=6), min_size=9, max_size=9),
    order=st.permutations(range(9)),
    chunk_rows=st.integers(1, 20),
    encoding=st.sampled_from([0, 1]),
)
def test_instances_come_back_whatever_their_order_and_chunks(
    tmp_path: Path, series: list[list[tuple[float, float]]], order: list[int], chunk_rows: int, encoding: int
) -> None:
    parts = [rows_of(number // 3, number % 3, times) for number, times in enumerate(series)]
    rows = [row for number in order for row in parts[number]]
    written = draft(paths=PATHS, processes=process_rows("a", "b", "c"), series=rows)
    written.chunk_rows, written.encoding = chunk_rows, encoding
    with explain.open(written.write(tmp_path / "run.halo")) as profile:
        table = profile.table("series")
        assert len(table) == len(rows)
        for region, name in (("halo", "halo"), ("solve", "solve")):
            wanted = [row for part in parts for row in part if PATHS[row["path"]]["name"] == name]
            found = profile.table("series", region=region).drop("region").to_dicts()
            expected = [{key: row[key] for key in found[0]} for row in wanted] if found else []
            by = ["rank", "instance", "start", "duration", "wait"]
            assert sorted(found, key=lambda row: [row[key] for key in by]) == sorted(
                expected, key=lambda row: [row[key] for key in by]
            )


def test_a_region_is_matrices_of_rank_and_instance(read: Read) -> None:
    rows = [*halo(2, 0, 3), *rows_of(2, 1, [(0.0, 5.0)])]
    instances = read(draft(paths=PATHS, processes=process_rows("a", "b", "c"), series=rows)).instances("halo")
    assert (instances.path, instances.ranks.tolist()) == ("halo", [0, 2])
    assert instances.counts.tolist() == [2, 3]
    nan = float("nan")
    np.testing.assert_array_equal(instances.start, [[0.25, 1.5, nan], [0.25, 1.5, 2.75]])
    np.testing.assert_array_equal(instances.duration, [[1, 1, nan], [1, 1, 1]])
    np.testing.assert_array_equal(instances.wait, [[0, 1, nan], [0, 1, 0]])
    assert repr(instances) == "<instances of 'halo', 2 ranks × 3>"


def test_threads_of_a_rank_start_at_zero_and_are_one_row(read: Read) -> None:
    second = [{**row, "thread": 1, "instance": row["instance"] + 2} for row in halo(2)]
    profile = read(draft(paths=PATHS, processes=process_rows("a"), series=[*halo(2), *second]))
    instances = profile.instances("halo")
    assert instances.counts.tolist() == [4]
    assert instances.start.tolist() == [[0.25, 1.5, 0.25, 1.5]]
    assert profile.table("series")["instance"].to_list() == [0, 1, 2, 3]


def test_each_rank_has_its_own_tick(read: Read) -> None:
    written = draft(paths=PATHS, processes=process_rows("a", "b"), series=halo(1, 1))
    written.tables["processes"] = {**written.tables["processes"], "tick": [2.0**-20, 2.0**-19]}
    assert read(written).instances("halo").duration.tolist() == [[1.0], [2.0]]


def test_a_tick_that_is_unknown_makes_times_unknown(read: Read) -> None:
    written = draft(paths=PATHS, processes=process_rows("a"), series=halo(1))
    written.tables["processes"] = {**written.tables["processes"], "tick": [float("nan")]}
    profile = read(written)
    assert np.isnan(profile.instances("halo").start).all()
    assert profile.table("series")["start"].to_list() == [None]


@pytest.mark.parametrize(
    ("region", "words"),
    [
        ("solve", "--series 'solve'"),
        ("holo", "no region is called"),
        ("halo", "name one of halo, solve/halo"),
    ],
)
def test_no_or_several_series_are_a_usage_error(read: Read, region: str, words: str) -> None:
    paths = path_rows("halo", "solve", "solve/halo")
    rows = [*halo(1), *rows_of(3, 0, [(0, 1)])]
    profile = read(draft(paths=paths, processes=process_rows("a"), series=rows))
    with pytest.raises(UsageError, match=words):
        profile.instances(region)
    assert profile.instances("solve/halo").counts.tolist() == [1]


def test_ranks_too_unequal_for_a_matrix_are_refused(read: Read) -> None:
    ranks = 30_000
    written = draft(paths=PATHS, processes=process_rows(*["a"] * ranks))
    counts = [1] * (ranks - 1) + [ranks]
    zeros = [0] * ranks
    written.tables["series"] = {
        "path": [1] * ranks,
        "rank": list(range(ranks)),
        "thread": zeros,
        "instance": zeros,
        "instances": counts,
    }
    written.tables["instances"] = {"packed": [0] * sum(counts)}
    with pytest.raises(UsageError, match="too unequal"):
        read(written).instances("halo")


@pytest.mark.parametrize(
    ("table", "changed", "words"),
    [
        ("series", {"instances": [3, 1]}, "does not count the instances"),
        ("series", {"instances": [-1, 4]}, "counts instances that do not exist"),
        ("series", {"instances": [2**62, 2**62]}, "counts instances that do not exist"),
        ("series", {"rank": [0, 7]}, "names a rank that does not exist"),
        ("series", {"path": [1, 9]}, "names a region that does not exist"),
        ("instances", {"packed": [1]}, "counts instances that do not exist"),
        ("instances", {"packed": []}, "counts instances that do not exist"),
    ],
)
def test_tables_that_contradict_each_other_are_refused(
    read: Read, table: str, changed: dict[str, list[int]], words: str
) -> None:
    written = draft(paths=PATHS, processes=process_rows("a", "b"), series=halo(2, 1))
    written.tables[table] = {**written.tables[table], **changed}
    with pytest.raises(ProfileError, match=words):
        read(written).table("series")
    with pytest.raises(ProfileError, match=words):
        read(written).instances("halo").duration.sum()


def test_instances_are_read_only_when_asked_for(tmp_path: Path) -> None:
    """A profile whose instances are damaged opens, and the other tables are read."""
    ranks = [{"path": 1, "rank": 0, "instances": 10_000}]
    written = draft(paths=PATHS, processes=process_rows("a"), ranks=ranks, series=halo(10_000))
    written.encoding = 0
    path = written.write(tmp_path / "run.halo")
    content = bytearray(path.read_bytes())
    packed = np.asarray(written.tables["instances"]["packed"], "<i8").tobytes()
    content[content.index(packed) + 1000] ^= 1
    path.write_bytes(content)
    profile = explain.open(path)
    assert profile.table("regions")["region"].to_list() == ["halo"]
    assert profile.instances("halo").counts.tolist() == [10_000]
    with pytest.raises(ProfileError, match="checksum of column packed"):
        profile.instances("halo").duration.sum()
