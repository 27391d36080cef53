"""Small file systems, for what happens when one is full."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.missing import missing

Mount = Callable[[str, str], Path]


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """`mount(name, options)` makes a small file system below `tmp_path`."""
    if os.geteuid() != 0:
        missing("mounting needs root")
    mounted: list[Path] = []

    def make(name: str, options: str) -> Path:
        place = tmp_path / name
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "haloscope-test", str(place)]
        subprocess.run(command, check=True)
        mounted.append(place)
        return place

    yield make
    for place in mounted:
        subprocess.run(["umount", "--lazy", str(place)], check=True)
