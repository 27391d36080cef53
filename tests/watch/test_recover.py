"""`haloscope recover`: what a run under `haloscope env` left when it was interrupted."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.missing import missing
from support.mpi import Mpi
from support.processes import kill, wait_for_end
from support.programs import Compiler
from support.verbs import Verb, verb
from support.watched import Traffic, Watched, program

RANKS = 3
WHOLE_RING = Traffic(10 * RANKS, 120 * RANKS, 10 * RANKS, 120 * RANKS, 1, 1)


@pytest.fixture
def recover(haloscope: Path, tmp_path: Path) -> Verb:
    return verb(haloscope, "recover", tmp_path)


@contextmanager
def job(
    mpi: Mpi, compiler: Compiler, haloscope: Path, live: Path, how: str
) -> Iterator[subprocess.Popen[str]]:
    """A job script with `haloscope env` that starts a program; all ranks have worked."""
    executable = program(compiler, mpi, "ends.c")
    launch = shlex.join([*mpi.launch(RANKS), str(executable), how, "wait"])
    script = f'eval "$({haloscope} env -o run-%n.halo -- {launch})" && exec {launch}'
    with subprocess.Popen(
        ["bash", "-c", script],
        cwd=live.parent,
        env=mpi.environment({"HALOSCOPE_LIVE": str(live)}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as running:
        try:
            assert running.stdout is not None
            line = running.stdout.readline()
            # A launcher that ends a job may forward a part of it.
            assert line == "working\n" or (how != "hang" and "working\n".startswith(line))
            yield running
        except BaseException:
            running.send_signal(signal.SIGTERM)  # the ranks would wait for ever
            raise
    wait_for_end(processes(live))  # a launcher may end before the ranks that it has killed


def processes(live: Path) -> list[int]:
    """The ranks, by the names of their records."""
    return [int(path.stem.partition("-")[2]) for path in live.glob("haloscope-*/*.live")]


def kill_all(live: Path) -> None:
    for process in processes(live):
        kill(process)


def check(done: subprocess.CompletedProcess[str], path: Path) -> Watched:
    assert (done.returncode, done.stderr) == (0, "")
    assert "partial: ranks 0-2 did not reach MPI_Finalize" in done.stdout
    assert f"profile: {shlex.quote(str(path))}\n" in done.stdout
    watched = Watched(done, path)
    assert watched.traffic("ring") == WHOLE_RING
    assert (watched.info["partial"], watched.info["missing_ranks"]) == ("true", "[]")
    assert watched.info["unfinished_ranks"] == "[0, 1, 2]"
    return watched


@pytest.mark.parametrize("end", ["kill -9", "time limit", "MPI_Abort", "segfault"])
def test_a_profile_of_an_interrupted_run(
    mpi: Mpi, compiler: Compiler, haloscope: Path, live: Path, recover: Verb, end: str
) -> None:
    how = end if end in ("MPI_Abort", "segfault") else "hang"
    with job(mpi, compiler, haloscope, live, how) as running:
        if end == "kill -9":
            kill_all(live)
        elif end == "time limit":
            running.send_signal(signal.SIGTERM)  # as a batch system does
    if (mpi.abi, end) != ("mpich", "time limit"):  # Debian's launcher may return 0 then
        assert running.returncode != 0
    assert not list(live.parent.glob("*.halo"))
    # Parts of the profile that rank 0 was writing go; files with similar names stay.
    (record,) = live.glob("haloscope-*/0-*.live")
    writer = record.stem.partition("-")[2]
    parts = [live.parent / f"run-3.halo.part-{writer}{end}" for end in ("", "+", "0", ".txt")]
    for part in parts:
        part.touch()
    watched = check(recover(live, status=None), live.parent / "run-3.halo")
    assert watched.region("last")["ranks"] == RANKS
    assert list(live.iterdir()) == []
    assert [part.exists() for part in parts] == [False, False, True, True]


def test_what_still_runs_is_left_alone(
    any_mpi: Mpi, compiler: Compiler, haloscope: Path, live: Path, recover: Verb
) -> None:
    with job(any_mpi, compiler, haloscope, live, "hang"):
        done = recover(live, status=1)
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert "still running" in line
        assert "--force" in line
        check(recover(live, "--force", "-o", "so-far.halo", status=None), live.parent / "so-far.halo")
        assert len(processes(live)) == RANKS
        kill_all(live)
    check(recover(live, status=None), live.parent / "run-3.halo")
    assert list(live.iterdir()) == []


def test_profiles_are_not_overwritten(
    any_mpi: Mpi, compiler: Compiler, haloscope: Path, live: Path, recover: Verb
) -> None:
    """Two runs with the same output name, recovered at once; then one of them again."""
    for _ in range(2):
        with job(any_mpi, compiler, haloscope, live, "segfault"):
            pass
    other_file = live.parent / "run-3.halo"
    other_file.write_text("no profile, and someone's")
    done = recover("--keep", live, status=None)
    for name in ("run-3-2.halo", "run-3-3.halo"):
        check(done, live.parent / name)
    assert other_file.read_text() == "no profile, and someone's"
    assert len(processes(live)) == 2 * RANKS
    first, other = live.iterdir()
    done = recover("--keep", first, "-o", other_file, status=1)
    assert done.stdout == ""
    assert f"{other_file}: is not a profile and would be replaced" in done.stderr
    check(recover("--keep", first, "--force", status=None), other_file)
    check(recover(first, "--force", status=None), live.parent / "run-3-4.halo")
    assert list(live.iterdir()) == [other]
    check(recover(live, "-o", "%n %p %%n.halo", status=None), live.parent / "3 ends %n.halo")


def test_records_of_others_are_refused(
    any_mpi: Mpi,
    compiler: Compiler,
    haloscope: Path,
    live: Path,
    recover: Verb,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They say where to write, and are mapped as if they were our own: all of them, and one."""
    if os.geteuid() != 0:
        missing("giving files away needs root")
    with job(any_mpi, compiler, haloscope, live, "segfault"):
        pass
    records = sorted(live.glob("*/*.live"))
    for record in records[1:]:
        os.chown(record, 65534, -1)
    done = recover(live, "--keep", status=1)
    assert f"{records[1]}: the records of nobody are not read" in done.stderr
    (made,) = live.parent.glob("*.halo")
    assert Watched(done, made).info["missing_ranks"] == "[1, 2]"
    made.unlink()
    os.chown(records[0], 65534, -1)
    done = recover(live, status=1)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert not list(live.parent.glob("*.halo"))
    # Without a directory: ours only, and not a word of others'.
    monkeypatch.setenv("HALOSCOPE_LIVE", str(live))
    os.chown(records[0].parent, 65534, -1)
    done = recover(status=1)
    assert done.stdout == ""
    assert "no live records of yours" in done.stderr
    for path in (records[0].parent, *records):
        os.chown(path, 0, -1)
    check(recover(status=None), live.parent / "run-3.halo")
    assert list(live.iterdir()) == []


