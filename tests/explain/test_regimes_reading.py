"""Timings from files of every kind, whole and broken."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from haloscope import HaloscopeError, ProfileError, UsageError, explain
from haloscope.markov import Timings, read_timings
from haloscope.profile.shown import SHOWN
from support.profiles import draft, path_rows, process_rows

NAN = float("nan")
MATRIX = np.array([[0.5, 0.25, 0.125], [1.0, 2.0, 0.75]])


def profile(directory: Path, *counts: int, ranks: int | None = None, **more: Any) -> Path:
    """Write a profile of ranks with `counts` instances of `halo`, of 1, 2, 3 … s, on hosts a, b, c …"""
    rows = [
        {"path": 1, "rank": rank, "instance": k, "start": 10.0 * k, "duration": k + 1.0, "wait": 0.5}
        for rank, n in enumerate(counts)
        for k in range(n)
    ]
    written = draft(
        {"ranks": ranks or len(counts)},
        paths=path_rows("halo", "other"),
        series=rows,
        processes=process_rows(*"abcdefgh"[: len(counts)]),
        **more,
    )
    return written.write(directory / "run.halo")


def test_a_profile_with_one_series_needs_no_region(tmp_path: Path) -> None:
    values = [
        {"path": 1, "rank": 1, "instance": 2, "name": "t_in", "value": 0.25},
        {"path": 1, "rank": 1, "instance": 77, "name": "t_in", "value": 9.0},
    ]
    timings = read_timings(profile(tmp_path, 3, 3, values=values))
    assert (timings.name, timings.region) == ("run", "halo")
    assert timings.durations.tolist() == [[1, 2, 3], [1, 2, 3]]
    assert timings.ranks.tolist() == [0, 1]
    assert timings.hosts == ("a", "b")
    assert timings.notes == ()
    assert list(timings.others) == ["start", "wait", "t_in"]
    assert timings.others["start"].tolist() == [[0, 10, 20], [0, 10, 20]]
    np.testing.assert_array_equal(timings.others["t_in"], [[NAN] * 3, [NAN, NAN, 0.25]])


def test_ranks_that_died_or_recorded_nothing_are_reported(tmp_path: Path) -> None:
    timings = read_timings(profile(tmp_path, 3, 1, ranks=4))
    assert timings.counts.tolist() == [3, 1]
    assert [row.tolist() for row in timings.rows] == [[1, 2, 3], [1]]
    assert timings.notes == (
        "nothing was recorded: ranks 2-3",
        "ended before the others: rank 1, the first after 1 of 3 instances",
    )
    reduced = timings.reduce("max")
    assert reduced.durations.tolist() == [[1.0, 2.0, 3.0]]
    assert reduced.ranks.tolist() == [-1]
    assert reduced.notes[-1] == "not in the max over ranks, as they ended early: rank 1"
    reduced = read_timings(profile(tmp_path, 4, 2)).reduce("mean")
    assert reduced.durations.tolist() == [[1.0, 2.0]]
    assert reduced.notes[-1] == "only the first 2 of 4 instances are there on all ranks"


def test_the_printed_table_series_is_read(tmp_path: Path) -> None:
    path = profile(tmp_path, 3, 2)
    printed = io.StringIO()
    explain.render(explain.open(path).table("series"), "csv", SHOWN["series"], printed)
    (tmp_path / "run.csv").write_text(printed.getvalue())
    timings, expected = read_timings(tmp_path / "run.csv"), read_timings(path)
    assert timings.region == "halo"
    for name in ("start", "wait"):
        np.testing.assert_array_equal(timings.others[name], expected.others[name])
    np.testing.assert_array_equal(timings.durations, expected.durations)
    assert timings.counts.tolist() == expected.counts.tolist() == [3, 2]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("header", ["", "a{0}b{0}c\n"])
def test_a_matrix_of_text_has_a_row_per_rank(tmp_path: Path, separator: str, header: str) -> None:
    rows = "\n".join(separator.join(map(str, row)) for row in MATRIX.tolist())
    (tmp_path / "m.csv").write_text(header.format(separator) + rows)
    timings = read_timings(tmp_path / "m.csv", "anything")
    assert timings.durations.tolist() == MATRIX.tolist()
    assert timings.region == "anything"


def test_arrays_and_parquet(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", MATRIX.astype(np.float32))
    assert read_timings(tmp_path / "a.npy").durations.tolist() == MATRIX.tolist()
    np.save(tmp_path / "line.npy", MATRIX[0])
    assert read_timings(tmp_path / "line.npy").durations.tolist() == MATRIX[:1].tolist()
    np.savez(tmp_path / "a.npz", duration=MATRIX, t_in=MATRIX / 2, rank=[7, 9], host=["x", "y"])
    timings = read_timings(tmp_path / "a.npz")
    assert timings.others["t_in"].tolist() == (MATRIX / 2).tolist()
    assert (timings.ranks.tolist(), timings.hosts) == ([7, 9], ("x", "y"))
    pl.DataFrame(MATRIX).write_parquet(tmp_path / "wide.parquet")
    assert read_timings(tmp_path / "wide.parquet").durations.tolist() == MATRIX.tolist()
    rows = {"rank": [1, 0, 0], "instance": [10, 20, 10], "duration": [3, 2, 1], "host": ["b", "a", "a"]}
    pl.DataFrame(rows).write_parquet(tmp_path / "long.parquet")
    timings = read_timings(tmp_path / "long.parquet")
    np.testing.assert_array_equal(timings.durations, [[1, 2], [3, NAN]])
    assert timings.hosts == ("a", "b")


def test_one_column_is_one_series(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("duration\n1\n2.5\n3\n")
    assert read_timings(tmp_path / "one.csv").durations.tolist() == [[1, 2.5, 3]]
    (tmp_path / "bare.csv").write_text("1\n2.5\n3\n")
    assert read_timings(tmp_path / "bare.csv").durations.tolist() == [[1, 2.5, 3]]


def test_several_regions_have_to_be_named(tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text("region,duration\na,1\nb,2\n")
    with pytest.raises(UsageError, match="name one with --region: a, b"):
        read_timings(tmp_path / "two.csv")
    assert read_timings(tmp_path / "two.csv", "b").durations.tolist() == [[2]]
    with pytest.raises(UsageError, match="no region 'c'; there is a, b"):
        read_timings(tmp_path / "two.csv", "c")


def test_ranks_with_impossible_times_are_left_out(tmp_path: Path) -> None:
    matrix = np.ones((6, 4))
    matrix[1, 2], matrix[2, 0], matrix[3, 3], matrix[4, :] = NAN, -1, np.inf, NAN
    matrix[5, 2:], matrix[5, 0] = NAN, 0
    np.save(tmp_path / "a.npy", matrix)
    timings = read_timings(tmp_path / "a.npy")
    assert timings.ranks.tolist() == [0, 5]
    assert timings.counts.tolist() == [4, 2]
    assert timings.notes == (
        "left out, as nothing was recorded: rank 4",
        "left out, as durations are missing, negative or infinite: ranks 1-3",
        "ended before the others: rank 5, the first after 2 of 4 instances",
        "1 durations are 0: shorter than the clock's resolution",
    )


def test_a_constant_matrix_and_a_large_one_are_whole() -> None:
    timings = Timings.from_matrix(np.full((3, 5), 0.5))
    assert timings.whole
    assert timings.counts.tolist() == [5, 5, 5]
    ragged = Timings.from_matrix(np.array([[1.0, NAN], [1.0, 2.0]]))
    assert not ragged.whole
    assert ragged.counts.tolist() == [1, 2]
    tall = np.random.default_rng(0).random((7, 1000))
    assert np.array_equal(Timings.from_matrix(tall).reduce("median").durations[0], np.median(tall, axis=0))


BAD: dict[str, tuple[bytes | np.ndarray[Any, Any], str]] = {
    "empty.csv": (b"", "is empty"),
    "header.csv": (b"rank,instance,duration\n", "has no durations"),
    "text.csv": (b"Dear Sir\nor Madam\n", "no column duration"),
    "words.csv": (b"rank,instance,duration\n0,0,fast\n", "column duration is not numbers"),
    "infinite.csv": (b"rank,duration\ninf,1\n", "ranks are not whole numbers"),
    "large.csv": (b"rank,duration\n1e300,1\n", "ranks are not whole numbers"),
    "twice.csv": (b"rank,instance,duration\n0,0,1\n0,0,2\n", "once only"),
    "ragged.csv": (b"rank,instance,duration\n0,0,1,5,6\n", "cannot be read"),
    "negative.csv": (b"duration\n1\n-2\n", r"rank 0, instance 1 is -2 s"),
    "missing.csv": (b"instance,duration\n0,1\n1,\n2,1\n", r"rank 0, instance 1 is missing"),
    "binary.csv": (b"\x7fELF\0\0", "is neither a profile nor"),
    "cut.npy": (b"\x93NUMPY\x01\x00", "cannot be read"),
    "cut.parquet": (b"PAR1abc", "cannot be read"),
    "cut.npz": (b"PK\x03\x04abc", "cannot be read"),
    "cut.halo": (b"\x89HALO\r\n\x1a", "was cut short"),
    "cube.npy": (np.ones((2, 2, 2)), "3 dimensions"),
    "words.npy": (np.array(["a"]), "not numbers"),
    "objects.npy": (np.array([{}], dtype=object), "cannot be read"),
    "nothing.npy": (np.empty((0, 5)), "has no durations"),
    "point.npy": (np.array(np.nan), "has no durations"),
}


@pytest.mark.parametrize("name", BAD)
def test_files_without_times_are_one_line(tmp_path: Path, name: str) -> None:
    content, words = BAD[name]
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.save(path, content, allow_pickle=True)
    with pytest.raises(ProfileError, match=words) as told:
        read_timings(path)
    assert "\n" not in str(told.value)
    assert name.split(".", maxsplit=1)[0] in str(told.value)


def unpacking_much(path: Path) -> None:
    """Write a file whose format is named by its suffix, of 100 KiB at most that unpacks to over 80 MiB."""
    ones = np.ones(10_500_000)
    if path.suffix == ".npz":
        np.savez_compressed(path, duration=ones.astype(np.int8), rank=ones[:10_000_000])
    elif path.suffix == ".npy":  # its shape is all that it has
        np.save(path, np.empty((1 << 50, 0)))
    elif path.suffix == ".parquet":
        pl.DataFrame({"duration": ones}).write_parquet(path)
    elif path.stem == "wide":
        path.write_bytes(b"," * (1 << 17) + b"\n1\n")
    elif path.stem == "unequal":
        lines = [
            f"{rank},{at}" for rank, at in [(0, k) for k in range(3000)] + [(k, 0) for k in range(1, 3000)]
        ]
        path.write_text("rank,instance,duration,more\n" + "".join(f"{line},1,2\n" for line in lines))
    else:
        path.write_bytes(gzip.compress(b"duration\n" + b"0\n" * 1000).replace(b"\0", b"\1"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("large.npz", "too much for a file of its size"),
        ("empty.npy", "has no durations"),
        ("large.parquet", "cannot be read: "),
        ("wide.csv", "has over 131072 columns"),
        ("unequal.csv", "too unequal in number for a matrix"),
        ("packed.csv", "is neither a profile nor"),
    ],
)
def test_small_files_do_not_take_much_memory(tmp_path: Path, name: str, words: str) -> None:
    unpacking_much(tmp_path / name)
    with pytest.raises(ProfileError, match=words) as told:
        read_timings(tmp_path / name)
    assert "\n" not in str(told.value)


def test_missing_files_are_reported(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.halo"):
        with pytest.raises(ProfileError, match="name a file of timings"):
            read_timings(path)


def test_profiles_without_or_with_several_series(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no series; run the program"):
        read_timings(profile(tmp_path, 0))
    rows = [{"path": path, "rank": 0, "duration": 1.0} for path in (1, 2)]
    written = draft(paths=path_rows("halo", "other"), processes=process_rows("a"), series=rows)
    with pytest.raises(UsageError, match="name one with --region: halo, other"):
        read_timings(written.write(tmp_path / "two.halo"))
    assert read_timings(tmp_path / "two.halo", "other").region == "other"
    with pytest.raises(HaloscopeError, match="no region is called"):
        read_timings(tmp_path / "two.halo", "none")


@pytest.mark.parametrize("value", [-1e-3, np.inf, np.nan])
def test_one_bad_duration_removes_an_instance_and_no_rank(tmp_path: Path, value: float) -> None:
    durations = 1e-3 * (1 + np.arange(4 * 100, dtype=np.float64).reshape(4, 100))
    wrong, start = durations.copy(), 2 * durations
    wrong[2, 17] = value
    np.savez(tmp_path / "x.npz", duration=wrong, start=start)
    timings = read_timings(tmp_path / "x.npz")
    np.testing.assert_array_equal(timings.durations, np.delete(durations, 17, axis=1))
    np.testing.assert_array_equal(timings.others["start"], np.delete(start, 17, axis=1))
    assert timings.counts.tolist() == [99] * 4
    assert timings.notes[0].startswith("1 instance is left out on all ranks")
    assert "that of rank 2, instance 17, is" in timings.notes[0]


def test_a_rank_of_many_bad_durations_is_left_out(tmp_path: Path) -> None:
    durations = np.ones((4, 100))
    durations[1, :11] = -1
    durations[2, 50] = -1
    np.save(tmp_path / "x.npy", durations)
    timings = read_timings(tmp_path / "x.npy")
    assert timings.ranks.tolist() == [0, 2, 3]
    assert timings.durations.shape == (3, 99)
    assert any("negative or infinite: rank 1" in note for note in timings.notes)
