"""The recorder's defaults are those that the settings declare, and Python has a keyword for each."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import get_type_hints

import pytest

from haloscope.base.settings import Setting
from haloscope.watch import PASSED_ON, SETTINGS, Recording
from support.generated import write_headers
from support.mpi import CHECKOUT
from support.processes import run_program

# These are no texts in the recorder.
READ_AS = {
    "HALOSCOPE_RANKS": "all",
    "HALOSCOPE_ANNOTATIONS": "all",
    "HALOSCOPE_TRACE_SPOOL": os.environ.get("TMPDIR", "/tmp"),
}


Read = Callable[..., tuple[dict[str, str], str]]
NONSENSE = {
    "HALOSCOPE_MEMORY": ["lots", "0", "-1", "1e3", "16 MiB", "65537", "9" * 30],
    "HALOSCOPE_EXACT_TIMES": ["yes", "2", "-1", "1 "],
    "HALOSCOPE_RUN": ["../../escape", "a b", "é"],
    "HALOSCOPE_SLICE": ["-1", "1 s", "nan", "inf", "100000001"],
    "HALOSCOPE_AFTER": ["-0.5", "soon", " 1"],
    "HALOSCOPE_UNTIL": ["-1", "1,5"],
    "HALOSCOPE_SYNC_COLLECTIVES": ["-1", "1.5", "1000001"],
    "HALOSCOPE_SIZE_LIMIT": ["-1", "1 MiB", "9" * 30],
    "HALOSCOPE_TRACE": ["full", "2"],
    "HALOSCOPE_TRACE_COMPACT": ["compact"],
    "HALOSCOPE_CALLSITES": ["4"],
    "HALOSCOPE_DEPTH": ["0", "33", "all"],
    "HALOSCOPE_RANKS": ["all", "0,", ",", "-1", "1-0", "0-", "0;1", "0 1", "2,5-9", "9" * 30],
}
OPTIONS = {setting.variable: setting.option for setting in SETTINGS if setting.is_option}


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """`read(NAME=VALUE, ...)`: the recorder's value of each variable, and its report."""
    directory = tmp_path_factory.mktemp("defaults")
    source = CHECKOUT / "src"
    sources = [Path(__file__).parent / "settings" / "defaults.cpp"]
    parts = ("watch/collecting/settings.cpp", "watch/annotations/interfaces.cpp", "interpose/report.cpp")
    sources += [source / part for part in parts]
    words = ["c++", "-std=c++20", "-O0", f"-I{source}", f"-I{write_headers(directory)}", *map(str, sources)]
    made = directory / "defaults"
    subprocess.run([*words, "-o", str(made)], check=True)
    others = {name: text for name, text in os.environ.items() if "HALOSCOPE" not in name}

    def values(**given: str) -> tuple[dict[str, str], str]:
        done = run_program([made], env=others | given)
        return dict(line.split("\t") for line in done.stdout.splitlines()), done.stderr

    return values


@pytest.fixture(scope="module")
def defaults(read: Read) -> dict[str, str]:
    values, reported = read()
    assert reported == ""
    return values


def test_every_setting_is_looked_at(defaults: dict[str, str]) -> None:
    assert set(defaults) == {setting.variable for setting in (*SETTINGS, *PASSED_ON)}


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_the_recorder_has_the_declared_default(setting: Setting, defaults: dict[str, str]) -> None:
    assert defaults[setting.variable] == READ_AS.get(setting.variable, setting.initial)


def test_python_has_a_keyword_for_each() -> None:
    assert list(get_type_hints(Recording)) == [setting.name for setting in SETTINGS]


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in NONSENSE.items() for value in values]
)
def test_a_setting_that_makes_no_sense(read: Read, defaults: dict[str, str], name: str, value: str) -> None:
    values, reported = read(**{name: value})
    assert values == defaults
    (line,) = reported.splitlines()
    setting = OPTIONS.get(name)
    assert (f"{setting} '{value}' ({name}) is not " if setting else f"{name}='{value}' is not ") in line
    assert line.endswith("; using the default")


def test_settings_that_are_taken(read: Read, defaults: dict[str, str]) -> None:
    given = {
        "HALOSCOPE_MEMORY": "65536",
        "HALOSCOPE_EXACT_TIMES": "1",
        "HALOSCOPE_SLICE": "0.25",
        "HALOSCOPE_AFTER": "0.5",
        "HALOSCOPE_UNTIL": "1.5",
        "HALOSCOPE_SYNC_COLLECTIVES": "1000000",
        "HALOSCOPE_SIZE_LIMIT": "7",
        "HALOSCOPE_TRACE": "1",
        "HALOSCOPE_TRACE_COMPACT": "1",
        "HALOSCOPE_CALLSITES": "1",
        "HALOSCOPE_DEPTH": "3",
        "HALOSCOPE_PHASES": "0",
        "HALOSCOPE_TRACE_MEMORY": "2",
        "HALOSCOPE_FINALIZE_TIME": "2.5",
        "HALOSCOPE_SERIES": "a b",
        "HALOSCOPE_ONLY": "c",
        "HALOSCOPE_LIVE": "/d",
        "HALOSCOPE_OUTPUT": "e",
        "HALOSCOPE_TRACE_SPOOL": "/f",
    }
    values, reported = read(**given)
    assert reported == ""
    assert values == defaults | given
    assert read(HALOSCOPE_RANKS="1-7")[0] == defaults | {"HALOSCOPE_RANKS": "some"}
    assert read(HALOSCOPE_ANNOTATIONS="nvtx")[0] == defaults | {"HALOSCOPE_ANNOTATIONS": "some"}
    with_trace = {"HALOSCOPE_TRACE": "1", "HALOSCOPE_TRACE_COMPACT": "1"}
    assert read(HALOSCOPE_TRACE_COMPACT="1")[0] == defaults | with_trace
    # A shorter slice is no history.
    assert read(HALOSCOPE_SLICE="1e-9")[0] == defaults | {"HALOSCOPE_SLICE": "0.001"}
