"""The recorder's defaults are those that the settings declare, and Python has a keyword for each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

from haloscope.base.settings import Setting
from haloscope.watch import SETTINGS, Recording
from support.mpi import CHECKOUT

GENERATE = """
import sys, pathlib
sys.path.insert(0, sys.argv[1])
import declared
folder = pathlib.Path(sys.argv[2], "watch")
folder.mkdir()
for name, text in declared.headers().items():
    (folder / name).write_text(text)
"""
# These are no texts in the recorder.
READ_AS = {
    "HALOSCOPE_RANKS": "all",
    "HALOSCOPE_ANNOTATIONS": "all",
    "HALOSCOPE_TRACE_SPOOL": os.environ.get("TMPDIR", "/tmp"),
}


@pytest.fixture(scope="module")
def defaults(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The value of each variable that the recorder takes without it."""
    directory = tmp_path_factory.mktemp("defaults")
    source = CHECKOUT / "src"
    subprocess.run([sys.executable, "-c", GENERATE, source / "watch", directory], check=True)
    sources = [Path(__file__).parent / "settings" / "defaults.cpp"]
    parts = ("watch/settings.cpp", "watch/annotations/interfaces.cpp", "interpose/report.cpp")
    sources += [source / part for part in parts]
    words = ["c++", "-std=c++20", "-O0", f"-I{source}", f"-I{directory}", *map(str, sources)]
    made = directory / "defaults"
    subprocess.run([*words, "-o", str(made)], check=True)
    others = {name: text for name, text in os.environ.items() if "HALOSCOPE" not in name}
    done = subprocess.run([made], env=others, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return dict(line.split("\t") for line in done.stdout.splitlines())


def test_every_setting_is_looked_at(defaults: dict[str, str]) -> None:
    assert set(defaults) == {setting.variable for setting in SETTINGS}


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_the_recorder_has_the_declared_default(setting: Setting, defaults: dict[str, str]) -> None:
    assert defaults[setting.variable] == READ_AS.get(setting.variable, setting.initial)


def test_python_has_a_keyword_for_each() -> None:
    assert list(get_type_hints(Recording)) == [setting.name for setting in SETTINGS]
