"""Programs that hang in known ways: `haloscope hang` names each, and its rank."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from support.limits import HANG
from support.missing import missing
from support.mpi import Mpi
from support.processes import kill, run_program
from support.programs import Compiler
from support.verbs import Verb, verb
from support.watched import Watched, program

RANKS = 4
# By kind of hang (the program's argument): the verdict's kind, its ranks, and words of its text.
HANGS: dict[str, tuple[str, set[int], tuple[str, ...]]] = {
    "ring of sends": ("deadlock of sends", {0, 1, 2, 3}, ("without receives", "0 → 1 → 2 → 3 → 0")),
    "ring of receives": ("deadlock of receives", {0, 1, 2, 3}, ("no rank sends",)),
    "missing collective": ("missing collective", {1}, ("rank 1 ", "MPI_Allreduce")),
    "different collectives": ("different collectives", {0, 1, 2, 3}, ("MPI_Allreduce", "MPI_Barrier")),
    "wrong tag": ("wrong tag", {0, 1}, ("tag 3", "tag 4")),
    "asleep": ("late", {1}, ("rank 1, asleep", "region hang/reading")),
    "dead": ("dead", {1}, ("rank 1 is dead",)),
    "from itself": ("self", {2}, ("rank 2 waits for itself", "tag 3")),
    "nobody receives": ("never received", {1}, ("rank 1 ", "MPI_Ssend")),
    "barrier and receive": ("deadlock", {0, 1}, ("MPI_Barrier", "MPI_Recv from 0, tag 3")),
    "never sent": ("deadlock", {0, 1}, ("MPI_Wait with 0, tag 5", "MPI_Barrier")),
    "computing": ("late", {1}, ("rank 1, computing",)),
    "in a part": ("deadlock of receives", {1, 3}, ("no rank sends",)),
}
# Rank 1 has ended, or is in MPI_Finalize and no longer asked.
NO_STACK = ("dead", "missing collective", "nobody receives")


@pytest.fixture
def hang(haloscope: Path, live: Path, tmp_path: Path) -> Verb:
    return verb(haloscope, "hang", tmp_path, {"HALOSCOPE_LIVE": str(live)})


@contextmanager
def hung(
    mpi: Mpi, compiler: Compiler, haloscope: Path, live: Path, how: str, *options: str
) -> Iterator[subprocess.Popen[str]]:
    """A program that hangs, watched by `haloscope run`; it is ended as by a time limit."""
    executable = program(compiler, mpi, "hangs.c")
    command = [haloscope, "run", "-o", live.parent / "hung.halo", *options, "--", *mpi.launch(RANKS)]
    with subprocess.Popen(
        [*map(str, command), str(executable), how],
        env=mpi.environment({"HALOSCOPE_LIVE": str(live)}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "working\n"
            yield running
        finally:
            for number in processes(live).values():
                kill(number, signal.SIGCONT)
            running.send_signal(signal.SIGTERM)
            _, output = running.communicate()
            vars(running)["said"] = output


def processes(live: Path) -> dict[int, int]:
    """The ranks' processes, by the names of their records."""
    pairs = [path.stem.split("-") for path in live.glob("haloscope-*/*.live")]
    return {int(rank): int(process) for rank, process in pairs}


@contextmanager
def killed(live: Path, rank: int) -> Iterator[None]:
    """Kills a rank such that its launcher does not hear of it, and so does not end the others."""
    process = processes(live)[rank]
    parent = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(parent, signal.SIGSTOP)
    try:
        os.kill(process, signal.SIGKILL)
        yield
    finally:
        os.kill(parent, signal.SIGCONT)


def asked(hang: Verb, *arguments: str) -> dict[str, Any]:
    """What `hang` says of the one program that runs."""
    done = hang("--format", "json", *arguments)
    assert done.stderr == ""
    (report,) = json.loads(done.stdout)
    assert isinstance(report, dict)
    return report