def test_records_of_several_nodes(
    any_mpi: Mpi, compiler: Compiler, haloscope: Path, live: Path, recover: Verb
) -> None:
    """On one node a part of them is found: it stays, for the day on which all are together."""
    with job(any_mpi, compiler, haloscope, live, "segfault"):
        pass
    (here,) = live.iterdir()
    there = live.parent / "collected" / "node1"
    there.mkdir(parents=True)
    for record in sorted(here.iterdir())[1:]:
        shutil.move(record, there)
    done = recover(live, "-o", "part.halo")
    assert "partial: ranks 1-2 left no record; rank 0 did not reach" in done.stdout
    assert "1 of 3 ranks" in done.stderr
    assert len(processes(live)) == 1
    shutil.move(here, there.parent / "node0")
    done = recover("collected", status=None)
    check(done, live.parent / "run-3.halo")
    assert not list(there.parent.rglob("*.live"))


def test_records_that_are_damaged_stay(
    any_mpi: Mpi, compiler: Compiler, haloscope: Path, live: Path, recover: Verb
) -> None:
    with job(any_mpi, compiler, haloscope, live, "segfault"):
        pass
    damaged = sorted(live.glob("*/*.live"))[1]
    damaged.write_bytes(bytes(1000))
    done = recover(live, status=1)
    assert done.stderr.count("\n") == 3
    assert f"{damaged}: no recorder in this cache can read it" in done.stderr
    assert "2 of 3 ranks" in done.stderr
    assert Watched(done, live.parent / "run-3.halo").info["missing_ranks"] == "[1]"
    assert len(processes(live)) == RANKS


def test_nothing_to_recover(recover: Verb, live: Path) -> None:
    for directory, word in ((live, "no live records"), (live / "x", "no such directory")):
        done = recover(directory, status=1)
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert f"{directory}: {word}" in line
