"""From a real run to its regimes, with the real commands."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from support.applications import Application
from support.mpi import Mpi
from support.programs import Compiler

ITERATIONS = 60
REGION = "main/cg/halo_exchange"
Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def profile(
    any_mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    path = tmp_path_factory.mktemp("cg") / "cg.halo"
    program = Application.build(compiler, any_mpi, "cg").program
    size = ["--nx", "16", "--ny", "16", "--nz", "16", "--iterations", str(ITERATIONS)]
    watched = ["run", "--quiet", "--series", REGION, "-o", str(path), "--"]
    subprocess.run(
        [haloscope, *watched, *any_mpi.launch(4), program, *size],
        env=any_mpi.environment(),
        check=True,
        capture_output=True,
    )
    return path


def test_regimes_of_a_real_run(profile: Path, command: Command) -> None:
    printed = command("regimes", profile, "--format", "json", "-o", "page.html")
    assert printed.stderr == ""
    rows = json.loads(printed.stdout)
    assert [(row["file"], row["region"]) for row in rows] == [("cg", REGION)] * 3
    assert sum(row["instances"] for row in rows) % 4 == 0
    assert sum(row["instances"] for row in rows) >= 4 * ITERATIONS
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    assert Path("page.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    # What show prints is read as well, and gives the same.
    Path("cg.csv").write_text(command("show", profile, "--table", "series", "--format", "csv").stdout)
    again = command("regimes", "cg.csv", "--format", "json", status=None)
    same = [[row[key] for key in ("regime", "mean", "instances")] for row in json.loads(again.stdout)]
    assert same == [[row[key] for key in ("regime", "mean", "instances")] for row in rows]


def test_errors_are_one_line(profile: Path, command: Command) -> None:
    Path("empty.csv").touch()
    cases: list[tuple[list[str | Path], int, str]] = [
        (["empty.csv"], 1, "empty.csv: is empty"),
        (["missing.halo"], 1, "missing.halo: No such file"),
        ([profile, "--region", "nowhere"], 2, "no region is called 'nowhere'"),
        ([profile, "-o", "no/such/page.html"], 1, "cannot be written"),
        ([], 2, "Missing argument"),
    ]
    for arguments, status, words in cases:
        done = command("regimes", *arguments, status=status)
        assert done.stderr.count("\n") == 1, done.stderr
        assert words in done.stderr


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_a_terminal_is_left_as_it_was(profile: Path, haloscope: Path, tmp_path: Path, term: str) -> None:
    """Progress may be shown, and is gone at the end."""
    master, slave = pty.openpty()
    words: list[str | Path] = [haloscope, "regimes", profile, "--format", "csv"]
    environment = {**os.environ, "TERM": term}
    with (
        (tmp_path / "table.csv").open("wb") as table,
        subprocess.Popen(words, cwd=tmp_path, stdout=table, stderr=slave, env=environment) as running,
    ):
        os.close(slave)
        shown = b""
        with suppress(OSError):  # the end of a terminal
            while part := os.read(master, 4096):
                shown += part
    os.close(master)
    assert running.returncode == 0
    assert (tmp_path / "table.csv").read_text().startswith("file,region,regime")
    assert not shown or (
        term != "dumb" and shown.rstrip().endswith((b"\x1b[2K", b"\x1b[?25h", b"\x1b[1A\x1b[2K"))
    )
