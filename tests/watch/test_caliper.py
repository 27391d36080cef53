"""Caliper's and Adiak's interfaces: markers become regions, and metadata become rows of `info`."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import caliperreader
import pytest

import haloscope
from haloscope.base import paths
from support.mpi import Mpi
from support.processes import run_program
from support.programs import Compiler
from support.recorder import library
from support.verbs import verb
from support.watched import STRICT, Watched, program, watch

RANKS = 2


def linked(compiler: Compiler, mpi: Mpi, source: str = "caliper.cpp") -> Path:
    """A program with our headers, linked to the libraries next to the recorder."""
    flags = [*STRICT, f"-I{paths.caliper_include()}"]
    beside = library(mpi).parent
    libraries = [f"-L{beside}", "-lcaliper", "-ladiak", f"-Wl,-rpath,{beside}"]
    return program(compiler, mpi, source, [*flags, *libraries])


@pytest.fixture(scope="module")
def marked(mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    command: list[str | Path] = [linked(compiler, mpi), "spot(output=F.cali)", "watched"]
    return watch(mpi, RANKS, command, tmp_path_factory.mktemp("caliper"))


def metadata(watched: Watched) -> dict[str, str]:
    """The metadata of the run."""
    with haloscope.open(watched.path) as profile:
        return dict(profile.info.get("metadata") or {})


def sends(watched: Watched, path: str) -> tuple[int, int]:
    """Instances of a rank, and messages of all ranks in them."""
    row = watched.region(path)
    return row["instances"], row["sends_total"]


def test_markers_are_regions(marked: Watched) -> None:
    around = "main/before MPI/"
    assert sends(marked, f"{around}halo") == (2, 4 * RANKS)
    assert sends(marked, f"{around}phase") == (1, RANKS)
    assert sends(marked, f"{around}marked_function") == (1, RANKS)
    assert sends(marked, f"{around}scope") == (2, RANKS)
    assert sends(marked, f"{around}scope/inner") == (1, RANKS)
    assert sends(marked, f"{around}plain_function") == (1, 2 * RANKS)
    assert sends(marked, f"{around}statement") == (1, RANKS)


def test_loops_have_iterations(marked: Watched) -> None:
    assert sends(marked, "main/before MPI/loop") == (1, 3 * RANKS)
    assert sends(marked, "main/before MPI/loop/iteration#loop") == (3, 3 * RANKS)
    assert sends(marked, "main/before MPI/loop/iteration#loop/body") == (3, 3 * RANKS)
    assert sends(marked, "main/before MPI/c loop/iteration#c loop") == (4, 6 * RANKS)
    assert sends(marked, "main/before MPI/thrown") == (1, 0)


def test_attributes_name_regions(marked: Watched) -> None:
    for name in ("guarded", "by name", "text of kind", "number"):
        assert sends(marked, f"main/before MPI/{name}") == (1, RANKS), name
    assert "a value" not in {row["region"] for row in marked.rows("regions")}


def test_what_was_open_before_mpi_init_counts_from_then_on(marked: Watched) -> None:
    whole, outer = marked.region("<program>"), marked.region("main/before MPI")
    assert outer["instances"] == marked.region("main")["instances"] == 1
    assert outer["sends_total"] == whole["sends_total"]
    assert 0 < outer["time_mean"] <= whole["time_mean"]
    names = {row["region"] for row in marked.rows("regions")}
    assert not names & {"gone before MPI", "after MPI"}


def test_only_comm_regions_communicate(marked: Watched) -> None:
    row = marked.region("main/before MPI/halo")
    assert (row["sends_instance_min"], row["sends_instance_max"]) == (1, 3)
    assert (row["colls_max"], row["dest_ranks_max"]) == (1, 1)


def test_mistakes_harm_nothing(marked: Watched) -> None:
    assert sends(marked, "main/before MPI/after") == (1, RANKS)
    assert marked.info["unmatched_begins"] == str(RANKS)
    assert marked.info["unmatched_ends"] == str(RANKS)


def test_what_the_program_says_is_metadata(marked: Watched) -> None:
    texts = metadata(marked)
    expected = {
        "iterations": "12",
        "tolerance": "0.001",
        "mesh": "a=b, c",
        "zones": "5000000000",
        "name": "Übergröße",
        "flag": "1",
        "sizes": "[1,2,3]",
        "pair": "(1,2.5,x)",
        "when": "1700000000",
        "built": "gcc@8.1.0",
        "from": "<1,10>",
        "grid": "[4.5,1.25]",
        "alphabet": "[(1,a),(2,b)]",
        "big": "9876543210",
        "annotations": "caliper, adiak",
        "caliper.config": "spot(output=F.cali),comm.stats=true",
    }
    assert {key: texts.get(key) for key in expected} == expected
    assert "wrong" not in texts
    assert abs(int(texts["launchdate"]) - float(marked.info["start"])) < 3600
    assert "caliper" in texts["cmdline"]


def test_what_caliper_was_asked_for_is_written(marked: Watched) -> None:
    reader = caliperreader.CaliperReader()
    reader.read(str(marked.path.with_name("F.cali")))
    found = {"/".join(record["path"]): record for record in reader.records}
    assert set(found) == {
        row["path"].replace("/iteration#loop", "").replace("/iteration#c loop", "")
        for row in marked.rows("regions")
        if row["region"] != "<program>"
    }
    halo, row = found["main/before MPI/halo"], marked.region("main/before MPI/halo")
    assert int(halo["sum#sum#sum#total.send.count"]) == row["sends_total"]
    assert float(halo["avg#inclusive#sum#time.duration"]) == row["time_mean"]
    assert reader.globals["mesh"] == "a=b, c"


def test_what_a_killed_program_asked_for_is_written_by_recover(
    any_mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path: Path
) -> None:
    """Under `haloscope env` nothing waits for the end of the program."""
    live = tmp_path / "live"
    live.mkdir()
    words = shlex.join([*any_mpi.launch(1), str(linked(compiler, any_mpi, "caliper_killed.c"))])
    subprocess.run(
        ["sh", "-c", f'eval "$({haloscope} env -o killed.halo -- {words})" && exec {words}'],
        cwd=tmp_path,
        env=any_mpi.environment({"HALOSCOPE_LIVE": str(live), "CALI_CONFIG": "spot(output=F.cali)"}),
        capture_output=True,
        check=False,
    )
    assert not (tmp_path / "F.cali").exists()
    done = verb(haloscope, "recover", tmp_path)(live)
    assert "F.cali" in done.stderr
    reader = caliperreader.CaliperReader()
    reader.read(str(tmp_path / "F.cali"))
    assert [record["path"] for record in reader.records] == [["work"]]


def test_without_a_recorder_it_does_nothing(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    done = subprocess.run(
        [*mpi.launch(RANKS), str(linked(compiler, mpi)), "spot(output=F.cali)"],
        cwd=tmp_path,
        env=mpi.environment(),
        capture_output=True,
        check=True,
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert os.listdir(tmp_path) == []


def test_unwanted_markers_are_none(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    quiet = watch(mpi, 1, [linked(compiler, mpi)], tmp_path, env={"HALOSCOPE_ANNOTATIONS": "none"})
    assert [row["region"] for row in quiet.rows("regions")] == ["<program>"]
    assert metadata(quiet) == {"annotations": "caliper, adiak"}


def test_regions_that_there_is_no_memory_for_are_counted(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    command: list[str | Path] = [linked(compiler, any_mpi), "", "watched", "20000"]
    full = watch(any_mpi, 1, command, tmp_path, env={"HALOSCOPE_MEMORY": "1"})
    assert int(full.info["dropped"]) > 0
    assert full.region("main/before MPI")["instances"] == 1
    assert full.region("main/before MPI/halo")["instances"] == 3
    known = sum(row["path"].rpartition("/")[2].startswith("pass number") for row in full.rows("regions"))
    assert 0 < known < 20000
    assert full.region("<program>")["sends_total"] > 20000
    # Two in `mistakes`; of the passes, those that found room for all of theirs.
    assert full.info["unmatched_ends"] == "1"
    assert 1 < int(full.info["unmatched_begins"]) <= known + 1


PROJECT = """\
cmake_minimum_required(VERSION 3.20)
project(app LANGUAGES CXX)
find_package(caliper REQUIRED)
find_package(adiak REQUIRED)
add_executable(app app.cpp)
target_link_libraries(app PRIVATE caliper ${adiak_LIBRARIES})
"""
SOURCE = """\
#include <adiak.hpp>
#include <caliper/cali.h>
int main() {
  CALI_CXX_MARK_FUNCTION;
  return adiak::value("one", 1) ? 0 : 1;
}
"""


def test_projects_that_look_for_caliper_find_it(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    (tmp_path / "app.cpp").write_text(SOURCE)
    scripts = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}"}
    where = paths.caliper_include() / "cmake"
    for command in (
        ["cmake", "-B", "build", "-G", "Ninja", f"-Dcaliper_DIR={where}", f"-Dadiak_DIR={where}"],
        ["cmake", "--build", "build"],
        ["build/app"],
    ):
        run_program(command, env=environment, cwd=tmp_path)
