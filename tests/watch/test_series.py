"""Series: every instance with its times, in eight bytes, as the program itself measures them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import haloscope
from support.mpi import CHECKOUT, Mpi
from support.profiles import draft, path_rows, process_rows
from support.programs import Compiler
from support.series import TICK, pack
from support.watched import Watched, program, watch

PRECISION = 2.0**-19  # of a length
LONGEST = ((1 << 20) - 1) << 30  # ticks
COUNT = 100_000

lengths = st.one_of(
    st.integers(0, 64),
    st.integers(0, 1 << 21),
    st.integers(1, 49).flatmap(lambda bits: st.integers((1 << bits) - 2, (1 << bits) + 2)),
    st.integers(0, LONGEST),
)
Triple = NDArray[np.uint64]  # rows of begin, duration, wait


@pytest.fixture(scope="module")
def packer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorder's own packing as a program."""
    target = tmp_path_factory.mktemp("pack") / "pack"
    source = Path(__file__).with_name("series") / "pack.cpp"
    flags = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined"]
    include = f"-I{CHECKOUT / 'src'}"
    subprocess.run(["c++", *flags, include, str(source), "-o", str(target)], check=True)
    return target


def packed(packer: Path, instances: Triple) -> NDArray[np.uint64]:
    done = subprocess.run([packer], input=instances.tobytes(), capture_output=True, check=True)
    assert done.stderr == b""
    return np.frombuffer(done.stdout, np.uint64)


def unpacked(words: NDArray[np.uint64], directory: Path) -> haloscope.explain.Instances:
    """What the reader makes of one rank's words."""
    written = draft(paths=path_rows("r"), processes=process_rows("alpha"))
    written.tables["series"] = {
        "path": [1],
        "rank": [0],
        "thread": [0],
        "instance": [0],
        "instances": [len(words)],
    }
    written.tables["instances"] = {"packed": words.view(np.int64)}
    with haloscope.open(written.write(directory / "packed.halo")) as profile:
        read = profile.instances("r")
        assert read.start.shape == read.duration.shape == read.wait.shape  # read while the file is open
        return read


def instances_of(parts: list[tuple[int, int, float]]) -> Triple:
    """From the gap before each instance, its duration and the share of waiting."""
    rows, end = [], 0
    for gap, duration, share in parts:
        rows.append([end + gap, duration, int(duration * share)])
        end += gap + duration
    return np.array(rows, np.uint64)


def check_bounds(instances: Triple, read: haloscope.explain.Instances) -> None:
    """A duration is right or little too short; a start early by little of the gap before it."""
    begin, duration, wait = (column.astype(np.float64) for column in instances.T)
    lost = duration - read.duration[0] / TICK
    assert ((lost >= 0) & (lost <= duration * PRECISION)).all()
    assert (lost[duration < 1 << 20] == 0).all()
    early = begin - read.start[0] / TICK
    gap = begin - np.concatenate([[0], (begin + duration)[:-1]])
    # The gap is measured from the decoded end before it, which is early itself.
    assert (early >= 0).all()
    before = np.concatenate([[0], (early + lost)[:-1]])
    assert (early <= (gap + before) * PRECISION + 1e-15 * begin).all()
    assert early.max() <= (gap + duration * PRECISION).max() * PRECISION * 1.001 + 1e-15 * begin[-1]
    waiting = read.wait[0] / TICK
    assert (abs(waiting - wait) <= duration * (2.0**-17 + 2 * PRECISION)).all()
    assert (waiting[wait == 0] == 0).all()
    assert (waiting[wait == duration] == (read.duration[0] / TICK)[wait == duration]).all()


@settings(max_examples=100)
@given(parts=st.lists(st.tuples(lengths, lengths, st.floats(0, 1) | st.just(1.0)), min_size=1))
def test_instances_are_packed_within_the_bounds(
    packer: Path, tmp_path_factory: pytest.TempPathFactory, parts: list[tuple[int, int, float]]
) -> None:
    instances = instances_of(parts)
    # Where doubles hold every tick.
    instances = instances[(instances[:, 0] < 1 << 52) & (instances[:, 1] < 1 << 50)]
    assume(len(instances))
    words = packed(packer, instances)
    begins, durations, waits = instances.T[:, None, :]
    assert words.tolist() == pack(begins, durations, waits)[0].tolist()
    check_bounds(instances, unpacked(words, tmp_path_factory.getbasetemp()))