def asked_until(hang: Verb, is_there: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """What `hang` says when all ranks are where they hang."""
    end = time.monotonic() + HANG
    while True:
        report = asked(hang)
        if is_there(report) or time.monotonic() > end:
            return report


def verdict_is(kind: str, ranks: set[int], words: tuple[str, ...] = ()) -> Callable[[dict[str, Any]], bool]:
    """Whether a report has this verdict. A rank on its way to where it hangs may have it with other words."""

    def holds(report: dict[str, Any]) -> bool:
        verdict = report["verdict"]
        found = (verdict["kind"], set(verdict["ranks"]))
        return found == (kind, ranks) and all(word in verdict["text"] for word in words)

    return holds


# How long it takes is measured by benchmarks/watch/hangs.py.
EVERYWHERE = ("ring of sends", "in a part")
OTHERS = [how for how in HANGS if how not in EVERYWHERE]


@pytest.mark.parametrize("how", OTHERS)
def test_a_hang_is_named(
    any_mpi: Mpi, compiler: Compiler, haloscope: Path, live: Path, hang: Verb, how: str
) -> None:
    check_hang(any_mpi, compiler, haloscope, live, hang, how)


@pytest.mark.parametrize("how", [*EVERYWHERE, *(pytest.param(how, marks=pytest.mark.long) for how in OTHERS)])
def test_a_hang_is_named_with_every_mpi(
    mpi: Mpi, compiler: Compiler, haloscope: Path, live: Path, hang: Verb, how: str
) -> None:
    check_hang(mpi, compiler, haloscope, live, hang, how)


def check_hang(mpi: Mpi, compiler: Compiler, haloscope: Path, live: Path, hang: Verb, how: str) -> None:
    kind, ranks, words = HANGS[how]
    with hung(mpi, compiler, haloscope, live, how) as running:
        with killed(live, 1) if how == "dead" else nullcontext():
            report = asked_until(hang, verdict_is(kind, ranks, words))
        assert running.poll() is None
    verdict = report["verdict"]
    assert (verdict["kind"], set(verdict["ranks"])) == (kind, ranks), verdict["text"]
    for word in words:
        assert word in verdict["text"]
    stacks = {stack["rank"]: stack for stack in report["stacks"]}
    assert how in NO_STACK or ranks & set(stacks)
    if how == "asleep":
        assert "sleeps outside MPI" in stacks[1]["silent"]
    for rank in ranks & set(stacks):
        if not stacks[rank]["silent"]:
            frames = stacks[rank]["frames"]
            assert frames[-1].startswith("main (hangs.c:"), frames
            assert not any("PMPI_" in frame for frame in frames), frames


def test_a_run_says_that_it_hangs(
    any_mpi: Mpi, compiler: Compiler, haloscope: Path, live: Path, hang: Verb
) -> None:
    """Once, on standard error; and its last calls are in its profile, with their time."""
    with hung(any_mpi, compiler, haloscope, live, "wrong tag", "--hang-after", "1") as running:
        report = next(line for line in running.stderr or () if "hangs: no progress" in line)
        assert "receives from 0 with tag 3" in report
        top = verb(haloscope, "top", live.parent, {"HALOSCOPE_LIVE": str(live)})
        table = top("--interval", "0.5")
        assert table.stderr == ""
        assert "MPI_Recv" in table.stdout
        assert "hang" in table.stdout
        metrics = live.parent / "metrics.prom"
        top("--prometheus", metrics, "--interval", "0")
        assert metrics.read_text().count("haloscope_rank_up{") == RANKS
    assert running.returncode != 0
    watched = Watched(subprocess.CompletedProcess([], 0), live.parent / "hung.halo")
    assert watched.info["open_calls"] == "2"
    assert "rank 1 in MPI_Recv from 0, tag 3" in watched.info["ended_in"]
    (receive,) = watched.select("calls", region="hang", call="MPI_Recv")
    assert receive["calls"] == 1
    assert receive["time_total"] > 1
    # The parts of the time are the sums of the calls, those that are not over among them.
    rows = watched.select("calls", region="hang")
    region = watched.region("hang", exclusive=True)
    parts = sum(region[f"{part}_time_mean"] for part in ("p2p", "coll", "rma", "io"))
    assert region["mpi_time_mean"] == pytest.approx(parts)
    assert RANKS * parts == pytest.approx(sum(row["time_total"] for row in rows))
    assert region["wait_time_mean"] == pytest.approx(parts)


def test_a_run_that_ends_says_nothing(
    any_mpi: Mpi, compiler: Compiler, haloscope: Path, live: Path, tmp_path: Path
) -> None:
    executable = program(compiler, any_mpi, "hangs.c")
    words = [haloscope, "run", "--quiet", "-o", tmp_path / "x.halo", "--hang-after", str(HANG), "--"]
    done = run_program(
        [*map(str, words), *any_mpi.launch(2), str(executable), "nothing"],
        env=any_mpi.environment({"HALOSCOPE_LIVE": str(live)}),
    )
    assert (done.stdout, done.stderr) == ("working\n", "")


def test_a_rank_that_computes_for_long_is_no_hang(
    any_mpi: Mpi, compiler: Compiler, haloscope: Path, live: Path
) -> None:
    with hung(any_mpi, compiler, haloscope, live, "computing", "--quiet", "--hang-after", "0.3") as running:
        # It has computed for longer than that, and was looked at every quarter of a second.
        stat = Path(f"/proc/{processes(live)[1]}/stat")
        while int(stat.read_text().rpartition(")")[2].split()[11]) < 0.8 * os.sysconf("SC_CLK_TCK"):
            time.sleep(0.05)
    assert "hangs" not in said(running)


def said(running: subprocess.Popen[str]) -> str:
    """What a program that has ended wrote to standard error."""
    return str(getattr(running, "said", ""))


def test_a_program_that_takes_the_signal_is_not_asked(
    any_mpi: Mpi, compiler: Compiler, haloscope: Path, live: Path, hang: Verb
) -> None:
    """Its own handler would be called: its wait is reported without a stack."""
    # The recorder looks at the program's handlers with each slice; the program works after some of them.
    with hung(any_mpi, compiler, haloscope, live, "with all signals", "--slice", "0.1"):
        report = asked_until(hang, verdict_is("self", {1}))
    (stack,) = report["stacks"]
    assert (stack["rank"], stack["frames"]) == (1, [])
    assert "signal" in stack["silent"]


def test_all_requests_of_a_rank_are_told(
    any_mpi: Mpi, compiler: Compiler, haloscope: Path, live: Path, hang: Verb
) -> None:
    with hung(any_mpi, compiler, haloscope, live, "several requests"):
        report = asked_until(hang, lambda report: any(stack["requests"] == 2 for stack in report["stacks"]))
    stacks = {stack["rank"]: stack for stack in report["stacks"]}
    assert stacks[1]["requests"] == 2
    assert stacks[1]["waiting"] == ["receive from 0, tag 5", "receive from 3, tag 6"]


def give_away(record: Path) -> None:
    """A different user's record is not trusted."""
    os.chown(record, 65534, -1)


def make_other(record: Path) -> None:
    """As of a recorder that has other records; the second number says which."""
    with record.open("r+b") as file:
        file.seek(8)
        file.write(b"\xff" * 8)


def test_what_cannot_be_read_is_said(
    any_mpi: Mpi, compiler: Compiler, haloscope: Path, live: Path, hang: Verb
) -> None:
    """One rank's record is a different user's, then one of a different version: the others are reported."""
    if os.geteuid() != 0:
        missing("giving files away needs root")
    with hung(any_mpi, compiler, haloscope, live, "ring of receives"):
        asked_until(hang, verdict_is("deadlock of receives", {0, 1, 2, 3}))
        for rank, spoil in ((3, give_away), (1, make_other)):
            (record,) = live.glob(f"haloscope-*/{rank}-*.live")
            spoil(record)
            done = hang("--format", "json", status=None)
            (line,) = done.stderr.splitlines()
            assert done.returncode == 0
            assert ".live" in line
            assert "of another user, another version or another cache; not read" in line
            (report,) = json.loads(done.stdout)
            assert report["verdict"]["kind"] == "unseen"
            assert f"{rank}, " in report["verdict"]["text"]
        assert "(and 1 more)" in line
