"""Programs that end badly or do unusual things: as without us, and no record is lost."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import haloscope
from haloscope.explain import summary
from support.applications import Counts
from support.mpi import CHECKOUT, Mpi
from support.processes import run_program
from support.programs import Compiler
from support.recorder import join, library
from support.watched import PROGRAMS, Traffic, Watched, program, watch

RANKS = 3
# How rank 1 ends, whether the others wait for it, and what Open MPI's launcher then returns. The status
# of MPICH's depends on which ranks it finds ended first, and whether it was about to kill them.
ENDS = {
    "kill": ("wait", 137),
    "segfault": ("wait", 139),
    "abort": ("wait", 134),
    "MPI_Abort": ("wait", 7),
    "exit": ("wait", 5),
    "exit0": ("leave", 1),
    "_exit": ("leave", 6),
}
NOTING = """#!/bin/sh
{launcher} "$@"
status=$?
echo $status >>{noted}
exit $status
"""


def both(
    mpi: Mpi, ranks: int, command: Sequence[str | Path], live: Path, *, strict: bool = False
) -> tuple[subprocess.CompletedProcess[str], Watched]:
    """Runs a program bare and profiled at the same time. `strict`: Open MPI minds a missing MPI_Finalize."""
    env = {"HALOSCOPE_LIVE": str(live)} | ({"OMPI_MCA_orte_allowed_exit_without_sync": "0"} if strict else {})
    with ThreadPoolExecutor() as pool:
        bare = pool.submit(mpi.run, ranks, command, env=env, status=None)
        watched = watch(mpi, ranks, command, live.parent, env=env, status=None)
        return bare.result(), watched


def noting(mpi: Mpi, noted: Path) -> Mpi:
    """The MPI with a launcher that appends its statuses to a file."""
    launcher = noted.with_name("mpiexec")
    launcher.write_text(NOTING.format(launcher=mpi.mpiexec, noted=noted))
    launcher.chmod(0o755)
    return replace(mpi, mpiexec=launcher)


def ring_of(watched: Watched) -> Traffic:
    return watched.traffic("ring")


WHOLE_RING = Traffic(10 * RANKS, 120 * RANKS, 10 * RANKS, 120 * RANKS, 1, 1)


def check_end(mpi: Mpi, compiler: Compiler, live: Path, how: str) -> Watched:
    others, status = ENDS[how]
    command: list[str | Path] = [program(compiler, mpi, "ends.c"), how, others]
    noted = live.parent / "statuses"
    bare, watched = both(noting(mpi, noted), RANKS, command, live, strict=how == "exit0")
    # Each has the status of its launcher.
    assert sorted(map(int, noted.read_text().split())) == sorted([bare.returncode, watched.done.returncode])
    for done in (bare, watched.done):
        assert done.returncode == status or mpi.abi != "openmpi", done.stderr
        # A launcher that ends a job may do so before it has read all output. MPICH's prints more.
        assert done.stdout.splitlines()[:1] in ([], ["working"])
    assert "haloscope:" not in watched.done.stderr
    assert ring_of(watched) == WHOLE_RING
    dead = watched.select("ranks", region="ring", rank=1)
    assert [(row["sends"], row["recvs"], row["instances"]) for row in dead] == [(10, 10, 10)]
    assert list(live.iterdir()) == []
    return watched


@pytest.mark.parametrize("how", [how for how in ENDS if how != "kill"])
def test_records_survive_a_bad_end(mpi: Mpi, compiler: Compiler, live: Path, how: str) -> None:
    watched = check_end(mpi, compiler, live, how)
    assert (watched.info["partial"], watched.info["missing_ranks"]) == ("true", "[]")


def test_records_of_one_process_that_aborts(
    mpi: Mpi, compiler: Compiler, live: Path, haloscope: Path
) -> None:
    """It was started without a launcher, so only its own process can report its end."""
    output = live.parent / "alone.halo"
    done = run_program(
        [haloscope, "run", "-o", output, "--", program(compiler, mpi, "ends.c"), "MPI_Abort"],
        env=mpi.environment({"HALOSCOPE_LIVE": str(live)}),
        cwd=live.parent,
        status=7,
    )
    assert "\npartial: rank 0 did not reach MPI_Finalize; at the end " in done.stderr
    assert Watched(done, output).traffic("ring").sends == 10
    assert list(live.iterdir()) == []


def test_records_survive_kill_9(mpi: Mpi, compiler: Compiler, live: Path) -> None:
    watched = check_end(mpi, compiler, live, "kill")
    assert (watched.info["partial"], watched.info["missing_ranks"]) == ("true", "[]")
    with haloscope.open(watched.path) as profile:
        processes = profile.frame("processes").sort("rank")
        assert processes["rank"].to_list() == [0, 1, 2]
        assert processes["finalized"].to_list()[1] == 0


def test_info_names_the_ranks_that_did_not_finish(any_mpi: Mpi, compiler: Compiler, live: Path) -> None:
    watched = check_end(any_mpi, compiler, live, "_exit")
    # The launcher may end the others before they have come to MPI_Finalize, too.
    assert 1 in json.loads(watched.info["unfinished_ranks"])
    with haloscope.open(watched.path) as profile:
        (line,) = [line for line in summary(profile) if "partial" in line]
    assert re.fullmatch(r"partial: ranks? (0-)?1(-2)? did not reach MPI_Finalize; at the end .*", line)


def test_a_bad_end_after_mpi_finalize(mpi: Mpi, compiler: Compiler, live: Path) -> None:
    bare, watched = both(mpi, RANKS, [program(compiler, mpi, "ends.c"), "late", "leave"], live)
    assert bare.returncode == watched.done.returncode == 8
    assert (watched.info["partial"], ring_of(watched)) == ("false", WHOLE_RING)
    assert list(live.iterdir()) == []


def test_a_job_that_reaches_its_time_limit(mpi: Mpi, compiler: Compiler, live: Path, haloscope: Path) -> None:
    """The batch system sends SIGTERM to its child."""
    command = [*mpi.launch(RANKS), str(program(compiler, mpi, "ends.c")), "hang", "wait"]
    path = live.parent / "run.halo"
    front = [str(haloscope), "run", "--quiet", "-o", str(path), "--"]
    statuses = []
    for words in (command, [*front, *command]):
        with subprocess.Popen(
            words,
            env=mpi.environment({"HALOSCOPE_LIVE": str(live)}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as running:
            assert running.stdout is not None
            assert running.stdout.readline() == "working\n"
            running.send_signal(signal.SIGTERM)
            statuses.append(running.wait())
    if mpi.abi == "openmpi":
        assert 0 not in statuses
    watched = Watched(subprocess.CompletedProcess(command, statuses[1]), path)
    assert (watched.info["partial"], ring_of(watched)) == ("true", WHOLE_RING)
    assert list(live.iterdir()) == []


def test_missing_ranks_are_named(any_mpi: Mpi, compiler: Compiler, live: Path) -> None:
    executable = program(compiler, any_mpi, "killed.c")
    recorder = library(any_mpi)
    words = [f"LD_PRELOAD={recorder}", f"HALOSCOPE_LIVE={live}", "HALOSCOPE_RUN=run"]
    any_mpi.run(RANKS, ["env", *words, executable], status=None)
    (lost,) = live.glob("haloscope-run/1-*.live")
    lost.unlink()
    path = live / "joined.halo"
    watched = Watched(join(recorder, live / "haloscope-run", path), path)
    assert (watched.info["partial"], watched.info["missing_ranks"]) == ("true", "[1]")
    assert [row["rank"] for row in watched.select("ranks", region="step")] == [0, 2]


def test_nothing_waits_for_a_rank_of_this_node_without_a_record(
    mpi: Mpi, compiler: Compiler, live: Path
) -> None:
    """As when one rank is killed in MPI_Init: there is no other node from which its record may come."""
    variables = {"HALOSCOPE_LIVE": str(live)}
    command: list[str | Path] = [program(compiler, mpi, "killed.c"), f"rm {live}/haloscope-*/0-*.live"]
    watched = watch(mpi, RANKS, command, live.parent, env=variables, status=None)
    assert (watched.info["partial"], watched.info["missing_ranks"]) == ("true", "[0]")
    assert "have records here" not in watched.done.stderr
    assert list(live.iterdir()) == []


def test_exceptions_thrown_through_mpi(mpi: Mpi, compiler: Compiler, live: Path) -> None:
    bare, watched = both(mpi, 2, [program(compiler, mpi, "throws.cpp", ["-std=c++17"])], live)
    assert (bare.returncode, bare.stdout) == (0, "end\n")
    assert (watched.done.returncode, watched.done.stdout) == (0, "end\n")
    # Three rounds of two messages to a neighbour, and one to itself that is received too short.
    per_rank = 3 * (4 + 8 + 8)
    assert watched.traffic("whole", exclusive=True) == Traffic(18, 2 * per_rank, 12, 2 * 36, 2, 1)
    assert watched.traffic("whole/failing") == Traffic()
    assert watched.region("whole/failing")["instances"] == 15
    assert watched.traffic("whole/after") == Traffic(2, 24, 2, 24, 1, 1)
    assert (watched.info["unmatched_begins"], watched.info["unmatched_ends"]) == ("0", "0")


@pytest.mark.parametrize("children", ["plain", "marking"])
def test_children_leave_the_profile_alone(
    any_mpi: Mpi, compiler: Compiler, live: Path, children: str
) -> None:
    bare, watched = both(any_mpi, 2, [program(compiler, any_mpi, "forks.c"), children], live)
    assert (bare.returncode, bare.stdout) == (0, "end\n")
    assert (watched.done.returncode, watched.done.stdout) == (0, "end\n")
    rings = ["first", "second", "third", "fourth", *(f"later {i}" for i in range(100))]
    beside = ["marking", "marking/beside a child"] if children == "marking" else []
    paths = {row["path"] for row in watched.rows("regions")}
    assert paths == {"<program>", "replaced", "leaving", *rings, *beside}
    for count, name in enumerate(rings[:4], 1):
        assert watched.traffic(name) == Traffic(2, 8 * count, 2, 8 * count, 1, 1)
    assert watched.traffic("later 99") == Traffic(2, 40, 2, 40, 1, 1)
    assert (watched.info["partial"], watched.info["dropped"]) == ("false", "0")
    assert watched.info["unmatched_ends"] == "0"


def test_few_open_files(any_mpi: Mpi, compiler: Compiler, live: Path) -> None:
    bare, watched = both(any_mpi, 2, [program(compiler, any_mpi, "files.c"), "before", "40"], live)
    assert (bare.returncode, watched.done.returncode) == (0, 0)
    assert "haloscope:" not in watched.done.stderr
    assert watched.info["partial"] == "false"
    assert watched.region("work")["colls_total"] == 2


def test_no_file_left_to_open(mpi: Mpi, compiler: Compiler, live: Path) -> None:
    """The profile can't be opened in MPI_Finalize; it is made of the live records then."""
    bare, watched = both(mpi, 2, [program(compiler, mpi, "files.c"), "after"], live)
    assert (bare.returncode, watched.done.returncode) == (0, 0)
    assert "end\n" in bare.stdout
    assert "end\n" in watched.done.stdout
    (line,) = [line for line in watched.done.stderr.splitlines() if "haloscope:" in line]
    assert "Too many open files" in line
    assert str(live) in line
    assert watched.info["partial"] == "false"
    assert watched.region("work")["colls_total"] == 2
    assert list(live.iterdir()) == []


