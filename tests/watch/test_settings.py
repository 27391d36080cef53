"""The recorder's defaults are those that the options and the documentation name."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from haloscope.base.settings import Setting
from haloscope.watch import SETTINGS
from support.mpi import CHECKOUT

DESIGN = (CHECKOUT / "docs" / "design.md").read_text()
EACH = pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)


def plain(said: str) -> str:
    """Return a default as the recorder has it, from how people read it: "0, none" is 0."""
    word = re.split("[,: ]", said.strip().replace("`", ""), maxsplit=1)[0]
    return {"off": "0", "none": "", "all": ""}.get(word, word)


@pytest.fixture(scope="module")
def defaults(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The value of each variable that the recorder takes without it."""
    made = tmp_path_factory.mktemp("defaults") / "defaults"
    sources = [Path(__file__).parent / "settings" / "defaults.cpp"]
    sources += [CHECKOUT / "src" / name for name in ("watch/settings.cpp", "interpose/report.cpp")]
    words = ["c++", "-std=c++20", "-O0", f"-I{CHECKOUT / 'src'}", *map(str, sources)]
    subprocess.run([*words, "-o", str(made)], check=True, timeout=200)
    others = {name: text for name, text in os.environ.items() if "HALOSCOPE" not in name}
    done = subprocess.run([made], env=others, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return dict(line.split("\t") for line in done.stdout.splitlines())


def test_every_setting_is_looked_at(defaults: dict[str, str]) -> None:
    assert set(defaults) == {setting.variable for setting in SETTINGS}


@EACH
def test_options_name_the_recorders_default(setting: Setting, defaults: dict[str, str]) -> None:
    assert plain(setting.default) == plain(defaults[setting.variable])


@EACH
def test_the_documentation_does(setting: Setting, defaults: dict[str, str]) -> None:
    (row,) = re.findall(rf"^\| .*`{setting.variable}`.*$", DESIGN, re.MULTILINE)
    assert plain(row.split("|")[3]) == plain(defaults[setting.variable])
