"""The tables of waiting, of a program that has run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import haloscope as library
from haloscope.cli import haloscope as command
from haloscope.explain import Profile
from haloscope.profile.shown import SHOWN
from support.analysed import check_tables
from support.profiles import Draft, draft, path_rows

TRACE_TABLES = ("waits", "wait_pairs", "delays", "critical_path", "tolerance")


def test_tables_agree_with_each_other(late_ring: Path) -> None:
    with library.open(late_ring) as profile:
        check_tables(profile)
        for name in TRACE_TABLES:
            assert profile.table(name).columns == SHOWN[name].columns
            assert len(profile.table(name))
        assert profile.remarks("waits") == []


@pytest.mark.parametrize("name", TRACE_TABLES)
def test_the_command_shows_them(late_ring: Path, name: str) -> None:
    done = CliRunner().invoke(command, ["show", str(late_ring), "--table", name])
    assert done.exit_code == 0
    assert done.stdout.strip()
    assert done.stderr == ""


@pytest.mark.parametrize("name", TRACE_TABLES)
def test_without_a_trace_tables_are_empty_and_say_why(read: Callable[[Draft], Profile], name: str) -> None:
    profile = read(draft(paths=path_rows()))
    assert profile.table(name).is_empty()
    done = CliRunner().invoke(command, ["show", str(profile.path), "--table", name])
    assert done.exit_code == 0
    assert done.stderr.count("\n") == 1
    assert "haloscope run --trace" in done.stderr
