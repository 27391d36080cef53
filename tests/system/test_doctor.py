"""What `haloscope doctor` says of each verb."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import haloscope.watch
from haloscope.cli import haloscope as command
from haloscope.watch import DoctorCheck
from support.processes import run_program

VERBS = command.list_commands(click.Context(command))


def named(lines: list[str]) -> list[str]:
    """Every verb that the last lines name."""
    told = [line.removeprefix("work here: ").removeprefix("do not work: ") for line in lines]
    return [verb for line in told for verb in line.partition(":")[0].split(", ")]


@pytest.mark.parametrize("missing", [(), ("simulate",), ("simulate", "run", "shm")])
def test_each_verb_is_named_once(missing: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    def doctor() -> Iterator[DoctorCheck]:
        yield DoctorCheck(True, "compiler", "there", verbs=("run",))
        yield DoctorCheck(False, "SimGrid (optional)", "not there", "install it", verbs=missing[:1])
        yield DoctorCheck(False, "MPI", "not there", "install it", verbs=missing)

    monkeypatch.setattr(haloscope.watch, "doctor", doctor)
    lines = CliRunner().invoke(command, ["doctor"]).output.splitlines()[3:]
    assert sorted(named(lines)) == sorted(VERBS)
    assert len(lines) == 1 + bool(missing) + (len(missing) > 1)
    if missing:
        assert "do not work: simulate: missing components: SimGrid, MPI" in lines
    if len(missing) > 1:
        assert "do not work: run, shm: missing components: MPI" in lines


def test_what_is_examined_names_verbs_that_there_are() -> None:
    named_there = {verb for finding in haloscope.watch.doctor() for verb in finding.verbs}
    assert named_there <= set(VERBS)
    assert {"run", "simulate"} <= named_there


def test_a_machine_without_tools(haloscope: Path, tmp_path: Path) -> None:
    done = run_program(
        [haloscope, "doctor"],
        env=os.environ | {"PATH": str(tmp_path), "CXX": "", "HALOSCOPE_CACHE": str(tmp_path)},
    )
    last = [line for line in done.stdout.splitlines() if line.startswith(("work here: ", "do not work: "))]
    assert sorted(named(last)) == sorted(VERBS)
    assert any("simulate" in line and line.endswith("SimGrid") for line in last[1:])
    assert "show" in named(last[:1])
