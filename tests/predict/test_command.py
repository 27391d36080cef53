"""`haloscope bench model`: tables for programs and people, a page, and one line for mistakes."""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.command import Command
from support.pages import Look

Model = Callable[[str], subprocess.CompletedProcess[str]]


@pytest.fixture
def model(command: Command) -> Model:
    """`model(words)` runs the verb in a directory of its own."""
    return lambda words: command("bench", "model", *words.split(), status=None)


def test_rows_for_programs(model: Model) -> None:
    asked = "orfeo bcast --algorithm pipeline -n 2:256:1 -m 2:2"
    done = model(f"{asked} --formula paper --format json")
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads(done.stdout)
    assert [row["ranks"] for row in rows] == list(range(2, 257))
    assert rows[3] == {
        "collective": "bcast",
        "algorithm": "pipeline",
        "ranks": 5,
        "bytes": 2,
        "time": 7.7e-07,
    }
    assert type(rows[3]["ranks"]) is type(rows[3]["bytes"]) is int
    printed = list(csv.DictReader(model(f"{asked} --format csv").stdout.splitlines()))
    assert [float(row["time"]) for row in printed] == [row["time"] for row in rows]


def test_lists_and_ranges(model: Model) -> None:
    asked = "orfeo bcast reduce --algorithm binomial --format json"
    rows = json.loads(model(f"{asked} -n 8,16:18:1 -m 3:20,2").stdout)
    pairs = [(r["ranks"], r["bytes"]) for r in rows if r["collective"] == "reduce"]
    assert pairs == [(p, size) for p in (8, 16, 17, 18) for size in (3, 6, 12, 2)]


def test_table_for_people(model: Model) -> None:
    done = model("orfeo reduce -n 256")
    assert "rabenseifner" in done.stdout
    assert "14.6 µs" in done.stdout
    assert "bench model orfeo bcast" in model("--help").stdout


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("", 2, "MACHINE"),
        ("orfeo", 2, "name a collective"),
        ("nemo bcast", 1, "nemo"),
        ("orfeo scan", 2, "scan"),
        ("orfeo bcast --algorithm binary", 2, "binary"),
        ("orfeo bcast -n 1:9", 2, "a collective of 1 rank sends nothing; give 2 or more"),
        ("orfeo bcast -n 9:3", 2, "9:3"),
        ("orfeo bcast -n two", 2, "two"),
        ("orfeo bcast -n 2:9999999999:1", 2, "65536 numbers"),
        ("orfeo bcast -n 300", 2, "256 cores"),
        ("orfeo bcast -m 0:0", 2, "cannot be doubled"),
        ("orfeo bcast --formula hockney", 1, "bandwidth"),
        ("orfeo bcast -n 2 -o no/such/page.html", 1, "page.html"),
    ],
)
def test_mistakes(model: Model, words: str, status: int, said: str) -> None:
    told = model(words)
    assert (told.returncode, told.stdout) == (status, "")
    assert told.stderr.count("\n") == 1
    assert told.stderr.startswith("haloscope: ")
    assert said in told.stderr


def test_the_page_draws_the_table_and_marks_the_topology(model: Model, look: Look, tmp_path: Path) -> None:
    hostile = "<b>%{x}</b></script>{{data}}"
    near, far = f"name: '{hostile}', cores: 4, latency: 1 us", "name: all, cores: 32, latency: 1 s"
    (tmp_path / "own.yaml").write_text(f"name: '{hostile}'\nlevels: [{{{near}}}, {{{far}}}]\n")
    done = model("own.yaml bcast reduce -n 2:32 -m 2,64 -o p.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    page = look(tmp_path / "p.html")
    assert page.locator("h1").inner_text() == hostile
    for scale in ("log", "linear"):
        page.click(f"#scale >> text={scale}")
        for collective in ("bcast", "reduce"):
            place = page.locator(f"#{collective}-plot")
            assert place.locator(".scatterlayer .trace").count() == 6
            assert place.locator(".shapelayer path").count() == 1
            assert place.locator(".annotation").text_content() == hostile
    drawn = page.evaluate("Array.from(document.getElementById('bcast-plot').data[0].y)")
    rows = json.loads(model("own.yaml bcast --algorithm pipeline --format json").stdout)
    assert drawn == [row["time"] for row in rows]
