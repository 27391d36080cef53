"""What processes leave that were killed before they had a record, or while they wrote the profile."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest

import haloscope
from support.missing import missing
from support.mpi import Mpi
from support.programs import Compiler
from support.watched import watch


@pytest.fixture
def dead() -> int:
    """A number that no process has: Linux has 2**22 at most."""
    return 1 << 30


def record(live: Path, run: str, pid: int, content: bytes = bytes(1 << 16)) -> Path:
    path = live / f"haloscope-{run}" / f"0-{pid}.live"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_what_never_began_is_removed(tmp_path: Path, dead: int) -> None:
    record(tmp_path, f"{dead}-7", dead)
    record(tmp_path, f"{dead}-8", dead, b"")
    (tmp_path / f"haloscope-{dead}-9").mkdir()
    assert haloscope.recover(tmp_path) == haloscope.watch.Recovery()
    assert not os.listdir(tmp_path)


def test_what_may_still_begin_stays(tmp_path: Path) -> None:
    own = record(tmp_path, f"{os.getpid()}-7", os.getpid())
    new = tmp_path / "haloscope-new"
    new.mkdir()
    os.utime(new, (time.time() + 1000, time.time() + 1000))  # new, however long this takes
    assert haloscope.recover(tmp_path).failures
    assert own.exists()
    assert new.exists()
    os.utime(new, (time.time() - 100, time.time() - 100))
    haloscope.recover(tmp_path)
    assert not new.exists()


def test_a_short_record_stays(tmp_path: Path, dead: int) -> None:
    """None has so little in it, whether or not it is zero."""
    path = record(tmp_path, f"{dead}-7", dead, bytes(4096))
    assert haloscope.recover(tmp_path).failures
    assert path.exists()


def test_records_of_another_build_stay(tmp_path: Path, dead: int) -> None:
    path = record(tmp_path, f"{dead}-7", dead, b"HLOLIVE1" + bytes(4096))
    assert haloscope.recover(tmp_path).failures
    assert path.exists()


def test_a_program_that_gives_up_its_rights_has_one_profile(any_mpi: Mpi, compiler: Compiler) -> None:
    """It writes its profile, and can't remove its records."""
    if os.geteuid() != 0:
        missing("changing the user needs root")
    text = """
        #include <mpi.h>
        #include <unistd.h>
        int main(int argc, char **argv) {
          MPI_Init(&argc, &argv);
          MPI_Barrier(MPI_COMM_WORLD);
          if (setgid(65534) != 0 || setuid(65534) != 0) return 9;
          return MPI_Finalize();
        }
    """
    with tempfile.TemporaryDirectory() as name:
        directory, live = Path(name), Path(name) / "live"
        directory.chmod(0o777)
        live.mkdir()
        program = compiler.text(any_mpi, "gives_up.c", text)
        watched = watch(any_mpi, 1, [program], directory, env={"HALOSCOPE_LIVE": str(live)})
        assert watched.calls("MPI_Barrier", "<program>") == 1
        assert len(list(directory.glob("*.halo"))) == 1
        assert not list(live.iterdir())
