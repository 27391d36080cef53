"""Messages of a program with the shm library are the same as without it.

tests/hide/programs/shm/conform has a case for each of MPI's rules, and random.c has combinations.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from support.injected import PROGRAMS as HIDE_PROGRAMS
from support.mpi import NAMES, Mpi
from support.programs import Compiler
from support.shm import CONFORM, PROGRAMS, RANDOM, Shm, carried, conform_flags, offered

ONE = pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
# Open MPI 4 with CMA writes beyond the end of a receive that is too small.
NO_CMA = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"}

FLAGS = ["-Wall", "-Wextra", "-Wno-stringop-overflow"]

Lines = list[str]
Bare = Callable[[Mpi, int, str, tuple[str, ...]], Lines]


@pytest.fixture
def conform(mpi: Mpi, compiler: Compiler) -> Path:
    return compiler(mpi, CONFORM, conform_flags())


@pytest.fixture(scope="module")
def bare(compiler: Compiler) -> Bare:
    """Return the notes of the cases without the shm library."""

    @cache
    def lines(mpi: Mpi, ranks: int, mode: str, kinds: tuple[str, ...]) -> Lines:
        program = compiler(mpi, CONFORM, conform_flags())
        done = mpi.run(ranks, [program, mode, *kinds], env=NO_CMA if mode == "errors" else None)
        found = done.stdout.splitlines()
        assert found[-1] == "finished"
        assert not re.search("[A-Z]{4}", done.stdout)  # cases print errors in capitals
        return found

    return lines


def differences(with_shm: Lines, without: Lines) -> str:
    """Return the first line that differs, and the position of the difference."""
    for got, wanted in zip(with_shm, without, strict=False):
        if got != wanted:
            pairs = zip(got.split(), wanted.split(), strict=False)
            return got[:60] + " … " + next((f"{x} instead of {y}" for x, y in pairs if x != y), "")
    return f"{len(with_shm)} lines instead of {len(without)}"


@ONE
@pytest.mark.parametrize(
    ("ranks", "settings", "protocols"),
    [
        (2, {"measure": "off"}, {"GET", "ESCAPE"}),
        (2, {}, {"MPI (tried)"}),
        (2, {"protocol": "get", "cma": "always"}, {"GET"}),
        (2, {"protocol": "coop"}, {"COOP"}),
        (2, {"protocol": "steal", "patience": "0.02", "chunk": "4096"}, {"STEAL"}),
        (3, {"protocol": "static", "threshold": "1024"}, {"STEAL"}),
        # Without patience no receiver is late, for which messages are left to MPI.
        (2, {"patience": "0", "pool": "1", "measure": "off"}, {"GET", "ESCAPE", "PACK"}),
        (2, {"pool": "0"}, set()),
        (2, {"protocol": "off"}, set()),
        pytest.param(4, {"protocol": "coop"}, {"COOP"}, marks=pytest.mark.long),
        pytest.param(4, {"patience": "0", "pool": "1"}, {"GET", "ESCAPE"}, marks=pytest.mark.long),
    ],
)
def test_messages_are_as_without_the_shm_library(
    mpi: Mpi,
    shm: Shm,
    conform: Path,
    bare: Bare,
    tmp_path: Path,
    ranks: int,
    settings: dict[str, str],
    protocols: set[str],
) -> None:
    kinds = ("shared", "mixed")
    wanted = bare(mpi, ranks, "plain", kinds)
    record = tmp_path / "record"
    done = shm.run(ranks, conform, "plain", *kinds, settings={"output": str(record), **settings})
    lines = done.stdout.splitlines()
    assert lines == wanted, differences(lines, wanted)
    assert protocols <= set(carried(record))


@ONE
@pytest.mark.parametrize("protocol", ["dynamic", "steal"])
@pytest.mark.parametrize("mode", ["errors", "threads"])
def test_errors_and_threads_are_as_without_the_shm_library(
    mpi: Mpi, shm: Shm, conform: Path, bare: Bare, mode: str, protocol: str
) -> None:
    ranks, kinds = {"errors": 2, "threads": 3}[mode], ("shared", "mixed")
    wanted = bare(mpi, ranks, mode, kinds)
    env = NO_CMA if mode == "errors" else None
    done = shm.run(ranks, conform, mode, *kinds, env=env, settings={"protocol": protocol})
    lines = done.stdout.splitlines()
    assert lines == wanted, differences(lines, wanted)


@pytest.mark.parametrize("mpi", [*NAMES[1:], "standard-wheel"], indirect=True)
def test_other_mpis_are_as_without_the_shm_library(
    mpi: Mpi, shm: Shm, conform: Path, bare: Bare, tmp_path: Path
) -> None:
    wanted = bare(mpi, 2, "plain", ("mixed",))
    record = tmp_path / "record"
    done = shm.run(2, conform, "plain", "mixed", settings={"output": str(record), "measure": "off"})
    lines = done.stdout.splitlines()
    assert lines == wanted, differences(lines, wanted)
    assert offered(record) > 50


@ONE
def test_messages_from_shared_memory_are_handled(shm: Shm, conform: Path, tmp_path: Path) -> None:
    """By default, only messages from shared memory, and types with holes, which are packed into it."""
    for kind in ("shared", "heap"):
        record = tmp_path / kind
        settings = {"output": str(record), "measure": "off", "patience": "0"}
        shm.run(2, conform, "plain", kind, settings=settings)
    shared, heap = carried(tmp_path / "shared"), carried(tmp_path / "heap")
    assert offered(tmp_path / "shared") > 50
    assert not {"GET", "COOP", "STEAL", "ESCAPE", "MPI (late)"} & set(heap)
    # The record has the reason.
    assert heap["MPI (memory)"] > shared["MPI (memory)"] + 50
    assert min(shared["MPI (datatype)"], heap["MPI (datatype)"]) > 0  # messages with absolute addresses
    assert min(shared["PACK"], heap["PACK"]) > 0


@ONE
@pytest.mark.parametrize("messages", [2_000, pytest.param(17_000, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("ranks", "seed", "settings"),
    [
        (2, 0, {}),
        (4, 2, {"protocol": "steal", "chunk": "4096"}),
        pytest.param(3, 1, {}, marks=pytest.mark.long),
        pytest.param(2, 4, {"patience": "0", "pool": "1"}, marks=pytest.mark.long),
        pytest.param(4, 6, {"threshold": "1024", "protocol": "coop"}, marks=pytest.mark.long),
        pytest.param(3, 8, {"protocol": "static", "cma": "always"}, marks=pytest.mark.long),
    ],
)
def test_random_programs_get_every_byte(
    mpi: Mpi,
    compiler: Compiler,
    shm: Shm,
    tmp_path: Path,
    messages: int,
    ranks: int,
    seed: int,
    settings: dict[str, str],
) -> None:
    """The checksum depends only on the plan, which the seed and the number of ranks determine."""
    program = compiler(mpi, RANDOM, ["-Wall", "-Wextra"])
    record = tmp_path / "record"
    words = (str(seed), str(messages))
    done = shm.run(ranks, program, *words, settings={"output": str(record), **settings})
    assert int(done.stdout.split()[0]) >= messages
    assert offered(record) > messages / 100
    if ranks == 2:
        assert done.stdout == mpi.run(ranks, [program, *words]).stdout


@pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-system", "mpich-wheel"], indirect=True)
def test_only_bytes_that_arrive_are_touched(mpi: Mpi, compiler: Compiler, shm: Shm, tmp_path: Path) -> None:
    """Random datatypes receive shorter messages. What a receive does not fill is an inaccessible page."""
    program = compiler(mpi, PROGRAMS / "short.c", FLAGS)
    for seed, threshold in ("1", "32768"), ("2", "1024"):
        without = mpi.run(2, [program, seed, "100"], env=NO_CMA).stdout
        settings = {"threshold": threshold, "measure": "off", "output": str(tmp_path / "record")}
        got = shm.run(2, program, seed, "100", settings=settings).stdout
        assert got == without, differences(got.splitlines(), without.splitlines())
    assert offered(tmp_path / "record") > 20


@pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-system", "mpich-wheel"], indirect=True)
def test_every_call_completes_persistent_sends(mpi: Mpi, compiler: Compiler, shm: Shm) -> None:
    program = compiler(mpi, PROGRAMS / "started.c", FLAGS)
    without, got = mpi.run(2, [program]), shm.run(2, program, settings={"measure": "off"})
    assert sorted(got.stdout.splitlines()) == sorted(without.stdout.splitlines())


@pytest.mark.parametrize(
    ("mpi", "words"),
    [("openmpi-system", ()), ("openmpi-system", ("threads",)), ("mpich-system", ()), ("mpich-wheel", ())],
    indirect=["mpi"],
)
def test_messages_after_calls_that_were_left(
    mpi: Mpi, compiler: Compiler, shm: Shm, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """Calls that are left by longjmp hold no lock, and later calls are not taken for calls inside of them."""
    program = compiler(mpi, HIDE_PROGRAMS / "left_calls.c", FLAGS)
    settings = {"measure": "off", "output": str(tmp_path / "record")}
    done = shm.run(2, program, "262144", *words, settings=settings)
    assert "wrong" not in done.stdout
    assert offered(tmp_path / "record") == 5 * 30
