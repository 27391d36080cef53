"""`haloscope top` on synthetic looks: rates, files of several nodes, and unreadable records."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haloscope.watch import RunningProgram, dump
from haloscope.watch.hanging import has_progress
from haloscope.watch.live import ANY, Call, Communicator, Process, Snapshot, Sums, Thread, parse
from haloscope.watch.rates import running
from support.terminals import print_on_terminal
from support.verbs import Verb, verb

WORLD = Communicator("MPI_COMM_WORLD", 4, "77", ranks=range(4))


def process(rank: int, elapsed: float, sums: Sums, call: Call | None = None, threads: int = 1) -> Process:
    own = Thread(("solve",), call, 0.1, mark=int(elapsed * 10), sums=sums)
    others = (Thread(),) * (threads - 1)
    return Process(
        f"/dev/shm/haloscope-4711/{rank}-{100 + rank}.live",
        "1",
        rank,
        4,
        100 + rank,
        "node",
        "app",
        elapsed=elapsed,
        state="running",
        threads=(own, *others),
    )


def looks(*pairs: tuple[Process, Process]) -> RunningProgram:
    before, after = (Snapshot(tuple(look)) for look in zip(*pairs, strict=True))
    (program,) = running(before, after)
    return program


def test_rates_are_what_was_counted_between_the_looks() -> None:
    first = process(0, 10.0, Sums(p2p_time=5.0, wait_time=1.0, sends=10, bytes_sent=1000))
    then = process(0, 12.0, Sums(p2p_time=5.5, coll_time=0.5, wait_time=1.5, sends=14, bytes_sent=9000))
    program = looks((first, then))
    (rank,) = program.ranks
    assert (program.run, program.seconds) == ("4711", 2.0)
    assert (rank.mpi, rank.wait, rank.sent, rank.messages) == (0.5, 0.25, 4000.0, 2.0)
    assert (program.mean("mpi"), program.total("sent")) == (0.5, 4000.0)


def test_a_share_is_of_all_threads() -> None:
    pair = (process(0, 1.0, Sums(), threads=2), process(0, 2.0, Sums(p2p_time=1.0), threads=2))
    assert looks(pair).mean("mpi") == 0.5


def test_one_look_has_no_rates() -> None:
    (program,) = running(Snapshot(), Snapshot((process(0, 1.0, Sums()),)))
    assert program.mean("mpi") is None
    assert program.total("sent") is None


def test_the_slowest_wait_the_least() -> None:
    pairs = [(process(r, 1.0, Sums()), process(r, 2.0, Sums(p2p_time=0.2 * (r % 3)))) for r in range(4)]
    assert [rank.process.rank for rank in looks(*pairs).slowest] == [0, 3, 1, 2]


TIMES = st.floats(0, 1e6)
COUNTS = st.integers(0, 1 << 50)


@given(st.lists(st.tuples(TIMES, TIMES, COUNTS, COUNTS, TIMES), min_size=2, max_size=2))
def test_shares_are_shares(values: list[tuple[float, float, int, int, float]]) -> None:
    """Whatever a record says, as it may have been written half."""
    before, after = (
        process(0, elapsed, Sums(p2p_time=p2p, wait_time=wait, sends=sends, bytes_sent=sent))
        for p2p, wait, sends, sent, elapsed in values
    )
    (rank,) = looks((before, after)).ranks
    for share in (rank.mpi, rank.wait):
        assert share is None or 0 <= share <= 1
    for rate in (rank.sent, rank.messages):
        assert rate is None or rate >= 0


CALL = Call("MPI_Recv", "receive", ANY, tag=3, communicator=WORLD, since=1.5, mark=7)


def test_files_say_the_same_as_the_records() -> None:
    """The output of `--format json` is read by `parse`, except for the order of equal entries."""
    part = Communicator("part", 2, "8", ranks=(1, 3))
    calls = [CALL, replace(CALL, communicator=part, partner=2), replace(CALL, communicator=None), None]
    processes = [process(rank, 5.0, Sums(sends=rank), call) for rank, call in enumerate(calls)]
    processes[0] = replace(processes[0], partners={1: (2, 3)})
    (program,) = running(Snapshot(), Snapshot(tuple(processes)))
    dumped = json.loads(json.dumps(dump([program], 0.0)))
    again = [parse(json.dumps(values)) for values in dumped["programs"][0]["after"]]
    assert again == processes


@pytest.mark.parametrize(
    "line", ["", "{}", "[]", "null", '{"path": 1}', "x" * 1000, "[" * 100000, '{"rank": "x"}']
)
def test_what_is_no_record_is_passed_over(line: str) -> None:
    assert parse(line) is None


def test_a_record_with_numbers_that_cannot_be() -> None:
    (program,) = running(Snapshot(), Snapshot((process(0, 5.0, Sums(), CALL),)))
    values = dump([program], 0.0)["programs"][0]["after"][0]
    assert parse(json.dumps(values)) is not None
    for name, wrong in (("rank", 4), ("rank", -1), ("size", 0), ("threads", [{}]), ("communicators", [])):
        assert parse(json.dumps({**values, name: wrong})) is None


def test_progress() -> None:
    """A rank that left its call, polls, computes or ends goes on; one that sleeps outside MPI does not."""
    waiting = process(0, 1.0, Sums(), CALL)
    outside = replace(process(1, 1.0, Sums()), state="asleep")
    still = [waiting, outside]
    assert not has_progress(still, still, 1.0)
    assert has_progress([], still, 1.0)
    assert has_progress(still, [waiting, replace(outside, cpu=0.5)], 1.0)
    assert has_progress(still, [waiting, replace(outside, state="running")], 1.0)  # and gets no core
    assert not has_progress(still, [waiting, replace(outside, state="stopped")], 1.0)
    assert not has_progress(still, [replace(waiting, cpu=1.0), outside], 1.0)
    assert has_progress(still, [process(0, 1.0, Sums(polls=1), CALL), outside], 1.0)
    assert has_progress(still, [process(0, 1.0, Sums(), replace(CALL, mark=8)), outside], 1.0)
    assert has_progress([outside], [outside], 1.0)  # none waits
    assert has_progress(still, [replace(waiting, finalized=True), replace(outside, state="dead")], 1.0)
    dead = [waiting, replace(outside, state="dead")]
    assert has_progress(still, dead, 1.0)  # it has just ended: its launcher may end the others
    assert not has_progress(dead, dead, 1.0)


@pytest.fixture
def top(haloscope: Path, tmp_path: Path) -> Verb:
    return verb(haloscope, "top", tmp_path, {"HALOSCOPE_LIVE": str(tmp_path)})


@pytest.fixture
def hang(haloscope: Path, tmp_path: Path) -> Verb:
    return verb(haloscope, "hang", tmp_path, {"HALOSCOPE_LIVE": str(tmp_path)})


def written(path: Path, *processes: Process) -> Path:
    found = running(Snapshot(processes), Snapshot(processes))
    path.write_text(json.dumps(dump(found, 0.0)))
    return path


def test_nodes_are_joined(top: Verb, hang: Verb, tmp_path: Path) -> None:
    """Two ranks on each node; together they are a deadlock."""
    calls = [replace(CALL, partner=(rank + 1) % 4) for rank in range(4)]
    ranks = [process(rank, 5.0, Sums(), calls[rank]) for rank in range(4)]
    files = [written(tmp_path / "a.json", *ranks[:2]), written(tmp_path / "b.json", *ranks[2:])]
    alone = hang("--from", files[0], "--format", "json", status=None)
    assert json.loads(alone.stdout)[0]["verdict"]["kind"] == "unseen"
    done = hang("--from", files[0], "--from", files[1], "--format", "json")
    assert done.stderr == ""
    (report,) = json.loads(done.stdout)
    assert (report["verdict"]["kind"], report["verdict"]["ranks"]) == ("deadlock of receives", [0, 1, 2, 3])
    table = top("--from", files[0], "--from", files[1]).stdout
    assert table.count("MPI_Recv") == 4


def test_a_stopped_rank_is_no_deadlock(hang: Verb, tmp_path: Path) -> None:
    calls = [Call("MPI_Send", "send", 1 - rank, communicator=WORLD, since=9.0) for rank in (0, 1)]
    ranks = [process(rank, 5.0, Sums(), calls[rank]) for rank in (0, 1)]
    file = written(tmp_path / "a.json", replace(ranks[0], state="stopped"), ranks[1])
    shown = hang("--from", file).stdout
    assert "rank 1 waits in MPI_Send for rank 0, stopped by a signal" in shown
    assert "kill -CONT 100 on node" in shown
    assert "deadlock" not in shown


def test_a_terminal_of_80_columns_cuts_no_number(haloscope: Path, tmp_path: Path) -> None:
    call = Call("MPI_Allreduce", "collective", communicator=WORLD, since=0.0178)
    sums = Sums(p2p_time=5.0, sends=2140, bytes_sent=123_456_789)
    pairs = [
        (process(rank, 1.0, Sums()), replace(process(rank, 6.0, sums, call), host="node-with-a-name"))
        for rank in range(4)
    ]
    before, after = (Snapshot(tuple(look)) for look in zip(*pairs, strict=True))
    file = tmp_path / "a.json"
    file.write_text(json.dumps(dump(running(before, after), 0.0)))
    command = [str(haloscope), "top", "--from", str(file), "--interval", "0"]
    shown = print_on_terminal(*command, TERM="dumb").decode()
    rows = [line.split() for line in shown.splitlines() if "running" in line]
    assert [row[:10] for row in rows] == [
        [str(rank), "running", *"100.0 % 0.0 % 24.7 MB MPI_Allreduce 17.8".split()] for rank in range(4)
    ]
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ((), 1, ("no program of yours", "HALOSCOPE_LIVE")),
        (("nothing",), 1, ("nothing: no program",)),
        (("--from", "none.json"), 2, ("none.json", "No such file")),
        (("--from", "other.json"), 2, ("other.json", "--format json")),
        (("--from", "odd.json"), 1, ("no program of yours",)),
        (("--interval", "0.01"), 2, ("--interval 0.01",)),
        (("--interval", "nan"), 2, ("--interval nan",)),
    ],
)
def test_wrong_usage(
    top: Verb, tmp_path: Path, arguments: tuple[str, ...], status: int, words: tuple[str, ...]
) -> None:
    (tmp_path / "other.json").write_text("[1, 2]")
    programs = [5, {"before": 5, "after": None}]
    (tmp_path / "odd.json").write_text(json.dumps({"haloscope_top": 1, "programs": programs}))
    done = top(*arguments, status=status)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr


def test_nothing_runs(hang: Verb) -> None:
    done = hang(status=1)
    assert done.stdout == ""
    assert "no program of yours" in done.stderr
    assert done.stderr.count("\n") == 1


def test_records_that_nobody_reads(top: Verb, tmp_path: Path) -> None:
    directory = tmp_path / "haloscope-4711"
    directory.mkdir()
    for rank, content in enumerate((b"", bytes(100000), b"x" * 100000)):
        (directory / f"{rank}-1.live").write_bytes(content)
    done = top("--interval", "0.1", status=1)
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "0-1.live (and 2 more): of another user, another version or another cache" in line


def test_metrics_where_nothing_runs(top: Verb, tmp_path: Path) -> None:
    done = top("--prometheus", "haloscope.prom", "--interval", "0")
    assert done.stderr == ""
    assert (tmp_path / "haloscope.prom").read_text().count("# TYPE") == 10