def test_mpi_opened_by_the_program(mpi: Mpi, compiler: Compiler, live: Path) -> None:
    executable = program(compiler, mpi, "opened.c", ["-Wl,--as-needed"])
    bare, watched = both(mpi, 2, [executable, mpi.library], live)
    assert (bare.returncode, bare.stdout) == (0, "end\n")
    assert (watched.done.returncode, watched.done.stdout) == (0, "end\n")
    assert watched.traffic("<program>") == Traffic(6, 216, 6, 216, 1, 1)


def counted(mpi: Mpi, compiler: Compiler, live: Path, order: Sequence[str]) -> tuple[list[Counts], Path]:
    """Runs p2p.c under the recorder and another tool, preloaded in this order."""
    executable = program(compiler, mpi, "p2p.c")
    source = CHECKOUT / "tests" / "watch" / "oracle" / "counter.c"
    recorder = library(mpi)
    tools = {"recorder": recorder, "counter": compiler(mpi, source, ["-shared", "-fPIC"])}
    counts = live.parent / "counts.json"
    words = [
        "LD_PRELOAD=" + ":".join(str(tools[name]) for name in order),
        f"COUNTER_FILE={counts}",
        f"HALOSCOPE_OUTPUT={live.parent / 'run.halo'}",
        f"HALOSCOPE_LIVE={live}",
        "HALOSCOPE_RUN=run",
    ]
    mpi.run(2, ["env", *words, executable])
    lines = counts.read_text().splitlines() if counts.exists() else []
    return sorted(map(Counts.parse, lines), key=lambda row: row.rank), recorder


