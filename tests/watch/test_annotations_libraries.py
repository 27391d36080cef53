"""Numerical libraries whose functions are regions: Debian's hypre, PETSc and p4est, which are Open MPI's."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

import haloscope
from haloscope import ComponentError
from haloscope.base import toolchain
from support.missing import impossible, missing
from support.mpi import Mpi
from support.programs import Compiler
from support.watched import PROGRAMS, Watched, program, watch

HYPRE = ("-I/usr/include/hypre", "-rdynamic", "-lHYPRE", "-ldl", "-lm")


def compiled(mpi: Mpi, compiler: Compiler, name: str, flags: tuple[str, ...], package: str) -> Path:
    if mpi.abi != "openmpi" or "system" not in mpi.name:
        impossible(f"Debian's {package} is Open MPI's")
    try:
        return compiler(mpi, PROGRAMS / name, flags)
    except RuntimeError as error:
        if "No such file" in str(error) or "cannot find -l" in str(error):
            missing(f"needs hypre, PETSc and p4est: apt-get install {package}")
        raise


def petsc_flags() -> tuple[str, ...]:
    try:
        found = toolchain.find_petsc()
    except ComponentError as error:
        missing(str(error))
    return (*(f"-I{directory}" for directory in found.includes), str(found.library), "-lm")


def instances(run: Watched) -> dict[str, int]:
    return {row["path"]: row["instances"] for row in run.rows("regions", True)}


def communicating(run: Watched) -> set[str]:
    """The names of communication regions."""
    with haloscope.open(run.path) as profile:
        paths = profile.frame("paths").to_dicts()
    return {row["name"] for row in paths if row["communication"]}


def assert_balanced(run: Watched, *interfaces: str) -> None:
    info = run.info
    assert (info["unmatched_begins"], info["unmatched_ends"], info["dropped"]) == ("0", "0", "0")
    assert json.loads(info["annotations"]) == ", ".join(interfaces)


def test_exchanges_of_hypre_are_told_apart_by_level(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    program = compiled(mpi, compiler, "hypre_levels.c", HYPRE, "libhypre-dev")
    run = watch(mpi, 3, [program], tmp_path)
    told = {line.split(":")[0]: int(line.split(":")[1]) for line in run.done.stdout.splitlines()}
    by_hypre = {name: number for name, number in told.items() if name.startswith("level ")}
    assert len(by_hypre) >= 4
    # An exchange of a matrix that is known to be on no level reads nothing of hypre's.
    assert told["reads 0"] > 0
    assert told["reads alone 0"] == told["reads alone 1"] == 0
    found = instances(run)
    exchange = "BoomerAMGSolve/MatVecComm"
    by_us = {path.rpartition("/")[2]: n for path, n in found.items() if path.startswith(f"{exchange}/")}
    assert by_us == by_hypre
    # Nothing is sent on no level, and all that is received has been waited for in there.
    assert run.region(exchange, True)["sends_total"] == 0
    whole = run.region(exchange)
    assert whole["instances"] == sum(by_hypre.values())
    assert whole["sends_total"] == whole["recvs_total"] == run.region("BoomerAMGSolve")["sends_total"]
    # While it is set up, the levels that there are have their exchanges, too.
    setup = [path for path in found if path.startswith("BoomerAMGSetup/MatVecComm/level ")]
    assert len(setup) >= len(by_hypre)
    assert found["BoomerAMGSetup"] == found["BoomerAMGSolve"] == 2
    assert_balanced(run, "hypre")


def logged(text: str) -> dict[str, int]:
    """How often PETSc says that rank 0 had each event, over all stages; names are cut there."""
    events: Counter[str] = Counter()
    for name, count in re.findall(r"^(\S.{14})\s+(\d+) 1\.0 [\d.]+e[+-]\d+", text, re.MULTILINE):
        events[name.strip()] += int(count)
    return events


@pytest.mark.parametrize("options", [("-pc_type", "jacobi"), ("-pc_type", "gamg")])
def test_events_of_petsc(mpi: Mpi, compiler: Compiler, tmp_path: Path, options: tuple[str, ...]) -> None:
    program = compiled(mpi, compiler, "petsc_log.c", petsc_flags(), "libpetsc-real-dev")
    run = watch(mpi, 2, [program, *options, "-log_view"], tmp_path)
    ours: Counter[str] = Counter()
    for path, number in instances(run).items():
        *around, name = path.split("/")
        # PETSc counts the outermost of the same events, and no solves for the sake of a setup.
        if name not in around and not ("PCSetUp" in around and name in {"KSPSolve", "PCApply"}):
            ours[name[:15].strip()] += number
    by_petsc = {name: n for name, n in logged(run.done.stdout).items() if name in ours}
    assert {"MatMult", "KSPSolve", "VecScatterBegin", "VecScatterEnd", "my event"} <= set(by_petsc)
    assert {name: ours[name] for name in by_petsc} == by_petsc
    assert_balanced(run, "petsc")


def test_stages_and_exchanges_of_petsc(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    program = compiled(mpi, compiler, "petsc_log.c", petsc_flags(), "libpetsc-real-dev")
    run = watch(mpi, 2, [program, "-pc_type", "jacobi"], tmp_path)
    assert run.done.stdout == ""
    found = instances(run)
    assert (found["my stage"], found["my stage/my event"]) == (2, 2)
    solve = "my stage/my event/KSPSolve/MatMult"
    assert run.region(f"{solve}/VecScatterBegin")["sends_total"] > 0
    exchanges = communicating(run)
    assert {"VecScatterBegin", "VecScatterEnd"} <= exchanges
    assert exchanges.isdisjoint({"my stage", "my event", "KSPSolve", "MatMult"})
    assert_balanced(run, "petsc")


def test_exchanges_of_p4est(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    program = compiled(mpi, compiler, "forest.c", ("-lp4est", "-lsc"), "libp4est-dev")
    run = watch(mpi, 3, [program], tmp_path)
    # In one call each, and in two: that is two instances.
    once = {"p4est_balance": 1, "p4est_partition": 1, "p4est_ghost_new": 1, "p4est_ghost_exchange": 4}
    assert instances(run) == {"<program>": 1, **once}
    exchange = run.region("p4est_ghost_exchange")
    assert communicating(run) == {"p4est_ghost_exchange"}
    assert exchange["sends_total"] == exchange["recvs_total"] > 0
    assert_balanced(run, "p4est")


def test_nothing_of_a_library_when_it_is_not_wanted(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    program = compiled(mpi, compiler, "forest.c", ("-lp4est", "-lsc"), "libp4est-dev")
    run = watch(mpi, 2, [program], tmp_path, env={"HALOSCOPE_ANNOTATIONS": "petsc,hypre"})
    assert set(instances(run)) == {"<program>"}
    assert "annotations" not in run.info


def test_a_process_without_the_libraries_looks_nothing_up(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    """Wrappers of their functions are never called, so that they cost nothing: the linker shows it."""
    names = re.compile(r"symbol=((?:hypre_|HYPRE_|Petsc|p4est_|p8est_|sc_)\w+)")
    watched = [str(program(compiler, any_mpi, "twin.c"))]
    told = ["env", "LD_DEBUG=symbols", f"LD_DEBUG_OUTPUT={tmp_path / 'linker'}"]
    watch(any_mpi, 2, [*told, *watched], tmp_path)
    lines = "".join(file.read_text(errors="replace") for file in tmp_path.glob("linker.*"))
    assert "symbol=MPI_Init" in lines
    assert set(names.findall(lines)) == set()