@pytest.mark.parametrize("gap", ["none", "any"])
def test_errors_do_not_add_up(packer: Path, tmp_path: Path, gap: str) -> None:
    """Lengths that cannot be held exactly, a hundred thousand times."""
    random = np.random.default_rng(0)
    durations = random.integers(1 << 20, 1 << 24, COUNT) | 1
    gaps = random.integers(1, 1 << 26, COUNT) | 1 if gap == "any" else np.zeros(COUNT, np.int64)
    begins = np.cumsum(gaps + durations) - durations
    instances = np.stack([begins, durations, durations // 3], axis=1).astype(np.uint64)
    check_bounds(instances, unpacked(packed(packer, instances), tmp_path))


def test_longer_is_never_packed_shorter_and_beyond_the_longest_is_the_longest(
    packer: Path, tmp_path: Path
) -> None:
    edges = sorted((1 << bits) + by for bits in range(64) for by in (-1, 0, 1))
    begins = np.zeros(len(edges), np.uint64)
    instances = np.stack([begins, np.array(edges, np.uint64), begins], axis=1)
    durations = unpacked(packed(packer, instances), tmp_path).duration[0] / TICK
    assert (np.diff(durations) >= 0).all()
    assert durations[-1] == LONGEST


@pytest.fixture(scope="module")
def clocked(
    mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Watched, list[NDArray[np.float64]]]:
    """A run with its series, and for each rank the seconds that it measured itself."""
    directory = tmp_path_factory.mktemp("clocked")
    command: list[str | Path] = [program(compiler, mpi, "clocked.c"), str(COUNT), directory / "times"]
    run = watch(mpi, 2, command, directory, options=["--series", "timed"])
    files = [directory / f"times.{rank}" for rank in range(2)]
    return run, [np.fromfile(file, np.int64).reshape(-1, 6).T * 1e-9 for file in files]


# Stamps are taken out of order by some tens of nanoseconds; the rates of both clocks agree to this.
SLACK, RATE = 1e-6, 1e-4


def test_a_series_is_what_the_program_measures_itself(
    clocked: tuple[Watched, list[NDArray[np.float64]]],
) -> None:
    run, measured = clocked
    assert run.info["dropped"] == "0"
    with haloscope.open(run.path) as profile:
        series = profile.instances("timed")
        assert series.path == "timed"
        assert series.ranks.tolist() == [0, 1]
        assert series.counts.tolist() == [COUNT, COUNT]
        for rank, (before, begun, ending, ended, receive, received) in enumerate(measured):
            start, duration = series.start[rank], series.duration[rank]
            assert (duration >= (ending - begun) * (1 - RATE) - SLACK).all()
            assert (duration <= (ended - before) * (1 + RATE) + SLACK).all()
            since = start - start[0]
            assert (since >= (before - begun[0]) * (1 - RATE) - SLACK).all()
            assert (since <= (begun - before[0]) * (1 + RATE) + SLACK).all()
            wait = series.wait[rank]
            assert (wait <= (received - receive) * (1 + RATE) + SLACK + 2.0**-16 * duration).all()
            assert (wait[received == 0] == 0).all()
        # In these rank 0 waits for the other one.
        assert (series.wait[0, 17::5000] > 0).all()


def test_sums_of_a_series_are_those_of_the_region(clocked: tuple[Watched, list[NDArray[np.float64]]]) -> None:
    run, _ = clocked
    with haloscope.open(run.path) as profile:
        series = profile.instances("timed")
        waited = 0.0
        for rank in range(2):
            (row,) = run.select("ranks", region="timed", rank=rank)
            waited += row["wait_time"]
            total = series.duration[rank].sum()
            assert total == pytest.approx(row["time"], rel=3e-6)
            assert series.wait[rank].sum() == pytest.approx(row["wait_time"], abs=1e-5 * total)
    # The time of what waits, and of nothing else.
    blocking = [row for row in run.select("calls", region="timed") if row["call"] in {"MPI_Recv", "MPI_Wait"}]
    assert waited == pytest.approx(sum(row["time_total"] for row in blocking))


def test_an_instance_takes_eight_bytes_at_most(clocked: tuple[Watched, list[NDArray[np.float64]]]) -> None:
    run, _ = clocked
    assert run.path.stat().st_size <= 8 * 2 * COUNT


def test_instances_of_threads_are_numbered_on(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    command = [program(compiler, mpi, "threads.c", ["-pthread"])]
    run = watch(mpi, 2, command, tmp_path, options=["--series", "shared", "--series", "thread 1"])
    for region, threads in (("shared", 4), ("thread 1", 1)):
        rows = run.select("series", region=region)
        keys = [(row["rank"], row["instance"]) for row in rows]
        assert keys == [(rank, number) for rank in range(2) for number in range(200 * threads)]
        for rank in range(2):
            (whole,) = run.select("ranks", region=region, rank=rank)
            mine = [row for row in rows if row["rank"] == rank]
            assert sum(row["duration"] for row in mine) == pytest.approx(whole["time"], rel=3e-6)
            for first in range(0, 200 * threads, 200):
                starts = [row["start"] for row in mine[first : first + 200]]
                assert starts == sorted(starts)


def test_a_series_that_fills_the_memory_is_written_in_little_more(
    mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    count = 2_500_000
    command: list[str | Path] = [program(compiler, mpi, "many_instances.c"), str(count)]
    # Without a history, for which there is no room either.
    run = watch(mpi, 3, command, tmp_path, options=["--series", "instant", "--slice", "0"])
    dropped = int(run.info["dropped"])
    with haloscope.open(run.path) as profile:
        series = profile.instances("instant")
        assert series.counts.sum() == 3 * count - dropped
        # A quarter of the memory is for totals.
        assert (series.counts > 0.75 * 1_900_000).all()
        within = np.arange(series.duration.shape[1]) < series.counts[:, None]
        assert (np.isfinite(series.duration) == within).all()
    # Its own instances once more, and blocks of 4 MiB.
    assert max(map(int, run.done.stdout.split())) < 48 * 1024


def test_the_series_of_a_killed_rank_is_joined(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    command = [program(compiler, mpi, "killed.c")]
    options = ["--series", "step", "--series", "ring"]
    run = watch(mpi, 2, command, tmp_path, options=options, status=None)
    with haloscope.open(run.path) as profile:
        assert profile.table("info").filter(key="partial")["value"].to_list() == ["true"]
        step, ring = profile.instances("step"), profile.instances("ring")
        assert step.counts.tolist() == ring.counts.tolist() == [20, 20]
        # Lengths are rounded down, by at most this; so are gaps between two instances.
        rounded = np.diff(ring.start, prepend=0) * 2**-19
        assert (step.start - ring.start <= rounded).all()
        assert (ring.duration <= step.duration).all()
