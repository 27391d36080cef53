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
        directory = tmp_path / name
        directory.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "haloscope-test", str(directory)]
        subprocess.run(command, check=True)
        mounted.append(directory)
        return directory

    yield make
    for directory in mounted:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)
