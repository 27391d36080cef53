"""`haloscope top`: programs that run under the recorder on this node, or that files from nodes describe."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from haloscope.base.errors import RecorderError, UsageError
from haloscope.watch.live import ANY, Process, Snapshot, Thread, parse, snapshot
from haloscope.watch.places import holders, places_of_user
from haloscope.watch.rates import RunningProgram, running
from haloscope.watch.recorder import Builds


def top(
    run: str | Path | None = None, *, interval: float = 1.0, files: Sequence[Path | str] = ()
) -> list[RunningProgram]:
    """Return the programs that run under the recorder on this node, with rates over `interval` seconds.

    Args:
        run: A run's identity, a program's name, a process or a directory of live records. The default is
            all of this user's in /dev/shm, /tmp or HALOSCOPE_LIVE.
        interval: Seconds between the two looks.
        files: Output of `haloscope top --format json`, one file per node. These are joined, and
            nothing is looked for on this node.

    Raises:
        RecorderError: If there is no such program.
        UsageError: If a file has different content.

    Examples:
        >>> [(program.run, program.mean("mpi")) for program in haloscope.top()]
        [('4711-1767225600', 0.31)]
    """
    looking = Looking(run, files)
    looking.look()
    if not files:
        time.sleep(interval)
        looking.look()
    return looking.programs()


class Looking:
    """Looks at live records repeatedly."""

    def __init__(self, run: str | Path | None = None, files: Sequence[Path | str] = ()) -> None:
        self._run = str(run) if run is not None else None
        self._files = [Path(file) for file in files]
        self._before = self._after = Snapshot()
        self.builds = Builds()

    def look(self, partners: bool = False) -> None:
        """Look once more. With `partners`, also read how many messages ranks have exchanged."""
        if self._files:
            self._before, self._after = _read_files(self._files)
        else:
            self._before, self._after = self._after, self._snapshot(partners)

    def _snapshot(self, partners: bool) -> Snapshot:
        return snapshot(
            _places(self._run), self.builds, partners=partners, hopeless=frozenset(self._after.unread)
        )

    @property
    def unread(self) -> tuple[str, ...]:
        """The records that could not be read: those of other users or versions."""
        return self._after.unread

    @property
    def is_here(self) -> bool:
        """Whether the programs run on this node, as far as they run."""
        return not self._files

    def programs(self, needed: bool = True) -> list[RunningProgram]:
        """Return the running programs. Raises `RecorderError` if there is none and one is `needed`."""
        found = [program for program in running(self._before, self._after) if self._is_wanted(program)]
        if found or not needed:
            return found
        wanted = f"{self._run}: " if self._run else ""
        unread = f"; {unread_text(self.unread)}" if self.unread else ""
        raise RecorderError(
            f"{wanted}no program of yours runs under the recorder on this node{unread}; start one with "
            "haloscope run, or name the directory of its live records in HALOSCOPE_LIVE"
        )

    def _is_wanted(self, program: RunningProgram) -> bool:
        if self._run is None:
            return program.is_alive or bool(self._files)
        if Path(self._run).is_dir():
            return True
        pids = {str(process.pid) for process in program.after}
        return self._run in (program.run, program.any_process.program) or self._run in pids


def unread_text(paths: Sequence[str]) -> str:
    """Return a line on records that could not be read."""
    more = f" (and {len(paths) - 1} more)" if len(paths) > 1 else ""
    return f"{paths[0]}{more}: of another user, another version or another cache; not read"


def _places(run: str | None) -> list[Path]:
    if run is not None and Path(run).is_dir():
        return holders(Path(run))
    return places_of_user()


def dump(programs: Sequence[RunningProgram], moment: float) -> dict[str, Any]:
    """Return the output of `--format json`: both looks, and the results."""
    return {
        "haloscope_top": 1,
        "moment": moment,
        "node": os.uname().nodename,
        "programs": [
            {
                "run": program.run,
                "program": program.any_process.program,
                "command": program.any_process.command,
                "size": program.any_process.size,
                "seconds": program.seconds,
                "mpi_share": program.mean("mpi"),
                "bytes_per_second": program.total("sent"),
                "messages_per_second": program.total("messages"),
                "verdict": program.roll_call().verdict.text,
                "before": [_dump_process(process) for process in program.before],
                "after": [_dump_process(process) for process in program.after],
            }
            for program in programs
        ],
    }


def _dump_process(process: Process) -> dict[str, Any]:
    """Return a process in the form in which the joiner prints it."""
    communicators = list(
        dict.fromkeys(t.call.communicator for t in process.threads if t.call and t.call.communicator)
    )
    values = {name: getattr(process, name) for name in Process.__dataclass_fields__}
    values["communicators"] = [
        {
            "name": each.name,
            "size": each.size,
            "members": each.members,
            "inter": each.inter,
            "ranks": _members(each.ranks),
        }
        for each in communicators
    ]
    values["threads"] = [_dump_thread(thread, communicators) for thread in process.threads]
    values["partners"] = [[rank, *counts] for rank, counts in process.partners.items()]
    return values


def _members(ranks: tuple[int, ...] | range | None) -> object:
    if isinstance(ranks, range):
        return {"first": ranks.start, "stride": ranks.step, "count": len(ranks)}
    return None if ranks is None else list(ranks)


def _dump_thread(thread: Thread, communicators: Sequence[object]) -> dict[str, Any]:
    call = None
    if thread.call is not None:
        call = asdict(thread.call)
        own = thread.call.communicator
        call["communicator"] = None if own is None else communicators.index(own)
        for name in ("partner", "source", "tag"):
            call[name] = "any" if call[name] == ANY else call[name]
    return {**asdict(thread), "region": list(thread.region), "call": call}


def _read_files(files: Sequence[Path]) -> tuple[Snapshot, Snapshot]:
    """Return the two looks in the files of several nodes; of a rank in two files, the first one counts."""
    before: dict[tuple[str, int], Process] = {}
    after: dict[tuple[str, int], Process] = {}
    moment = 0.0
    for file in files:
        for values in _programs_in(file):
            for name, into in (("before", before), ("after", after)):
                for process in map(parse, map(json.dumps, _list(values.get(name)))):
                    if process is not None:
                        into.setdefault((process.world, process.rank), process)
        moment = max(moment, file.stat().st_mtime)
    return Snapshot(tuple(before.values()), moment), Snapshot(tuple(after.values()), moment)


def _programs_in(file: Path) -> Iterator[dict[str, Any]]:
    try:
        values = json.loads(file.read_text(errors="replace"))
    except OSError as error:
        raise UsageError(
            f"{file}: {error.strerror}; name a file with the output of haloscope top --format json"
        ) from None
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or values.get("haloscope_top") != 1:
        raise UsageError(f"{file}: is not the output of haloscope top --format json")
    yield from (each for each in _list(values.get("programs")) if isinstance(each, dict))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