def test_another_tool_behind_ours(any_mpi: Mpi, compiler: Compiler, live: Path) -> None:
    counts, _ = counted(any_mpi, compiler, live, ["recorder", "counter"])
    watched = Watched(subprocess.CompletedProcess([], 0), live.parent / "run.halo")
    rows = watched.select("ranks", exclusive=False, region="<program>")
    ranks = sorted(rows, key=lambda row: int(row["rank"]))
    assert [(row.sends, row.bytes) for row in counts] == [(row["sends"], row["bytes_sent"]) for row in ranks]


def test_another_tool_before_ours(any_mpi: Mpi, compiler: Compiler, live: Path) -> None:
    """It calls PMPI, past us: it counts as ever, and our records say that they have no end."""
    counts, recorder = counted(any_mpi, compiler, live, ["counter", "recorder"])
    assert [row.sends for row in counts] == [17, 3]
    path = live.parent / "run.halo"
    assert not path.exists()
    watched = Watched(join(recorder, live / "haloscope-run", path), path)
    assert watched.info["partial"] == "true"


def nosy(mpi: Mpi, compiler: Compiler, live: Path, executable: Path) -> tuple[list[str], Watched]:
    """Runs a program under `haloscope run` and a tool that the user preloads, which is second."""
    source = CHECKOUT / "tests" / "watch" / "oracle" / "nosy.c"
    tool = compiler(mpi, source, ["-shared", "-fPIC"])
    output = live / "said"
    command = ["env", f"NOSY_FILE={output}", str(executable)]
    environment = {"LD_PRELOAD": str(tool), "HALOSCOPE_LIVE": str(live)}
    watched = watch(mpi, 2, command, live.parent, env=environment)
    return output.read_text().splitlines(), watched


