"""Programs of other people, unmodified: LAMMPS as Debian has it, and Python with mpi4py.

What the recorder says is compared with a second, bare run under tests/watch/oracle/counter.c.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.applications import Counts, counted
from support.missing import impossible, missing
from support.mpi import Mpi
from support.programs import Compiler
from support.watched import Watched, watch

LAMMPS = Path("/usr/bin/lmp")
MELT = """
units lj
atom_style atomic
timer off
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
dump 1 all custom 20 melt.dump id x y z vx vy vz
dump_modify 1 sort id
thermo 10
run 40
"""
HEADING = "Step Temp E_pair E_mol TotEng Press "


@dataclass(frozen=True)
class Runs:
    """One program with and without the recorder, and with the counter in its place."""

    directory: Path
    bare: subprocess.CompletedProcess[str]
    watched: Watched
    counts: list[Counts]


def column(run: Watched, table: str, name: str) -> list[int]:
    """By rank, of the whole program."""
    rows = sorted(run.select(table, False, region="<program>"), key=lambda row: row["rank"])
    return [row[name] for row in rows]


def assert_counts_agree(runs: Runs) -> None:
    """What each rank sent: how much, in which sizes, to whom; and its collectives."""
    run, counts = runs.watched, runs.counts
    assert sum(one.sends for one in counts) > 0
    assert column(run, "ranks", "sends") == [one.sends for one in counts]
    assert column(run, "ranks", "bytes_sent") == [one.bytes for one in counts]
    assert column(run, "ranks", "dest_ranks") == [len(one.partners) for one in counts]
    partners = {
        (row["rank"], row["partner"]): (row["sends"], row["bytes_sent"])
        for row in run.rows("partners")
        if row["sends"]
    }
    assert partners == {(one.rank, to): pair for one in counts for to, pair in one.partners.items()}
    sizes = sum((Counter(one.sizes) for one in counts), Counter[int]())
    assert sizes_of(run, "p2p") == sizes
    colls = [[sum(x) for x in zip(*one.collectives.values(), strict=True)] for one in counts]
    assert column(run, "ranks", "colls") == [calls for calls, _ in colls]
    assert column(run, "ranks", "coll_bytes") == [total for _, total in colls]
    operations: Counter[str] = Counter()
    for one in counts:
        operations.update({name: calls for name, (calls, _) in one.collectives.items()})
    found: Counter[str] = Counter()
    for row in run.rows("collectives"):
        found[row["operation"]] += row["calls"]
    assert found == operations
    assert sizes_of(run, "coll").total() == operations.total()


def sizes_of(run: Watched, kind: str) -> Counter[int]:
    rows = run.select("sizes", kind=kind)
    return Counter({row["bytes"]: row["messages"] for row in rows if row["messages"]})


def assert_sums_balance(run: Watched, partial: bool = False) -> None:
    """Each pair of ranks agrees on the messages and bytes between them."""
    pairs = {(row["rank"], row["partner"]): row for row in run.rows("partners")}
    for (rank, partner), row in pairs.items():
        back = pairs[partner, rank]
        assert (row["sends"], row["bytes_sent"]) == (back["recvs"], back["bytes_recv"])
    whole = run.region("<program>")
    assert whole["sends_total"] == whole["recvs_total"] > 0
    assert whole["bytes_sent_total"] == whole["bytes_recv_total"] > 0
    assert len(set(column(run, "ranks", "colls"))) == 1
    calls: Counter[tuple[str, int]] = Counter()
    for row in run.rows("collectives"):
        calls[row["operation"], row["comm_size"]] += row["calls"]
    assert all(count % size == 0 for (_, size), count in calls.items())
    assert {"dropped": "0", "missing_ranks": "[]", "unaccounted": "{}"}.items() <= run.info.items()
    assert run.info["partial"] == str(partial).lower()


def runs(mpi: Mpi, compiler: Compiler, ranks: int, command: Sequence[str | Path], directory: Path) -> Runs:
    """Three runs, each in a directory of its own."""
    places = [directory / name for name in ("bare", "watched", "counted")]
    for place in places:
        place.mkdir()
    bare = mpi.run(ranks, command, cwd=places[0], status=None)
    watched = watch(mpi, ranks, command, places[1])
    counts = counted(compiler, mpi, ranks, command, places[2])
    return Runs(directory, bare, watched, counts)


def lammps(text: str, directory: Path) -> list[str | Path]:
    """The command for an input."""
    if not LAMMPS.is_file():
        missing("LAMMPS is not installed: apt-get install lammps")
    (directory / "in.melt").write_text(text)
    return [LAMMPS, "-in", directory / "in.melt", "-log", "none"]


# Debian's is linked to Open MPI.
with_lammps = pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)


@pytest.fixture(scope="module", params=[pytest.param(2, marks=pytest.mark.long), 4])
def melt(
    request: pytest.FixtureRequest, mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory
) -> Runs:
    directory = tmp_path_factory.mktemp("melt")
    return runs(mpi, compiler, request.param, lammps(MELT, directory), directory)


def without_times(output: str) -> list[str]:
    """LAMMPS' output without lines of times or speeds."""
    return [line for line in output.splitlines() if not re.search("time|CPU", line)]


