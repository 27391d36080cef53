"""The shm library if ranks die, and if memory cannot be shared."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.limits import HANG
from support.mpi import Mpi
from support.processes import kill, processes_of, shared_files, wait_for_end
from support.programs import Compiler
from support.shm import CONFORM, Shm, conform_flags

pytestmark = [pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)]

ENDLESS = CONFORM.parents[1] / "endless.c"
LIMITED = CONFORM.parents[2] / "limited.c"


@pytest.fixture(params=["dynamic", "steal"])
def running(
    request: pytest.FixtureRequest, mpi: Mpi, shm: Shm, compiler: Compiler
) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A launcher and its three ranks, which exchange large messages until they are killed."""
    program = compiler(mpi, ENDLESS, ["-Wall", "-Wextra", "-Wno-stringop-overflow"])
    command = [*mpi.launch(3), *shm.command(program, protocol=request.param)]
    launcher = subprocess.Popen(
        [str(word) for word in command],
        env=mpi.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    ranks: list[int] = []
    assert launcher.stdout is not None
    try:
        assert launcher.stdout.readline() == "under way\n"
        ranks = processes_of(program)
        assert len(ranks) == 3
        yield launcher, ranks
    finally:
        for process in (launcher.pid, *ranks):
            kill(process)
        launcher.wait(HANG)
        launcher.stdout.close()


def test_a_killed_rank_ends_the_others(running: tuple[subprocess.Popen[str], list[int]]) -> None:
    launcher, ranks = running
    named = shared_files(ranks)
    os.kill(ranks[1], signal.SIGKILL)
    assert launcher.wait(HANG) != 0
    assert launcher.stdout is not None
    assert "wrong" not in launcher.stdout.read()
    _expect_nothing_left(ranks, named)


def test_nothing_is_left_of_a_killed_job(running: tuple[subprocess.Popen[str], list[int]]) -> None:
    """The launcher is killed, too, so it cannot clean up. Only its user could open its memory."""
    launcher, ranks = running
    for rank in ranks:
        files = [path for path in Path(f"/proc/{rank}/fd").iterdir() if _is_ours(path)]
        assert files
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    named = shared_files(ranks)
    assert not any(path.exists() for path in named)
    for process in (launcher.pid, *ranks):
        kill(process)
    _expect_nothing_left(ranks, named)


def test_without_shared_memory_mpi_handles_all(mpi: Mpi, shm: Shm, compiler: Compiler) -> None:
    """One rank of three may only have files of 16 MiB. The other ranks leave its messages to MPI, too."""
    program = compiler(mpi, CONFORM, conform_flags())
    words = shm.command(program, "plain", "only=crossing", "shared")
    limit = '[ "$OMPI_COMM_WORLD_RANK" != 1 ] || ulimit -f 32768; exec "$@"'
    done = mpi.run(3, ["sh", "-c", limit, "sh", *words])
    assert done.stdout == mpi.run(3, [program, "plain", "only=crossing", "shared"]).stdout
    said = [line for line in done.stderr.splitlines() if "haloscope" in line]
    assert said
    assert all("cannot share memory, so all messages go by MPI" in line for line in said)
    assert len(said) == len(set(said)) <= 3


def test_files_and_pipes_that_take_nothing(mpi: Mpi, shm: Shm, compiler: Compiler, tmp_path: Path) -> None:
    """Neither a limit of file sizes nor an error output without a reader ends a program."""
    program = compiler(mpi, LIMITED, ["-Wall", "-Wextra"])
    done = shm.run(2, program, "10", "0", settings={"output": str(tmp_path / "record"), "measure": "off"})
    assert done.stdout == "end\n"
    reads, writes = os.pipe()
    os.close(reads)
    try:
        command = [str(word) for word in shm.command(program, threshold="wrong")]
        done = subprocess.run(
            command, check=False, env=mpi.environment(), stdout=subprocess.PIPE, stderr=writes, text=True
        )
    finally:
        os.close(writes)
    assert (done.returncode, done.stdout) == (0, "end\n")


def _is_ours(descriptor: Path) -> bool:
    try:
        return "haloscope" in str(descriptor.readlink())
    except OSError:
        return False


def _expect_nothing_left(ranks: list[int], named: set[Path]) -> None:
    wait_for_end(ranks)
    assert named
    assert not any(path.exists() for path in named)
