"""Every table on a terminal and in a pipe: no number is cut, and no line is too wide."""

from __future__ import annotations

import io
import os
import re
import subprocess
from pathlib import Path

import pytest

from haloscope import explain
from haloscope.cli import main
from haloscope.profile.shown import SHOWN
from support.profiles import draft, path_rows, process_rows

KEPT = Path(__file__).parents[1] / "data" / "0.1.0.halo"


class Stream(io.TextIOWrapper):
    """What is written, in an encoding; it may be a terminal."""

    def __init__(self, encoding: str, is_terminal: bool) -> None:
        assert callable(main)  # its module knows what to write for characters that the encoding has not
        super().__init__(io.BytesIO(), encoding=encoding, errors="haloscope", newline="")
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> list[explain.Profile]:
    """A recorded profile with a trace, and one with the tables that it does not have."""
    calls = [{"rank": 0, "call": "MPI_Send", "calls": 1234567, "bytes": 10**12, "time_total": 1.5}]
    phase = {"rank": 0, "phase": 1, "iterations": 12345, "length": 7, "calls": 86415, "all_calls": 90000}
    made = draft(
        paths=path_rows(), processes=process_rows("alpha"), rank_calls=calls, phases=[phase | {"end": 9.5}]
    )
    return [explain.open(KEPT), explain.open(made.write(tmp_path_factory.mktemp("widths") / "more.halo"))]


def test_the_command_prints_plain_characters(haloscope: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [haloscope, "show", KEPT, "--table", "calls"], env=environment, capture_output=True, check=True
    )
    assert b"us" in done.stdout
    assert b"\\x" not in done.stdout


def printed(profile: explain.Profile, table: str, encoding: str, *, is_terminal: bool) -> list[str]:
    stream = Stream(encoding, is_terminal)
    explain.render(profile.table(table), "table", SHOWN[table], stream)
    stream.seek(0)
    plain = re.sub(r"\x1b\[[\d;]*m", "", stream.read())
    return plain.replace("|", " ").splitlines()  # between columns in ASCII


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("table", explain.TABLES)
def test_every_table_fits_and_its_numbers_are_whole(
    profiles: list[explain.Profile], monkeypatch: pytest.MonkeyPatch, table: str, columns: int, encoding: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    seen = 0
    for profile in profiles:
        whole = printed(profile, table, encoding, is_terminal=False)
        shown = printed(profile, table, encoding, is_terminal=True)
        assert max(map(len, shown)) <= columns
        rows = len(profile.table(table))
        seen += rows
        if table == "sites":  # which has a row for several stacks
            rows = next(number for number, line in enumerate(whole) if line.startswith("time:")) - 2
        if not rows or table == "info":  # whose values are folded
            continue
        # A cell is between two blanks or more; those of a terminal are the first of a row.
        for line, row in zip(shown[2 : 2 + rows], whole[2 : 2 + rows], strict=True):
            cells = [cell for cell in re.split(r"\s{2,}", line.strip()) if not re.search("[…~]", cell)]
            assert [cell for cell in cells if cell not in row] == []
            assert line.split()[-1] in row.split()
    assert seen
