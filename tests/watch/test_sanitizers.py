"""The recorder under AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer."""

from __future__ import annotations

import os
import platform
import struct
from pathlib import Path

import pytest

import haloscope
from support.missing import missing
from support.mpi import Mpi
from support.programs import Compiler
from support.sanitizers import Sanitized, build, reports
from support.watched import program

# A build takes more than a minute of processor time.
pytestmark = pytest.mark.long

PROGRAMS = {
    "p2p.c": 2,
    "receives.c": 2,
    "completion.c": 2,
    "probes.c": 2,
    "persistent.c": 2,
    "collectives.c": 4,
    "communicators.c": 4,
    "regions.c": 2,
    "series.c": 2,
    "threads.c": 2,
    "many_names.c": 1,
}


# Where a process has its records (src/watch/records/arena.hpp).
ARENA = 0x5660_0000_0000 if platform.machine() == "x86_64" else 0x2A00_0000_0000


def sanitized(mpi: Mpi, sanitizers: str) -> Sanitized:
    try:
        return build(mpi, sanitizers)
    except LookupError as error:
        missing(str(error))


@pytest.fixture(scope="module")
def memory(any_mpi: Mpi) -> Sanitized:
    return sanitized(any_mpi, "address,undefined")


def verify(profile: Path) -> int:
    """Reads all of a profile; the number of its ranks."""
    with haloscope.open(profile) as opened:
        opened.verify()
        return len(opened.table("ranks", region="<program>"))


def check_run(sanitized: Sanitized, compiler: Compiler, tmp_path: Path, name: str) -> None:
    executable = program(compiler, sanitized.mpi, name, ["-pthread"])
    done = sanitized.run(PROGRAMS[name], [executable], tmp_path)
    assert reports(tmp_path) == []
    assert (done.returncode, done.stderr) == (0, "")
    assert verify(tmp_path / "run.halo") == PROGRAMS[name]
    assert list((tmp_path / "live").iterdir()) == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_reported(memory: Sanitized, compiler: Compiler, tmp_path: Path, name: str) -> None:
    check_run(memory, compiler, tmp_path, name)


# The wheel, as its headers have more functions than Debian's.
@pytest.mark.parametrize("mpi", ["mpich-wheel"], indirect=True)
@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_reported_with_mpich(mpi: Mpi, compiler: Compiler, tmp_path: Path, name: str) -> None:
    check_run(sanitized(mpi, "address,undefined"), compiler, tmp_path, name)


def test_something_would_be_reported(
    any_mpi: Mpi, memory: Sanitized, compiler: Compiler, tmp_path: Path
) -> None:
    executable = program(compiler, any_mpi, "freed.c", ["-Wno-use-after-free"])
    done = memory.run(1, [executable], tmp_path)
    (report,) = reports(tmp_path)
    assert "heap-use-after-free" in report
    assert "src/watch/" in report
    assert done.returncode != 0


def test_joining_what_a_killed_run_left(
    any_mpi: Mpi, memory: Sanitized, compiler: Compiler, tmp_path: Path
) -> None:
    memory.run(3, [program(compiler, any_mpi, "killed.c")], tmp_path)
    assert not (tmp_path / "run.halo").exists()
    done = memory.join(tmp_path)
    assert reports(tmp_path) == []
    assert (done.returncode, done.stderr) == (0, "")
    assert verify(tmp_path / "run.halo") == 3


@pytest.mark.parametrize("damage", ["ring", "crooked", "far"])
def test_joining_what_a_wild_program_wrote_into_its_records(
    any_mpi: Mpi, memory: Sanitized, compiler: Compiler, tmp_path: Path, damage: str
) -> None:
    """A pointer to its own record, next to a record, out of the arena: no harm."""
    memory.run(2, [program(compiler, any_mpi, "killed.c")], tmp_path)
    file, other = sorted((tmp_path / "live").glob("*/*.live"))
    other.unlink()
    content = file.read_bytes()
    words = struct.unpack(f"<{1 << 14}Q", content[: 1 << 17])
    pointers = {i * 8: word for i, word in enumerate(words) if 0 <= word - ARENA < len(content)}
    assert len(pointers) > 30
    with file.open("r+b", buffering=0) as records:
        for offset, target in pointers.items():
            own = max(word for word in (ARENA, *pointers.values()) if word <= ARENA + offset)
            wrong = {"ring": own, "crooked": target + 1, "far": ARENA + len(content) - 8}[damage]
            os.pwrite(records.fileno(), struct.pack("<Q", wrong), offset)
            done = memory.join(tmp_path, ["hard_rss_limit_mb=600"])
            os.pwrite(records.fileno(), content[offset : offset + 8], offset)
            assert reports(tmp_path) == [], offset
            assert "runtime error" not in done.stderr, offset
            assert done.returncode in (0, 1)


# One interface is enough for what all share.
@pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
@pytest.mark.parametrize("transport", ["tcp,self", "vader,self"])
def test_threads_do_not_race(mpi: Mpi, compiler: Compiler, tmp_path: Path, transport: str) -> None:
    thread = sanitized(mpi, "thread")
    executable = program(compiler, mpi, "threads.c", ["-pthread", "-fsanitize=thread"])
    handles = program(compiler, mpi, "handles.c", ["-shared", "-fPIC"])
    # Of the MPI library, which it did not compile, the sanitizer sees too little to judge it.
    options = ["detect_deadlocks=0", "ignore_noninstrumented_modules=1", "history_size=4"]
    done = thread.run(
        2, [executable], tmp_path, options=options, below=[handles], env={"OMPI_MCA_btl": transport}
    )
    assert reports(tmp_path) == []
    assert (done.returncode, done.stderr) == (0, "")
    assert verify(tmp_path / "run.halo") == 2