def test_another_tool_that_calls_mpi_itself(mpi: Mpi, compiler: Compiler, live: Path) -> None:
    """The tool may change a call: it sees it, and we count the program's call."""
    lines, watched = nosy(mpi, compiler, live, program(compiler, mpi, "during.c"))
    assert lines == ["20 20 0"] * 2
    assert watched.traffic("before") == watched.traffic("after") == Traffic(20, 240, 20, 240, 1, 1)
    assert watched.calls("MPI_Sendrecv", "before") == 20
    assert watched.calls("MPI_Send", "before") == 0


def test_another_tool_with_fortran_functions(any_mpi: Mpi, compiler: Compiler, live: Path) -> None:
    lines, watched = nosy(any_mpi, compiler, live, compiler(any_mpi, PROGRAMS / "sends.f90"))
    assert lines == ["0 0 3"] * 2
    assert watched.traffic("<program>") == Traffic(6, 24, 6, 24, 1, 1)


@pytest.mark.parametrize("levels", [1000, 40_000])
def test_deep_recursion(any_mpi: Mpi, compiler: Compiler, tmp_path: Path, levels: int) -> None:
    command = [str(program(compiler, any_mpi, "deep.c")), str(levels)]
    watched = watch(any_mpi, 1, command, tmp_path)
    assert watched.done.stdout == "end\n"
    assert watched.traffic("after") == Traffic(1, 4, 1, 4, 1, 1)
    assert watched.traffic("level") == Traffic(levels, 4 * levels, levels, 4 * levels, 1, 1)
    kept = min(levels, 1024)
    assert watched.info["dropped"] == str(levels - kept)
    assert watched.info["unmatched_begins"] == watched.info["unmatched_ends"] == "0"
    last = watched.rows("regions", exclusive=True)[kept]
    assert (last["region"], last["sends_total"]) == ("level", levels - kept + 1)
