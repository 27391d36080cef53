"""Live records: the current call of each rank of a running program, and the counts so far.

`haloscope-join --now` prints one line of JSON per record that its build can read (docs/design-recording.md,
Live records). Records are written by other processes and not trusted: an unexpected line is skipped.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from haloscope.watch.places import has_mapped, is_foreign
from haloscope.watch.recorder import Builds, Recorder

ANY = -1  # any partner or tag
_MOST_RANKS = 1 << 22  # a larger number is taken for an error
_SECONDS = 60  # for one build to read all records


@dataclass(frozen=True)
class Communicator:
    """A communicator, as one rank sees it. `ranks` are the world ranks of its members, in order, if known."""

    name: str
    size: int
    members: str = ""
    inter: bool = False
    ranks: tuple[int, ...] | range | None = None

    @property
    def key(self) -> tuple[str, str]:
        """A key that is equal on all members."""
        return (self.name, self.members)


@dataclass(frozen=True)
class Call:
    """The MPI call that a thread is in.

    `what` is `send`, `receive`, `exchange`, `collective`, `one_sided`, `requests` or `other`. `kind` is the
    kind of the first request, if known: `send`, `receive`, `collective` or other. Partners are world ranks;
    None is unknown or none, `ANY` any. `since` is seconds, None if unknown. `mark` is equal in two snapshots
    only if the thread has not left the call between them.
    """

    function: str
    what: str = "other"
    partner: int | None = None
    source: int | None = None
    tag: int | None = None
    communicator: Communicator | None = None
    count: int = 0
    bytes: int | None = None
    since: float | None = None
    mark: int = 0
    kind: str = ""

    @property
    def sends(self) -> bool:
        """Whether the call sends to `partner`."""
        return self.what in ("send", "exchange") or self.kind == "send"

    @property
    def receives(self) -> bool:
        """Whether the call receives, from `origin`."""
        return self.what in ("receive", "exchange") or self.kind == "receive"

    @property
    def origin(self) -> int | None:
        """The rank that the call receives from."""
        return self.source if self.what == "exchange" else self.partner

    @property
    def gathers(self) -> bool:
        """Whether the call waits for the other ranks of its communicator."""
        return self.what == "collective" or self.kind == "collective"


@dataclass(frozen=True)
class Sums:
    """The counts so far; times are in seconds."""

    p2p_time: float = 0.0
    coll_time: float = 0.0
    rma_time: float = 0.0
    io_time: float = 0.0
    other_time: float = 0.0
    poll_time: float = 0.0
    wait_time: float = 0.0
    sends: int = 0
    recvs: int = 0
    bytes_sent: int = 0
    bytes_recv: int = 0
    colls: int = 0
    coll_bytes: int = 0
    polls: int = 0

    @property
    def mpi_time(self) -> float:
        """The time in all MPI calls, and in polling."""
        calls = self.p2p_time + self.coll_time + self.rma_time + self.io_time + self.other_time
        return calls + self.poll_time

    def __add__(self, other: Sums) -> Sums:
        mine, others = asdict(self), asdict(other)
        return Sums(**{name: mine[name] + others[name] for name in mine})


@dataclass(frozen=True)
class Thread:
    """One thread: its region, its call, and the seconds since its last event."""

    region: tuple[str, ...] = ()
    call: Call | None = None
    idle: float | None = None
    mark: int = 0
    tid: int = 0
    sums: Sums = Sums()


@dataclass(frozen=True)
class Process:
    """The record of one rank. `threads` begins with the thread that called MPI_Init.

    `state` is the system's state of the process: `running`, `asleep`, `stopped` or `dead`; '' is unknown.
    `cpu` is the processor time so far, in seconds. `partners` has messages sent to and received from world
    ranks.
    """

    path: str
    world: str
    rank: int
    size: int
    pid: int
    host: str = ""
    program: str = ""
    command: str = ""
    output: str = ""
    start: float = 0.0
    elapsed: float = 0.0
    finalized: bool = False
    watched: bool = True
    state: str = ""
    cpu: float = 0.0
    threads: tuple[Thread, ...] = ()
    partners: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    @property
    def main(self) -> Thread:
        """The thread that called MPI_Init."""
        return self.threads[0] if self.threads else Thread()

    @property
    def sums(self) -> Sums:
        """The sums over all threads."""
        return sum((thread.sums for thread in self.threads), Sums())


@dataclass(frozen=True)
class Snapshot:
    """All readable records, by world and rank; `moment` is the time, in seconds since 1970."""

    processes: tuple[Process, ...] = ()
    moment: float = 0.0
    unread: tuple[str, ...] = ()

    def worlds(self) -> dict[str, list[Process]]:
        """Return the processes of each world, sorted by rank."""
        found: dict[str, list[Process]] = {}
        for process in sorted(self.processes, key=lambda process: (process.start, process.rank)):
            found.setdefault(process.world, []).append(process)
        return {world: sorted(ranks, key=lambda process: process.rank) for world, ranks in found.items()}

    def select_world(self, world: str) -> Snapshot:
        """Return the records of one world."""
        return replace(self, processes=tuple(p for p in self.processes if p.world == world))


def snapshot(
    places: Sequence[Path],
    builds: Builds,
    *,
    partners: bool = False,
    hopeless: AbstractSet[str] = frozenset(),
) -> Snapshot:
    """Return this user's records in these directories, each read by the build that wrote it.

    Args:
        places: Directories with records.
        builds: Recorders to try.
        hopeless: Records that no build could read before.
        partners: Also read how many messages each rank has exchanged with each partner.
    """
    found = {str(path) for directory in places for path in directory.glob("*.live")}
    unread = {path for path in found - hopeless if not _is_foreign(path)}
    others = found - unread
    processes: list[Process] = []
    for recorder in builds:
        if not unread:
            break
        here = sorted({str(Path(path).parent) for path in unread})
        read = [process for process in _read(recorder, here, partners) if process.path in unread]
        processes += map(_with_state, read)
        unread -= {process.path for process in read}
        if read:
            builds.prefer(recorder)
    unread = {path for path in unread | others if os.path.lexists(path)}  # without those that just ended
    return Snapshot(tuple(processes), time.time(), tuple(sorted(unread)))


def _is_foreign(path: str) -> bool:
    try:
        return is_foreign(Path(path))
    except OSError:
        return False


def _read(recorder: Recorder, places: Sequence[str], partners: bool) -> list[Process]:
    """Return the records that one build can read; none if the build is too old for `--now`."""
    command = [str(recorder.join), "--now", *(["--partners"] if partners else []), *places]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = done.stdout.decode(errors="replace").split("\n") if not done.returncode else []
    return [process for process in map(parse, lines) if process is not None]


def parse(line: str) -> Process | None:
    """Return the record in one line; None if the line is not one."""
    try:
        values = json.loads(line)
        return _process(values)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return None


def _process(values: dict[str, Any]) -> Process:
    communicators = [_communicator(each) for each in values["communicators"]]
    threads = tuple(_thread(each, communicators) for each in values["threads"])
    partners = {int(rank): (int(sent), int(got)) for rank, sent, got in values.get("partners", ())}
    process = Process(
        path=str(values["path"]),
        world=str(values["world"]),
        rank=int(values["rank"]),
        size=int(values["size"]),
        pid=int(values["pid"]),
        host=str(values["host"]),
        program=str(values["program"]),
        command=str(values["command"]),
        output=str(values["output"]),
        start=float(values["start"]),
        elapsed=float(values["elapsed"]),
        finalized=bool(values["finalized"]),
        watched=bool(values["watched"]),
        state=str(values.get("state", "")),
        cpu=float(values.get("cpu", 0)),
        threads=threads,
        partners=partners,
    )
    if not 0 <= process.rank < process.size <= _MOST_RANKS:
        raise ValueError
    return process


def _communicator(values: dict[str, Any]) -> Communicator:
    ranks = values.get("ranks")
    size = int(values["size"])
    members: tuple[int, ...] | range | None = None
    if isinstance(ranks, dict):  # evenly spaced
        first, stride, count = int(ranks["first"]), int(ranks["stride"]), int(ranks["count"])
        members = range(first, first + stride * count, stride) if stride else (first,) * min(count, 1)
    elif isinstance(ranks, list):
        members = tuple(int(rank) for rank in ranks)
    if size > _MOST_RANKS or (members is not None and len(members) > _MOST_RANKS):
        raise ValueError
    return Communicator(str(values["name"]), size, str(values["members"]), bool(values["inter"]), members)


def _thread(values: dict[str, Any], communicators: Sequence[Communicator]) -> Thread:
    call = values["call"]
    return Thread(
        region=tuple(map(str, values["region"])),
        call=None if call is None else _call(call, communicators),
        idle=None if values["idle"] is None else float(values["idle"]),
        mark=int(values["mark"]),
        tid=int(values["tid"]),
        sums=_sums(values["sums"]),
    )


def _sums(values: dict[str, Any]) -> Sums:
    found: dict[str, Any] = {
        name: float(values[name]) if name.endswith("_time") else int(values[name])
        for name in Sums.__dataclass_fields__
    }
    if not all(math.isfinite(value) and abs(value) < 1 << 64 for value in found.values()):
        raise ValueError
    return Sums(**found)


def _call(values: dict[str, Any], communicators: Sequence[Communicator]) -> Call:
    number = values["communicator"]
    return Call(
        function=str(values["function"]),
        what=str(values["what"]),
        kind=str(values["kind"]),
        partner=_rank(values["partner"]),
        source=_rank(values["source"]),
        tag=_rank(values["tag"]),
        communicator=None if number is None else communicators[int(number)],
        count=int(values["count"]),
        bytes=None if values["bytes"] is None else int(values["bytes"]),
        since=None if values["since"] is None else float(values["since"]),
        mark=int(values["mark"]),
    )


def _rank(value: object) -> int | None:
    if value == "any":
        return ANY
    return None if value is None else int(str(value))


def _with_state(process: Process) -> Process:
    state, cpu = _state(process)
    return replace(process, state=state, cpu=cpu)


_STATES = {"R": "running", "S": "asleep", "D": "asleep", "I": "asleep", "T": "stopped", "t": "stopped"}


def _state(process: Process) -> tuple[str, float]:
    """Return the state of the process of a record and its processor time, if it is on this node."""
    if not has_mapped(Path(process.path), process.pid):
        return "dead", 0.0
    try:
        text = Path(f"/proc/{process.pid}/stat").read_text(errors="replace")
        words = text.rpartition(")")[2].split()
        ticks = int(words[11]) + int(words[12])
    except (OSError, ValueError, IndexError):
        return "dead", 0.0
    return _STATES.get(words[0], "dead"), ticks / os.sysconf("SC_CLK_TCK")