def begin_alike(*outputs: list[str]) -> bool:
    """Whether they are equal as far as they go: a launcher may end a job before it has read all of a line."""
    return all(a == b or a.startswith(b) or b.startswith(a) for a, b in zip(*outputs, strict=False))


@with_lammps
def test_lammps_sends_what_was_counted(melt: Runs) -> None:
    assert_counts_agree(melt)


@with_lammps
def test_lammps_receives_what_it_sends(melt: Runs) -> None:
    assert_sums_balance(melt.watched)


@with_lammps
def test_lammps_computes_the_same(melt: Runs) -> None:
    bare, done = melt.bare, melt.watched.done
    assert (bare.returncode, done.returncode) == (0, 0)
    lines = without_times(bare.stdout)
    thermo = [line.split()[0] for line in lines[lines.index(HEADING) + 1 :][:5]]
    assert thermo == ["0", "10", "20", "30", "40"]
    assert without_times(done.stdout) == lines
    assert done.stderr == bare.stderr
    first, second = (melt.directory / name / "melt.dump" for name in ("bare", "watched"))
    assert first.read_bytes().count(b"TIMESTEP") == 3
    assert first.read_bytes() == second.read_bytes()


@with_lammps
@pytest.mark.parametrize(("line", "status"), [("quit 7", 7), ("no such command", 1)])
def test_lammps_ends_as_it_would(mpi: Mpi, tmp_path: Path, line: str, status: int) -> None:
    command = lammps(f"{MELT}\n{line}\nrun 10\n", tmp_path)
    bare = mpi.run(2, command, cwd=tmp_path, status=None)
    run = watch(mpi, 2, command, tmp_path, status=None)
    assert (bare.returncode, run.done.returncode) == (status, status)
    assert begin_alike(*(without_times(output) for output in (bare.stdout, run.done.stdout)))
    assert run.region("<program>")["sends_total"] > 0


def python(mpi: Mpi, *arguments: str) -> list[str | Path]:
    """The command for the mpi4py program."""
    if mpi.library.name == "libmpich.so.12":
        impossible("mpi4py's wheel needs libmpi.so.12, which Debian calls otherwise")
    return [sys.executable, *arguments]


EXCHANGES = str(Path(__file__).with_name("exchanges.py"))


@pytest.fixture(scope="module")
def exchanges(mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    command = python(mpi, "-m", "mpi4py", EXCHANGES)
    return runs(mpi, compiler, 3, command, tmp_path_factory.mktemp("exchanges"))


def test_mpi4py_sends_what_was_counted(exchanges: Runs) -> None:
    assert_counts_agree(exchanges)


def test_mpi4py_sends_what_its_text_says(exchanges: Runs) -> None:
    # buffers: 4 a rank, and 1; objects: 2 a rank, and 1 from each but the first;
    # communicators: 3 a rank
    sends = [4 + 1 + 2 + 3, 4 + 2 + 1 + 3, 4 + 2 + 1 + 3]
    assert column(exchanges.watched, "ranks", "sends") == sends
    assert exchanges.watched.region("<program>")["largest_message"] == 800_000


def test_mpi4py_receives_what_it_sends(exchanges: Runs) -> None:
    assert_sums_balance(exchanges.watched)


def test_mpi4py_computes_the_same(exchanges: Runs) -> None:
    bare, done = exchanges.bare, exchanges.watched.done
    assert (bare.returncode, done.returncode) == (0, 0)
    assert len(bare.stdout.splitlines()) == 4
    assert (done.stdout, done.stderr) == (bare.stdout, bare.stderr)


@pytest.mark.parametrize("option", [(), ("-m", "mpi4py")], ids=["exits", "aborts"])
def test_mpi4py_ends_as_it_would(any_mpi: Mpi, tmp_path: Path, option: tuple[str, ...]) -> None:
    """A status other than 0 is passed on; `-m mpi4py` makes it an MPI_Abort."""
    command = python(any_mpi, *option, EXCHANGES, "3")
    for name in ("bare", "watched"):
        (tmp_path / name).mkdir()
    bare = any_mpi.run(2, [*command, tmp_path / "bare"], status=None)
    run = watch(any_mpi, 2, [*command, tmp_path / "watched"], tmp_path, status=None)
    assert (bare.returncode, run.done.returncode) == (3, 3)
    assert begin_alike(bare.stdout.splitlines(), run.done.stdout.splitlines())
    assert_sums_balance(run, partial=bool(option))
