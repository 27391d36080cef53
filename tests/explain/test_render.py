"""Tables as text, JSON and CSV, and the summary."""

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

from haloscope import explain
from haloscope.base.errors import UsageError
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


def test_the_regions_table_fits_100_columns_and_names_hidden_columns(tmp_path: Path) -> None:
    path = halo_profile((4, 4, 4)).write(tmp_path / "run.halo")
    lines = text(explain.open(path), "table", "regions").splitlines()
    assert max(len(line) for line in lines) <= 100
    assert lines[2].startswith("<program>")
    assert lines[4].startswith("    level 0")
    assert lines[5].startswith("      halo")
    assert any("54 more columns" in line and "--format csv" in line for line in lines)


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


def test_long_names_fold_and_do_not_hide_numbers(read: Read) -> None:
    name = "a region whose name is much longer than any sensible person would make it, " * 2
    rows: list[dict[str, Any]] = [
        {"path": 0, "rank": 0, "instances": 1, "time": 1.5},
        {"path": 1, "rank": 0, "sends": 42},
    ]
    profile = read(draft(paths=path_rows(name), ranks=rows))
    told = text(profile, "table", "regions")
    assert "1.50 s" in told
    assert "42" in told
    assert max(len(line) for line in told.splitlines()) <= 100


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
        (percent_text(1.0, 8.0), "12.5 %"),
        (percent_text(1.0, 0.0), "–"),
        (percent_text(None, 1.0), "–"),
        (moment_text(1e300), "1e+300 s"),
    ],
)
def test_units(shown: str, expected: str) -> None:
    assert shown == expected


def test_the_summary_starts_with_the_share_of_communication(read: Read, nested: Draft) -> None:
    lines = explain.summary(read(nested))
    assert lines[0] == "cg: 2 ranks on 2 hosts, 10.0 s"
    # 5.25 of the 22 seconds of both ranks.
    assert lines[1].startswith("communication: 23.9 % of the time")
    assert "6 messages, 4107 B" in lines[1]
    assert [line.strip() for line in lines[2:5]] == [
        "57.1 % of it in region solve/halo",
        "33.3 % of it in region solve",
        "9.5 % of it in region halo",
    ]
    assert [line.split(":")[0] for line in lines[5:7]] == ["finding", "finding"]
    assert lines[-1].startswith("look further: haloscope show ")
    assert len(lines) == 9


def test_the_summary_of_an_unmarked_program_names_calls(read: Read) -> None:
    written = draft(
        {"program": "lmp"},
        paths=path_rows(),
        processes=process_rows("alpha"),
        ranks=[{"path": 0, "rank": 0, "time": 4.0, "p2p_time": 1.0, "coll_time": 1.0}],
        calls=[{"path": 0, "call": f"MPI_{i}", "time_total": i / 4} for i in range(5)],
    )
    lines = explain.summary(read(written))
    assert "50.0 % of it in MPI_4" in lines[2]
    assert "MPI_1" not in "".join(lines)


def test_the_summary_states_the_share_of_other_functions(read: Read) -> None:
    """Functions have 9 of 10 s in MPI, the first three of them 6 s."""
    written = draft(
        {"program": "lmp"},
        paths=path_rows(),
        processes=process_rows("alpha"),
        ranks=[{"path": 0, "rank": 0, "time": 20.0, "p2p_time": 10.0}],
        calls=[
            {"path": 0, "call": f"MPI_{i}", "time_total": time}
            for i, time in enumerate([3.0, 2.0, 1.0, 0.75, 0.75, 0.75, 0.75])
        ],
    )
    lines = explain.summary(read(written))
    assert lines[4].strip() == "10.0 % of it in MPI_2; 30.0 % in 4 other functions, 10.0 % unattributed"


def test_the_summary_names_functions_and_regions(read: Read, nested: Draft) -> None:
    line = explain.summary(read(nested))[1]
    assert "; in MPI_Recv 57.1 %, MPI_Send 47.6 %" in line


