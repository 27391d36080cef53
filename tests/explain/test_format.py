"""Reading a profile: written values come back, and all damage is detected."""

from __future__ import annotations

import io
import json
import os
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from haloscope import ProfileError, explain
from haloscope.profile.shown import SHOWN
from support.profiles import COLUMNS, Draft, draft, path_rows, process_rows, seal

integers = st.integers(-(2**63), 2**63 - 1)
reals = st.floats(allow_nan=False, allow_infinity=False)
relaxed = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


def sample() -> Draft:
    return draft(
        paths=path_rows("halo"),
        processes=process_rows("alpha"),
        ranks=[{"path": 0, "rank": 0, "instances": 1, "time": 1.0}, {"path": 1, "rank": 0}],
        calls=[{"path": 1, "call": "MPI_Send", "calls": 300, "bytes": -1, "time_total": 0.5}],
    )


def refusal(path: Path) -> str:
    """Return the error line of opening `path`, or of reading all of it."""
    with pytest.raises(ProfileError) as caught:
        explain.open(path).verify()
    message = str(caught.value)
    assert path.name in message
    assert "\n" not in message
    assert ";" in message, "no remedy"
    return message


def rewritten(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Change the directory of a correct profile, and correct its checksums."""
    content = path.read_bytes()
    start, length = struct.unpack("<QQ", content[-32:-16])
    directory = json.loads(content[start : start + length])
    change(directory)
    path.write_bytes(seal(content[:start], json.dumps(directory).encode()))
    return path


@pytest.mark.slow
@relaxed
@given(
    rows=st.lists(st.tuples(integers, reals, st.text()), max_size=20),
    encoding=st.sampled_from([0, 1]),
    chunk_rows=st.integers(1, 8),
)
def test_values_come_back_as_written(
    tmp_path: Path, rows: list[tuple[int, float, str]], encoding: int, chunk_rows: int
) -> None:
    written = sample()
    written.encoding, written.chunk_rows = encoding, chunk_rows
    # JSON in UTF-8 cannot contain lone surrogates.
    names = [name.encode("utf-8", "replace").decode() for _, _, name in rows]
    written.tables["values"] = {
        "path": [0] * len(rows),
        "rank": [number for number, _, _ in rows],
        "instance": [number for number, _, _ in rows],
        "name": names,
        "value": [value for _, value, _ in rows],
    }
    frame = explain.open(written.write(tmp_path / "run.halo")).frame("values")
    assert frame["rank"].to_list() == [number for number, _, _ in rows]
    assert frame["value"].to_list() == [value for _, value, _ in rows]
    assert frame["name"].to_list() == names


@relaxed
@given(data=st.data())
def test_a_flipped_bit_is_noticed(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(sample().bytes())
    place = data.draw(st.integers(0, len(content) * 8 - 1))
    content[place // 8] ^= 1 << place % 8
    path = tmp_path / "run.halo"
    path.write_bytes(content)
    refusal(path)


@relaxed
@given(data=st.data())
def test_a_truncated_profile_is_noticed(tmp_path: Path, data: st.DataObject) -> None:
    content = sample().bytes()
    path = tmp_path / "run.halo"
    path.write_bytes(content[: data.draw(st.integers(1, len(content) - 1))])
    assert "cut short" in refusal(path)


json_values: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@relaxed
@given(data=st.data(), value=json_values)
def test_a_directory_of_another_shape_is_refused_or_read(
    tmp_path: Path, data: st.DataObject, value: object
) -> None:
    """Any value at any place of the directory: an error message or a table, never a crash."""

    def change(directory: dict[str, Any]) -> None:
        holder: Any = directory
        for _ in range(data.draw(st.integers(0, 6))):
            keys = list(holder) if isinstance(holder, dict) else range(len(holder))
            inner = [key for key in keys if isinstance(holder[key], dict | list) and holder[key]]
            if not inner:
                break
            holder = holder[data.draw(st.sampled_from(inner))]
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        holder[data.draw(st.sampled_from(keys))] = value

    path = rewritten(sample().write(tmp_path / "run.halo"), change)
    with suppress(ProfileError), explain.open(path) as profile:
        for table in explain.TABLES:
            profile.table(table)


def test_every_documented_column_may_be_read(tmp_path: Path) -> None:
    profile = explain.open(sample().write(tmp_path / "run.halo"))
    for table, kinds in COLUMNS.items():
        assert set(profile.frame(table).columns) == {name for kind in kinds for name in kind}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\x7fELF" + bytes(100), "is not a Haloscope profile"),
        (b"rank,bytes\n", "is not a Haloscope profile"),
        (b"\x89HALO\r\n\x1a" + bytes(4), "cut short"),
        (b"\x89HALO\r\n\x1a" + struct.pack("<II", 1, 0) + bytes(8), "cut short"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "a file.halo"
    path.write_bytes(content)
    assert words in refusal(path)


def test_a_newer_major_version_names_the_remedy(tmp_path: Path) -> None:
    written = sample()
    written.version = (2, 1)
    message = refusal(written.write(tmp_path / "run.halo"))
    assert "2.1" in message
    assert "install a newer Haloscope" in message


def test_a_newer_minor_version_with_more_in_it_is_read(tmp_path: Path) -> None:
    written = sample()
    written.version = (1, 7)
    written.tables["later"] = {"something": [1, 2]}
    written.tables["calls"] = {**written.tables["calls"], "later": [5]}
    profile = explain.open(written.write(tmp_path / "run.halo"))
    assert profile.table("calls")["calls"].to_list() == [300, 300]
    profile.verify()


@pytest.mark.parametrize("kind", ["missing", "directory", "pipe", "forbidden name"])
def test_a_directory_or_pipe_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "run.halo"
    if kind == "directory":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "forbidden name":
        path = tmp_path / ("x" * 300)
    refusal(path)


def set_chunk(directory: dict[str, Any], position: int, value: float) -> None:
    directory["tables"][3]["chunks"][0]["columns"][1][position] = value


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["tables"][3]["chunks"][0].update(rows=2**40), "cannot come from"),
        (lambda d: d["tables"][3]["chunks"][0].update(rows=2**62), "cannot come from"),
        (lambda d: d["tables"][3]["chunks"][0].update(rows=-1), "not a count"),
        (lambda d: d["tables"][3]["chunks"][0].update(rows=2), "does not unpack to 16 bytes"),
        (lambda d: d["tables"][3]["chunks"][0].update(rows=0), "does not unpack to 0 bytes"),
        (lambda d: set_chunk(d, 0, 0), "gap or overlap"),
        (lambda d: set_chunk(d, 0, 2**60), "gap or overlap"),
        (lambda d: set_chunk(d, 1, 2**60), "gap or overlap"),
        (lambda d: set_chunk(d, 2, 0), "checksum of column"),
        (lambda d: set_chunk(d, 3, 9), "unknown way"),
        (lambda d: d["tables"].pop(3), "byte"),
        (lambda d: d["tables"].append(d["tables"][3]), "two tables"),
        (lambda d: d.update(strings=[]), "names a string that does not exist"),
        (lambda d: d.update(strings=[1]), "not all strings"),
        (lambda d: d.update(info=[]), "info is not a JSON object"),
        (lambda d: d["tables"][3]["columns"][0].__setitem__(1, "complex"), "unknown type"),
        (lambda d: d["tables"][3]["columns"][0].__setitem__(1, "real"), "not of type"),
        (lambda d: d["tables"][3]["columns"][0].__setitem__(0, "road"), "no column path"),
        (lambda d: d["tables"][3].update(name="cells"), "no table calls"),
    ],
)
def test_a_wrong_directory_with_right_checksums_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], words: str
) -> None:
    path = rewritten(sample().write(tmp_path / "run.halo"), change)
    assert words in refusal(path)


@pytest.mark.parametrize("directory", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"1" * 5000, b"[]"])
def test_a_directory_that_is_no_json_object_is_refused(tmp_path: Path, directory: bytes) -> None:
    path = tmp_path / "run.halo"
    path.write_bytes(seal(sample().bytes()[:16], directory))
    refusal(path)


@pytest.mark.parametrize(
    "packed",
    [
        pytest.param(zlib.compress(bytes(1 << 26), 9), id="eight million values"),
        pytest.param(zlib.compress(bytes(8)) + b"more", id="bytes behind the stream"),
    ],
)
def test_a_column_that_unpacks_to_more_than_stated_is_refused(tmp_path: Path, packed: bytes) -> None:
    """The directory states one value."""
    path = sample().write(tmp_path / "run.halo")
    content = path.read_bytes()
    start = struct.unpack("<Q", content[-32:-24])[0]
    directory = json.loads(content[start:-32])
    directory["tables"].append(
        {
            "name": "later",
            "columns": [["x", "integer", ""]],
            "chunks": [{"rows": 1, "columns": [[start, len(packed), zlib.crc32(packed), 1]]}],
        }
    )
    path.write_bytes(seal(content[:start] + packed, json.dumps(directory).encode()))
    assert "does not unpack to 8 bytes" in refusal(path)


def test_a_string_outside_the_pool_is_refused(tmp_path: Path) -> None:
    """Index -1, which is the last element in Python, and an index after the end."""
    with explain.open(sample().write(tmp_path / "run.halo")) as profile:
        strings = len(profile.file.strings)
    for index in (-1, strings):
        written = sample()
        written.tables["later"] = {"name": [0, index]}
        path = rewritten(
            written.write(tmp_path / "run.halo"),
            lambda directory: directory["tables"][-1]["columns"][0].__setitem__(1, "string"),
        )
        assert "names a string that does not exist" in refusal(path)


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        ([], "does not begin with the root"),
        ([{"path": 0, "parent": 0, "name": "x"}], "does not begin with the root"),
        ([{"path": 3, "parent": -1, "name": "x"}], "not numbered"),
        ([*path_rows(), {"path": 1, "parent": 1, "name": "x"}], "before the one that holds it"),
        ([*path_rows(), {"path": 1, "parent": -5, "name": "x"}], "before the one that holds it"),
    ],
)
def test_regions_that_are_no_tree_are_refused(
    tmp_path: Path, paths: list[dict[str, Any]], words: str
) -> None:
    path = draft(paths=paths).write(tmp_path / "run.halo")
    with pytest.raises(ProfileError, match=words):
        explain.open(path).table("regions")


@pytest.mark.parametrize("text", ["\ud800", "x\udfff", "\ude00\ud83d"])
def test_halves_of_characters_are_refused(tmp_path: Path, text: str) -> None:
    for written in (draft({"program": text}), draft(paths=path_rows(text))):
        assert "not valid JSON" in refusal(written.write(tmp_path / "run.halo"))


def test_whole_characters_may_be_escaped(tmp_path: Path) -> None:
    path = draft(paths=path_rows("\U0001f600")).write(tmp_path / "run.halo")
    assert rb"\ud83d\ude00" in path.read_bytes()
    assert explain.open(path).regions.names[1] == "\U0001f600"


def chain(count: int) -> Draft:
    """Regions that are nested in each other, all of one name."""
    written = draft(ranks=[{"path": path, "rank": 0, "instances": 1} for path in (0, count - 1)])
    written.tables["paths"] = {
        "path": np.arange(count),
        "parent": np.arange(count) - 1,
        "communication": np.zeros(count, dtype=np.int64),
        "name": ["<program>", *["a region"] * (count - 1)],
    }
    return written


def test_long_paths_lose_their_middle_and_nothing_else(tmp_path: Path) -> None:
    regions = explain.open(chain(30_000).write(tmp_path / "run.halo")).regions
    names = regions.full_names
    assert names[3] == "a region/a region/a region"
    assert max(map(len, names)) <= 1000
    assert len(set(names)) == len(names)
    assert names[-1].startswith("a region/a region/")
    assert " ... #" in names[-1]
    assert regions.matching(names[20_000]).nonzero()[0].tolist() == [20_000]


def test_a_chain_of_long_names_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="too many to name"):
        explain.open(chain(200_000).write(tmp_path / "run.halo")).table("regions")


@pytest.mark.parametrize(
    ("table", "row", "words"),
    [
        ("ranks", {"path": 2, "rank": 0}, "names a region that does not exist"),
        ("ranks", {"path": -1, "rank": 0}, "names a region that does not exist"),
        ("ranks", {"path": 1, "rank": 0}, "a region and rank twice"),
        ("processes", {"rank": 0}, "a rank twice"),
    ],
)
def test_rows_that_contradict_others_are_refused(
    tmp_path: Path, table: str, row: dict[str, Any], words: str
) -> None:
    written = sample()
    columns = written.tables[table]
    written.tables[table] = {name: [*values, row.get(name, values[-1])] for name, values in columns.items()}
    with pytest.raises(ProfileError, match=words):
        explain.open(written.write(tmp_path / "run.halo")).table("regions")


def test_a_file_cut_while_it_is_open_is_an_error_message(tmp_path: Path) -> None:
    path = sample().write(tmp_path / "run.halo")
    profile = explain.open(path)
    os.truncate(path, 20)
    with pytest.raises(ProfileError, match="cut short"):
        profile.table("regions")


@pytest.mark.slow
@settings(relaxed, max_examples=12)
@given(data=st.data())
def test_any_numbers_are_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    """Nonsense with correct checksums: every table, the summary and the page can be read or are refused."""
    written = sample()
    numbers = st.sampled_from([-(2**63), -5, -1, 0, 1, 2, 3000, 2**62, 2**63 - 1])
    reals = st.sampled_from([float("nan"), float("inf"), -1.0, 0.0, 1e-320, 1e308])
    for table in [name for name in COLUMNS if name in written.tables]:
        integer, real, _ = COLUMNS[table]
        columns = dict(written.tables[table])
        for name in integer:
            if table != "paths" and data.draw(st.booleans()):
                columns[name] = [data.draw(numbers) for _ in columns[name]]
        for name in real:
            columns[name] = [data.draw(reals) for _ in columns[name]]
        written.tables[table] = columns
    path = written.write(tmp_path / "run.halo")
    with suppress(ProfileError), explain.open(path) as profile:
        for table in explain.TABLES:
            frame = profile.table(table)
            for fmt in explain.FORMATS:
                explain.render(frame, fmt, SHOWN[table], io.StringIO())
        explain.summary(profile)
        explain.report([path], tmp_path / "report.html")


def set_head(directory: dict[str, Any], head: object) -> None:
    directory["tables"][3]["columns"][0] = head


def set_lengths(directory: dict[str, Any], *lengths: int) -> None:
    parts = directory["tables"][3]["chunks"][0]["columns"]
    parts[: len(lengths)] = [[1] * length for length in lengths]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: set_lengths(d, 3, 5), "list of 4"),
        (lambda d: d["tables"][3]["chunks"][0]["columns"].pop(), "is not a list of 6"),
        (lambda d: set_chunk(d, 1, True), "not a count"),
        (lambda d: set_chunk(d, 2, 1.0), "not a count"),
        (lambda d: set_chunk(d, 2, 2**63), "not a count"),
        (lambda d: set_head(d, {"path": 1, "integer": 1, "": 1}), "is not a list"),
        (lambda d: set_head(d, ["path", "integer", ["a"]]), "not a string"),
        (lambda d: set_head(d, d["tables"][3]["columns"][1]), "of one name"),
    ],
)
def test_a_directory_that_only_looks_right_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], words: str
) -> None:
    explain.open(sample().write(tmp_path / "right.halo"))  # fills the cache of its tables
    path = rewritten(sample().write(tmp_path / "run.halo"), change)
    assert words in refusal(path)
