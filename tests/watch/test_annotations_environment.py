"""Where programs look for a tool, `run` and `env` name the recorder; a tool of the user's keeps its place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

import pytest

from haloscope import UsageError
from haloscope.base.objects import Abi
from haloscope.watch import Recording, env, run
from support.mpi import Mpi
from support.processes import run_program
from support.programs import Compiler

TOOLS = {"kokkos": "KOKKOS_TOOLS_LIBS", "nvtx": "NVTX_INJECTION64_PATH", "itt": "INTEL_LIBITTNOTIFY64"}
SHOWN = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  const char *tool = getenv("KOKKOS_TOOLS_LIBS");
  MPI_Init(&argc, &argv);
  FILE *shown = fopen(argv[1], "w");
  fprintf(shown, "%s", tool == NULL ? "" : tool);
  fclose(shown);
  MPI_Finalize();
  return 0;
}
"""


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (*TOOLS.values(), "KOKKOS_PROFILE_LIBRARY", "HALOSCOPE_ANNOTATIONS"):
        monkeypatch.delenv(name, raising=False)


def made(mpi: Mpi, chosen: str | None = None) -> dict[str, str]:
    """What `env` returns for this MPI."""
    command = [str(mpi.mpicc), "-show"]
    shown = run_program(command, env=os.environ | mpi.env)
    include = [Path(word[2:]) for word in shown.stdout.split() if word.startswith("-I")]
    settings: Recording = {} if chosen is None else {"annotations": chosen}
    return env(mpi=cast("Abi", mpi.abi), mpi_include=include, **settings)


def tools(variables: dict[str, str]) -> set[str]:
    """The interfaces whose tool is the recorder that is preloaded."""
    recorder = variables["LD_PRELOAD"].split(":")[0]
    return {name for name, variable in TOOLS.items() if variables.get(variable) == recorder}


def test_the_recorder_is_the_tool(mpi: Mpi) -> None:
    assert tools(made(mpi)) == set(TOOLS)


@pytest.mark.parametrize(
    ("chosen", "expected"), [("none", set()), ("petsc,nvtx", {"nvtx"}), ("all", set(TOOLS))]
)
def test_only_of_wanted_interfaces(mpi: Mpi, chosen: str, expected: set[str]) -> None:
    assert tools(made(mpi, chosen)) == expected


def test_an_unknown_interface_is_refused(mpi: Mpi) -> None:
    with pytest.raises(UsageError, match="HALOSCOPE_ANNOTATIONS 'cuda': not one of all, none, caliper"):
        made(mpi, "nvtx,cuda")


@pytest.mark.parametrize("variable", ["KOKKOS_TOOLS_LIBS", "KOKKOS_PROFILE_LIBRARY"])
def test_the_users_tool_keeps_its_place(mpi: Mpi, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "/opt/tool.so")
    others = made(mpi)
    assert tools(others) == {"nvtx", "itt"}
    assert variable not in others
    # A recorder that is there already, of another interface, is no tool of the user's.
    monkeypatch.setenv(variable, "/elsewhere/libhaloscope-watch.so")
    assert tools(made(mpi)) == set(TOOLS)


def test_run_says_which_tool_gets_the_markers(
    mpi: Mpi, compiler: Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in mpi.env.items():
        monkeypatch.setenv(name, value)
    command = [*mpi.launch(1), str(compiler.text(mpi, "shown.c", SHOWN)), str(tmp_path / "shown")]
    assert run(command, output="a.halo").remarks == []
    assert (tmp_path / "shown").read_text().endswith("libhaloscope-watch.so")
    for variable in ("NVTX_INJECTION64_PATH", "NCCL_PROFILER_PLUGIN"):
        with monkeypatch.context() as patch:
            patch.setenv(variable, "/opt/tool.so")
            (remark,) = run(command, output="a.halo").remarks
        assert remark.startswith(
            f"{variable} names a different tool, which gets these markers instead of the profile"
        )