def phase_rows(*ranks: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """Rows of `phases`: per rank the iterations of its phases, and their calls out of 1000."""
    return [
        {"rank": rank, "phase": number, "iterations": times, "calls": calls, "all_calls": 1000, "length": 20}
        for rank, phases in enumerate(ranks)
        for number, (times, calls) in enumerate(phases, 1)
    ]


def lines_about_phases(read: Read, recorded: int, rows: list[dict[str, Any]]) -> list[str]:
    processes = process_rows(*["alpha"] * recorded)
    written = draft({"ranks": 8}, paths=path_rows(), processes=processes, phases=rows)
    return [line for line in explain.summary(read(written)) if line.startswith("phase ")]


@pytest.mark.parametrize(
    ("other", "times"), [((33, 900), "33 iterations"), ((31, 900), "31 to 33 iterations")]
)
def test_the_summary_has_iterations_on_which_ranks_agree(
    read: Read, other: tuple[int, int], times: str
) -> None:
    (line,) = lines_about_phases(read, 4, phase_rows(*[[(33, 900)]] * 3, [other]))
    assert line == f"phase 1: {times} of 20 calls, 90.0 % of the calls; found from the sequence of calls"


@pytest.mark.parametrize("other", [[(30, 900)], [(9, 100), (63, 800)], [], [(33, 100)]])
def test_the_summary_has_no_iterations_on_which_ranks_differ(
    read: Read, other: list[tuple[int, int]]
) -> None:
    """One rank has other iterations, none, or most of its calls elsewhere."""
    assert lines_about_phases(read, 4, phase_rows([(33, 900)], other, [(33, 900)], [(33, 900)])) == []


@pytest.mark.parametrize(("other", "name"), [(33, "phase 1"), (9, "phase 1 (candidate)")])
def test_a_phase_on_which_ranks_differ_is_a_candidate(read: Read, other: int, name: str) -> None:
    written = draft(
        {"ranks": 2},
        paths=path_rows("phase 1", "phase 1/iteration"),
        processes=process_rows("alpha", "alpha"),
        phases=phase_rows([(33, 900)], [(other, 900)]),
        ranks=[{"path": path, "rank": 0, "instances": 1, "time": 1.0} for path in range(3)],
    )
    assert read(written).table("regions")["region"].to_list() == ["<program>", name, "iteration"]


def test_the_summary_has_no_iterations_of_a_part_of_the_run(read: Read) -> None:
    """A marker or an abort ended the search: how many calls the run had is unknown."""
    rows = phase_rows(*[[(33, 900)]] * 4)
    assert lines_about_phases(read, 4, [{**row, "all_calls": 0} for row in rows]) == []


@pytest.mark.parametrize(("length", "lines"), [(2, 0), (3, 1)])
def test_the_summary_has_no_iterations_of_one_or_two_calls(read: Read, length: int, lines: int) -> None:
    """They may be a part of an iteration, as a relaxation is of a time step."""
    rows = [{**row, "length": length} for row in phase_rows(*[[(8614, 1000)]] * 4)]
    assert len(lines_about_phases(read, 4, rows)) == lines


def test_the_summary_has_no_regions_that_the_program_did_not_mark(read: Read) -> None:
    """The recorder's own are candidates: ranks may disagree about them."""
    written = draft(
        paths=path_rows("phase 1"),
        phases=phase_rows([(33, 900)], [(9, 900)]),
        ranks=[{"path": path, "rank": 0, "time": 20.0, "p2p_time": 10.0} for path in (0, 1)],
        calls=[{"path": 1, "call": "MPI_Recv", "time_total": 10.0}],
    )
    text = "\n".join(explain.summary(read(written)))
    assert "of it in MPI_Recv" in text
    assert "of it in region" not in text


def test_the_summary_names_the_phase_with_the_most_calls(read: Read) -> None:
    """The first phase of all ranks is their initialisation."""
    (line,) = lines_about_phases(read, 4, phase_rows(*[[(9, 100), (63, 800)]] * 4))
    assert line.startswith("phase 2: 63 iterations of 20 calls, 80.0 % of the calls")


def test_the_summary_warns_in_few_lines(read: Read, nested: Draft) -> None:
    nested.info |= {"partial": True, "missing_ranks": [1], "program": "a\nb"}
    nested.tables["processes"] = {
        **nested.tables["processes"],
        "dropped": [1, 2],
        "unmatched_begins": [1, 0],
        "unmatched_ends": [0, 5],
        "finalized": [0, 1],
    }
    nested.tables |= {"unaccounted": {"call": ["MPI_New"], "calls": [2]}}
    lines = explain.summary(read(nested))
    told = "\n".join(lines)
    assert len(lines) == told.count("\n") + 1 <= 12
    for words in (
        "rank 1 left no record; rank 0 did not reach",
        "3 records dropped",
        "1 region begin without",
        "5 region ends without",
        "MPI_New",
    ):
        assert words in told


def test_the_summary_of_nothing_has_no_division_by_zero(read: Read) -> None:
    lines = explain.summary(read(draft(paths=path_rows())))
    assert lines[0].startswith("cg: 2 ranks")


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


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ({"series": "halo\nsolve/halo"}, None),
        ({"series": "hallo"}, "no such region: --series hallo; there is halo …"),
        ({"only": "a\nsolve", "series": "b"}, "no such region: --series b, --only a; there is halo, solve"),
    ],
)
def test_the_summary_lists_regions_if_one_is_unknown(
    read: Read, asked: dict[str, str], line: str | None
) -> None:
    lines = explain.summary(read(draft(asked, paths=path_rows("solve", "solve/halo"))))
    assert [text for text in lines if text.startswith("no such region")] == [line] * (line is not None)
