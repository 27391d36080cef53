"""Names that look like paths or like the program stay themselves, from the marker to the table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.mpi import Mpi
from support.pages import page_data
from support.processes import run_program
from support.programs import Compiler
from support.watched import Watched, program, watch

LONG = "x" * (1 << 20)
# Each region with the bytes that it sent itself.
PATHS = {
    "<program>": 0,
    r"\<program>": 4,
    "a": 0,
    "a/b": 8,
    r"a/\<program>": 12,
    r"a\/b": 16,
    r"a\\\/b": 20,
    r"a\\": 0,
    r"a\\/b": 24,
    "": 28,
    LONG: 32,
}


@pytest.fixture(scope="module")
def odd(any_mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    command = [program(compiler, any_mpi, "odd_names.c")]
    return watch(any_mpi, 1, command, tmp_path_factory.mktemp("odd"))


def test_each_region_has_a_path_of_its_own(odd: Watched) -> None:
    rows = odd.rows("regions", exclusive=True)
    assert {row["path"]: row["bytes_sent_total"] for row in rows} == PATHS
    assert len({row["region"] for row in odd.rows("ranks")}) == len(PATHS)


@pytest.mark.parametrize(
    ("region", "expected"),
    [
        ("a/b", [8]),
        (r"a\/b", [16]),
        (r"a\\\/b", [20]),
        ("<program>", [0]),
        ("b", [8, 24]),
        (r"\<program>", [4, 12]),
    ],
)
def test_a_path_names_one_region(odd: Watched, haloscope: Path, region: str, expected: list[int]) -> None:
    words: list[str | Path] = [
        haloscope,
        "show",
        odd.path,
        "--table",
        "regions",
        "--exclusive",
        "--format",
        "json",
    ]
    done = run_program([*words, "--region", region])
    assert [row["bytes_sent_total"] for row in json.loads(done.stdout)] == expected


def test_people_see_a_short_name_and_programs_the_whole_one(
    odd: Watched, haloscope: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    show = [str(haloscope), "show", str(odd.path)]
    report = [str(haloscope), "report", str(odd.path), "-o", str(page)]
    for words in (show, report, [*show, "--region", "y"]):
        done = run_program(words, status=None)
        assert len(done.stdout + done.stderr) < 20_000
    assert "x" * 1000 not in json.dumps(page_data(page))
    assert LONG in run_program([*show, "--format", "csv"]).stdout


@pytest.mark.parametrize(
    ("wanted", "kept"), [(r"a\/b", {16, 20}), ("a/b", {8, 16}), (r"\<program>", {4, 12})]
)
def test_the_recorder_knows_paths_by_the_same_rule(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path, wanted: str, kept: set[int]
) -> None:
    """A name may also be given as it is, with its slashes and backslashes."""
    command = [program(compiler, any_mpi, "odd_names.c")]
    run = watch(any_mpi, 1, command, tmp_path, options=["--only", wanted])
    rows = run.rows("regions", exclusive=True)
    assert {row["bytes_sent_total"] for row in rows} - {0} == kept
