"""Tables as text, JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from haloscope import UsageError, explain
from haloscope.base.units import (
    bytes_text,
    count_text,
    duration_text,
    moment_text,
    noun_text,
    percent_text,
    ranks_text,
    time_text,
)
from haloscope.explain import Profile
from haloscope.profile.shown import SHOWN
from support.profiles import Draft, draft, path_rows, process_rows
from support.sample import halo_profile

Read = Callable[[Draft], Profile]

HOSTILE = "<script>alert(1)</script>[bold]\x1b[31m:smile:,\"\n'é漢\u202e"


def text(profile: Profile, fmt: str, table: str) -> str:
    stream = io.StringIO()
    explain.render(profile.table(table), fmt, SHOWN[table], stream)
    return stream.getvalue()


@pytest.mark.parametrize("table", explain.TABLES)
def test_json_is_a_list_of_records_of_the_table(read: Read, nested: Draft, table: str) -> None:
    profile = read(nested)
    records = json.loads(text(profile, "json", table))
    frame = profile.table(table)
    if table == "info":
        told = {record["key"]: record["value"] for record in records}
        assert told["ranks"] == 2
        assert told["partial"] is False
        assert told["missing_ranks"] == []
        assert told["hosts"] == ["alpha", "beta"]
        assert told["mpi_library"] == "Open MPI v4.1.4"
    else:
        assert records == frame.to_dicts()
        assert all(
            type(v) is type(w)
            for r, s in zip(records, frame.to_dicts(), strict=True)
            for v, w in zip(r.values(), s.values(), strict=True)
        )


@pytest.mark.parametrize("table", explain.TABLES)
def test_csv_has_a_header_and_every_row(read: Read, nested: Draft, table: str) -> None:
    profile = read(nested)
    rows = list(csv.reader(io.StringIO(text(profile, "csv", table))))
    frame = profile.table(table)
    assert rows[0] == frame.columns
    assert len(rows) == 1 + len(frame)


def test_text_that_looks_like_a_number_stays_text(read: Read) -> None:
    written = draft({"program": "007", "version": "1"}, paths=path_rows())
    told = {r["key"]: r["value"] for r in json.loads(text(read(written), "json", "info"))}
    assert (told["program"], told["version"]) == ("007", "1")


def test_long_tables_are_written_whole() -> None:
    """They are written in parts of about 10 000 rows."""
    rows = 120_000
    frame = pl.DataFrame(
        {
            "region": ['a "b",\nc'] * rows,
            "call": ["MPI_Send"] * rows,
            "calls": range(rows),
            "bytes": [None] * rows,
        }
    )
    stream = io.StringIO()
    explain.render(frame, "csv", SHOWN["calls"], stream)
    read = list(csv.reader(io.StringIO(stream.getvalue(), newline="")))
    assert read == [frame.columns, *([region, call, str(n), ""] for region, call, n, _ in frame.iter_rows())]
    stream = io.StringIO()
    explain.render(frame, "json", SHOWN["calls"], stream)
    assert json.loads(stream.getvalue()) == frame.to_dicts()


def test_the_regions_table_names_hidden_columns(tmp_path: Path) -> None:
    path = halo_profile((4, 4, 4)).write(tmp_path / "run.halo")
    lines = text(explain.open(path), "table", "regions").splitlines()
    assert lines[2].startswith("<program>")
    assert lines[4].startswith("    level 0")
    assert lines[5].startswith("      halo")
    assert any("62 more columns" in line and "--format csv" in line for line in lines)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_a_terminal_cuts_no_number_but_names_the_columns_without_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    profile = explain.open(halo_profile((4, 4, 4)).write(tmp_path / "run.halo"))
    stream = Terminal()
    explain.render(profile.table("regions"), "table", SHOWN["regions"], stream)
    lines = re.sub(r"\x1b\[[\d;]*m", "", stream.getvalue()).splitlines()
    assert max(len(line) for line in lines) <= columns
    whole = text(profile, "table", "regions").splitlines()
    head, rows = whole[0].split(), whole[2:6]
    shown = lines[0].split()
    assert shown == head[: len(shown)]
    for line, row in zip(lines[2:6], rows, strict=True):
        assert row.startswith(line.rstrip())
    absent = " ".join(lines).partition(f"no space in {columns} columns for: ")[2]
    assert absent.replace(",", "").split() == head[len(shown) :]
    assert bool(absent) == (columns < 100)


@pytest.mark.parametrize("columns", [60, 80, 120, None])
def test_long_names_are_shortened_in_the_middle_on_a_terminal(
    read: Read, monkeypatch: pytest.MonkeyPatch, columns: int | None
) -> None:
    name = f"begin {'of a region with a long name, ' * 5}end"
    rows: list[dict[str, Any]] = [
        {"path": 0, "rank": 0, "instances": 1, "time": 1.5},
        {"path": 1, "rank": 0, "sends": 42},
    ]
    profile = read(draft(paths=path_rows(name), ranks=rows))
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = io.StringIO() if columns is None else Terminal()
    explain.render(profile.table("regions"), "table", SHOWN["regions"], stream)
    lines = re.sub(r"\x1b\[[\d;]*m", "", stream.getvalue()).splitlines()
    assert lines[0].split()[0] == "region"
    assert "1.50 s" in lines[2]
    (line,) = [line for line in lines if line.startswith("  begin")]
    if columns is None:
        assert line.startswith(f"  {name}")
    else:
        assert max(map(len, lines)) <= columns
        assert re.match(r"  begin.*….*end", line)
        assert "42" in line or "sends" in " ".join(lines).partition("no space")[2]


@pytest.mark.parametrize(("seconds", "shown"), [(0.0, "not timed"), (2e-9, "2.00 ns")])
def test_calls_that_are_only_counted_have_no_time(read: Read, seconds: float, shown: str) -> None:
    row = {"call": "MPI_Comm_rank", "calls": 3, "time_total": seconds, "time_max": seconds}
    written = draft(paths=path_rows(), calls=[{"path": 0, **row}], rank_calls=[{"rank": 0, **row}])
    for table in ("calls", "rank_calls"):
        line = text(read(written), "table", table).splitlines()[2]
        assert line.count(shown) == 2
        assert ("not timed" in line) == (seconds == 0)


def test_control_characters_in_names_have_no_effect(read: Read) -> None:
    profile = read(draft(paths=path_rows(), communicators=[{"name": HOSTILE, "size": 1}]))
    shown = text(profile, "table", "communicators")
    assert "<script>alert(1)</script>[bold]\\x1b[31m:smile:,\"\\n'é漢\\u202e" in shown
    assert not {"\x1b", "\u202e"} & set(shown)
    assert json.loads(text(profile, "json", "communicators"))[0]["name"] == HOSTILE
    rows = csv.DictReader(io.StringIO(text(profile, "csv", "communicators"), newline=""))
    assert next(rows)["name"] == HOSTILE


def test_a_printed_table_stops_at_a_thousand_rows_and_says_so(tmp_path: Path) -> None:
    path = halo_profile((4, 4, 4)).write(tmp_path / "run.halo")
    profile = explain.open(path)
    lines = text(profile, "table", "partners").splitlines()
    rows = len(profile.table("partners"))
    assert rows > 1000
    assert f"the first 1000 of {rows} rows; all: --format csv or json" in lines
    assert len(lines) < 1010


def test_an_empty_table_says_that_nothing_was_recorded(read: Read) -> None:
    assert "no series recorded" in text(read(draft(paths=path_rows())), "table", "series")
    assert text(read(draft(paths=path_rows())), "json", "series") == "[]\n"


def test_recorded_values_are_shown(read: Read) -> None:
    key = {"path": 0, "rank": 0, "instance": 0}
    written = draft(
        paths=path_rows(),
        processes=process_rows("alpha"),
        series=[key],
        values=[{**key, "name": "residual", "value": 0.25}],
    )
    told = text(read(written), "table", "series")
    assert "residual" in told
    assert "0.25" in told


def test_another_format_is_a_usage_error(read: Read, nested: Draft) -> None:
    with pytest.raises(UsageError, match=r"no format 'xml'.*table, csv, json"):
        text(read(nested), "xml", "regions")


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (bytes_text(8), "8 B"),
        (bytes_text(9999), "9999 B"),
        (bytes_text(86528), "86.5 kB"),
        (bytes_text(1342177280), "1.34 GB"),
        (bytes_text(3194.1), "3.19 kB"),
        (bytes_text(None), "–"),
        (ranks_text([3]), "rank 3"),
        (ranks_text([]), "no ranks"),
        (noun_text(1, "rank"), "1 rank"),
        (noun_text(4, "rank"), "4 ranks"),
        (noun_text(0, "entry", "entries"), "0 entries"),
        (duration_text(0.0123), "12.3 ms"),
        (duration_text(59.97), "1 min"),
        (duration_text(75), "1 min 15 s"),
        (duration_text(3600), "1 h"),
        (duration_text(11_520), "3 h 12 min"),
        (duration_text(86_399), "1 d"),
        (duration_text(200_000), "2 d 8 h"),
        (ranks_text([0, 1, 2, 5, 7, 8]), "ranks 0-2, 5, 7-8"),
        (ranks_text(range(0, 40, 2)), "ranks 0, 2, 4, 6, 8, 10, 12, 14 … (20 in all)"),
        (count_text(184320), "184320"),
        (count_text(255_000_000), "255 M"),
        (time_text(0.0), "0 s"),
        (time_text(0.9999996), "1.00 s"),
        (time_text(0.0123), "12.3 ms"),
        (time_text(1.5e-8), "15.0 ns"),
        (time_text(-0.5), "-500 ms"),
        (time_text(999.6), "1000 s"),
        (time_text(12345.4), "12345 s"),
        (count_text(1e22), "10000 E"),
        (percent_text(-1e-9, 1.0), "0.0 %"),
        (percent_text(1.0, 8.0), "12.5 %"),
        (percent_text(1.0, 0.0), "–"),
        (percent_text(None, 1.0), "–"),
        (moment_text(1e300), "1e+300 s"),
    ],
)
def test_units(shown: str, expected: str) -> None:
    assert shown == expected


def test_notebooks_show_a_profile_and_its_tables(read: Read) -> None:
    """Regions are the same as `show` prints; no name of the program becomes markup."""
    paths = [*path_rows("halo"), {"path": 2, "parent": 0, "name": HOSTILE, "communication": 1}]
    ranks = [{"path": path, "rank": 0, "instances": 1, "time": 1.0} for path in range(3)]
    profile = read(draft({"program": HOSTILE}, paths=paths, processes=process_rows("alpha"), ranks=ranks))
    page, table = profile._repr_html_(), profile.table("regions")._repr_html_()
    for shown in (page, table):
        assert "halo" in shown
        assert "&lt;script&gt;" in shown
        assert "<script" not in shown
    assert [title for title in ("region", "time", "partners") if f">{title}</th>" not in page] == []
    assert page.count("<tr>") == 1 + 3
    assert not {"\x1b", "\u202e"} & set(page)
