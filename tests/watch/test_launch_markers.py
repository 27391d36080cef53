"""Python's markers: in programs that are watched, and their price in those that are not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import haloscope as api
from support.mpi import Mpi
from support.processes import run_program

PROGRAM = """
import sys
import haloscope
from mpi4py import MPI

@haloscope.comm_region("ring")
def ring(world):
    world.sendrecv(b"x", (world.rank + 1) % world.size)

with haloscope.region("main"):
    for step in range(3):
        ring(MPI.COMM_WORLD)
    haloscope.value("steps", 3)
    try:
        with haloscope.region("broken"):
            raise KeyError
    except KeyError:
        pass
assert "polars" not in sys.modules
"""


def test_regions_of_a_python_program(any_mpi: Mpi, haloscope: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    subprocess.run(
        [
            haloscope,
            "run",
            "-o",
            "a.halo",
            "--series",
            "main",
            "--",
            *any_mpi.launch(2),
            sys.executable,
            "program.py",
        ],
        cwd=tmp_path,
        env=any_mpi.environment(),
        check=True,
    )
    with api.open(tmp_path / "a.halo") as profile:
        regions = profile.table("regions")
        info = dict(profile.table("info").iter_rows())
        values = profile.table("series")["steps"].to_list()
    instances = dict(regions.select("path", "instances").iter_rows())
    assert instances == {"<program>": 1, "main": 1, "main/ring": 3, "main/broken": 1}
    assert (info["unmatched_begins"], info["unmatched_ends"]) == ("0", "0")
    assert values == [3.0, 3.0]


def test_markers_do_nothing_when_not_watched() -> None:
    @api.region("a")
    def double(x: int) -> int:
        with api.comm_region("b"):
            api.value("x", x)
            return 2 * x

    assert double(4) == 8


def test_names_are_checked() -> None:
    with pytest.raises(ValueError, match="NUL"):
        api.region("a\0b")


def test_importing_markers_is_light() -> None:
    script = "import sys, haloscope; haloscope.region('a'); print(*sys.modules)"
    done = run_program([sys.executable, "-c", script])
    assert not {"polars", "numpy", "click", "rich", "plotly"} & set(done.stdout.split())
