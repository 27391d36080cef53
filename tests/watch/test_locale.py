"""A program may choose a locale with a decimal comma: what is written of it is the same in all of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import haloscope as front
from support.missing import missing
from support.mpi import Mpi
from support.programs import Compiler
from support.watched import watch

PROGRAM = """
#include <adiak.h>
#include <haloscope/region.h>
#include <locale.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  const int count = 1 << 18;
  int rank;
  char *out = calloc(count, 1), *in = calloc(count, 1);
  if (!setlocale(LC_ALL, "")) return 3;
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Init(&argc, &argv);
  adiak_init(&world);
  adiak_namevalue("tolerance", adiak_general, NULL, "%f", 0.25);
  adiak_fini();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 4; i++) {
    HALOSCOPE_REGION_BEGIN("halo");
    HALOSCOPE_VALUE("dt", 0.125);
    MPI_Sendrecv(out, count, MPI_CHAR, !rank, 0, in, count, MPI_CHAR, !rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    HALOSCOPE_REGION_END("halo");
  }
  MPI_Finalize();
  if (rank == 0) printf("%.1f\\n", 0.5);
  return 0;
}
"""
# Without the package `locales`: a locale that differs from C in its numbers alone.
LOCALE = """\
comment_char %
escape_char /
LC_NUMERIC
decimal_point "<U002C>"
thousands_sep "<U002E>"
grouping 3;3
END LC_NUMERIC
"""


@pytest.fixture
def comma(tmp_path: Path) -> dict[str, str]:
    """The environment of a program with a decimal comma."""
    (tmp_path / "source").write_text(LOCALE)
    # It complains of all categories that are not there, and writes the locale.
    words = ["localedef", "-c", "-i", str(tmp_path / "source"), str(tmp_path / "comma")]
    subprocess.run(words, capture_output=True, check=False)
    if not (tmp_path / "comma" / "LC_NUMERIC").is_file():
        missing("no localedef: apt-get install libc-bin")
    return {"LOCPATH": str(tmp_path), "LC_ALL": "comma"}


@pytest.fixture
def program(any_mpi: Mpi, compiler: Compiler, haloscope: Path) -> Path:
    def where(what: str) -> str:
        words = [str(haloscope), "where", what]
        done = subprocess.run(words, env=any_mpi.environment(), capture_output=True, text=True, check=True)
        return str(done.stdout).strip()

    library = where("lib")
    flags = ["-I", where("caliper-include"), "-L", library, "-ladiak", f"-Wl,-rpath,{library}"]
    return compiler.text(any_mpi, "comma.c", PROGRAM, flags)


def test_a_profile_is_as_in_any_locale(
    any_mpi: Mpi, program: Path, comma: dict[str, str], tmp_path: Path
) -> None:
    options = ["--series", "halo", "--slice", "0.5"]
    watched = watch(any_mpi, 2, [program], tmp_path, options=options, env=comma)
    assert "0,5" in watched.done.stdout
    with front.open(watched.path) as profile:
        assert profile.info["duration"] > 0
        assert profile.info["metadata"]["tolerance"] == "0.25"
        assert set(profile.table("series")["dt"]) == {0.125}


def test_records_are_as_in_any_locale(
    any_mpi: Mpi, program: Path, comma: dict[str, str], haloscope: Path, tmp_path: Path
) -> None:
    def command(*words: str | Path) -> str:
        line = list(map(str, [haloscope, *words, "--", *any_mpi.launch(2), program]))
        environment = any_mpi.environment(comma)
        done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "0,5" in done.stdout
        return done.stderr

    assert "latencies" in command("inject", "--latency", "constant:2.5ms")
    record = tmp_path / "record.csv"
    assert f": {record}" in command("shm", "-o", record, "--protocol", "get")
    rows = record.read_text().splitlines()
    assert len(rows) > 1
    assert {line.count(",") for line in rows} == {rows[0].count(",")}
