"""Live records of processes that wrote no profile, and `recover`, which joins them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from haloscope.base.errors import HaloscopeError, RecorderError
from haloscope.base.units import noun_text
from haloscope.watch.ending import describe_ending
from haloscope.watch.leftovers import clear_parts, clear_spool, clear_unbegun, clear_without_records
from haloscope.watch.outputs import Output, expand, is_other, name_profile
from haloscope.watch.places import has_mapped, holders, is_foreign, mains_of_user, places_of_user
from haloscope.watch.recorder import Recorder, find_built_recorders


@dataclass
class Recovery:
    """The profiles that were made, remarks on them, and failures."""

    profiles: list[Path] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def recover(
    directory: Path | str | None = None,
    *,
    output: Path | str | None = None,
    keep: bool = False,
    force: bool = False,
) -> Recovery:
    """Make profiles of the live records below a directory, one for each `MPI_COMM_WORLD`.

    Args:
        directory: Directory with records; the default is all records of this user's runs on this node.
        output: Path of the profile, as in `run`; the default is that of the run.
        keep: Keep the records.
        force: Also recover programs that are still running, and replace files that are not profiles.

    Returns:
        The profiles; records that could not be recovered are in `failures`.

    Raises:
        RecorderError: If there are no records.

    Examples:
        >>> haloscope.recover("collected/", output="lost.halo").profiles
        [PosixPath('/home/me/lost.halo')]
    """
    root = Path(directory) if directory is not None else None
    wanted = Path(output) if output is not None else None
    if root is not None and not root.is_dir():
        raise RecorderError(f"{root}: no such directory; name one with live records")
    places = holders(root) if root is not None else places_of_user()
    left = clear_unbegun(places) + clear_without_records(mains_of_user() if root is None else _mains(root))
    places = [directory for directory in places if directory.is_dir() and any(directory.glob("*.live"))]
    if left and not places:
        return Recovery()
    if not places:
        raise RecorderError(
            f"{root or 'nothing to recover'}: no live records {'in it' if root else 'of yours'}; "
            "they are in /dev/shm/haloscope-* (or in HALOSCOPE_LIVE) on each node of the run, "
            "until its profile is written"
        )
    recovery = Recovery(failures=_find_refused(places))
    worlds, unread = read_worlds(find_built_recorders(), places)
    if unread:
        more = f" (and {len(unread) - 1} more)" if len(unread) > 1 else ""
        recovery.failures.append(
            f"{unread[0]}{more}: no recorder in this cache can read it; recover with the Haloscope, "
            "the user and the HALOSCOPE_CACHE of the run"
        )
    for world in worlds:
        try:
            _recover(recovery, world, wanted, keep, force)
        except HaloscopeError as error:
            recovery.failures.append(str(error))
    return recovery


def _mains(root: Path) -> list[Path]:
    """Return the directories of runs that are in or below a directory."""
    return [path for path in (root, *root.glob("haloscope-*")) if path.name.startswith("haloscope-")]


def _find_refused(places: Sequence[Path]) -> list[str]:
    """Return a line on records of other users, which could make us write anything anywhere."""
    others = sorted(path for directory in places for path in directory.glob("*.live") if is_foreign(path))
    if not others:
        return []
    owner = _owner(others[0])
    return [
        f"{others[0]}: the records of {owner} are not read; let {owner} recover them, or, if you "
        "trust them, recover a copy that you own"
    ]


def _owner(path: Path) -> str:
    try:
        return path.owner()
    except KeyError:
        return f"user {path.stat().st_uid}"


def _recover(recovery: Recovery, world: RecordedWorld, output: Path | None, keep: bool, force: bool) -> None:
    running = world.running()
    if running and not force:
        raise RecorderError(
            f"{world.directories[0]}: {world.program} is still running (process {running[0]}); "
            "wait for it, or take a profile of its state with --force"
        )
    # A name from the records is changed if it is taken; the name that the user gave is not.
    over_others = force or output is None
    named = output or world.output.with_name(world.output.name.replace("%", "%%"))
    wanted = expand(Output.prepare(named, over_others).pattern, world.size, world.program)
    replaceable = is_other if force else _is_never_replaceable
    target, remarks = join_and_clear(world, wanted, replaceable, keep or bool(running))
    recovery.profiles.append(target)
    recovery.remarks += remarks


def join_and_clear(
    world: RecordedWorld,
    wanted: Path,
    replaceable: Callable[[Path], bool],
    keep: bool = False,
    ended: float | None = None,
) -> tuple[Path, list[str]]:
    """Make the profile, then remove the records, unless some of them are not in it.

    `ended` is when the processes ended, on the clock of `time.monotonic`, if they have just done so: those
    that do not run any more were in their calls until then.
    """
    target, remarks = join(world, wanted, replaceable, ended)
    # Ranks on this node without a record have ended, or never began one: do not wait for them.
    if world.missing and not (ended is not None and world.on_one_node):
        there = world.size - world.missing
        remarks.append(
            f"{there} of {noun_text(world.size, 'rank')} have records here; those of other nodes are in a "
            "directory of the same name there: copy them here, then haloscope recover joins all"
        )
    if remarks and not keep:
        remarks.append(f"the records are kept in {', '.join(map(str, world.directories))}")
    elif not keep:
        clear(world)
    return target, remarks


def _is_never_replaceable(path: Path) -> bool:
    return False


@dataclass(frozen=True)
class Record:
    """The record of one process."""

    path: Path
    rank: int
    pid: int


@dataclass
class RecordedWorld:
    """The records of the processes that shared an MPI_COMM_WORLD, and the build that reads them."""

    identity: str
    size: int
    program: str
    output: Path
    on_one_node: bool  # as the launcher said
    recorder: Recorder
    records: list[Record] = field(default_factory=list)

    @property
    def directories(self) -> list[Path]:
        """The directories of the records, one per node."""
        return sorted({record.path.parent for record in self.records})

    @property
    def missing(self) -> int:
        """The number of ranks without a record here."""
        return self.size - len({record.rank for record in self.records})

    def running(self) -> list[int]:
        """Return the processes on this node that are still recording."""
        return [record.pid for record in self.records if has_mapped(record.path, record.pid)]


def read_worlds(
    recorders: Iterable[Recorder], places: Sequence[Path]
) -> tuple[list[RecordedWorld], list[Path]]:
    """Return the worlds of this user's records in these directories, and files that no build can read."""
    clear_unbegun(places)
    found = {path for directory in places for path in directory.glob("*.live")}
    unread = {path for path in found if not is_foreign(path)}
    worlds: dict[str, RecordedWorld] = {}
    for recorder in recorders:
        if not unread:
            break
        for record, world in _list_records(recorder, sorted({path.parent for path in unread})):
            if record.path in unread:
                unread.remove(record.path)
                worlds.setdefault(world.identity, world).records.append(record)
    for world in worlds.values():
        world.records.sort(key=lambda record: (record.rank, record.path))
    return list(worlds.values()), sorted(unread)


def join(
    world: RecordedWorld, wanted: Path, replaceable: Callable[[Path], bool], ended: float | None = None
) -> tuple[Path, list[str]]:
    """Make a profile of the records. Return its path, and what the joiner printed."""
    places = [str(directory) for directory in world.directories]
    more = [] if ended is None else ["--just-ended"]
    more += ["--ended-in", describe_ending(world.directories, world.recorder, world.identity, ended)]
    try:
        with tempfile.TemporaryDirectory(prefix=".haloscope-", dir=wanted.parent) as scratch:
            whole = Path(scratch) / "joined.halo"
            done = subprocess.run(
                [str(world.recorder.join), "--world", world.identity, *more, *places, str(whole)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
            lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
            if done.returncode or not whole.is_file():
                raise _join_error(world, lines[-1] if lines else f"exit status {done.returncode}")
            target = name_profile(whole, wanted, replaceable)
    except OSError as error:
        raise _join_error(world, f"{wanted}: {error.strerror}") from None
    return target, [line.removeprefix("haloscope: ") for line in lines]


def clear(world: RecordedWorld) -> None:
    """Remove the records of a world that has been joined."""
    for record in world.records:
        if record.rank == 0:
            clear_parts(world.output, record.pid)
        clear_spool(record.path)
        record.path.unlink(missing_ok=True)
    clear_empty(world.directories)


def clear_empty(directories: Iterable[Path]) -> None:
    """Remove directories for records that have none left."""
    for directory in [path for inner in directories for path in (inner, inner.parent)]:
        if directory.name.startswith(("haloscope-", "spawned-")):
            with contextlib.suppress(OSError):
                directory.rmdir()


def _list_records(recorder: Recorder, places: Sequence[Path]) -> Iterator[tuple[Record, RecordedWorld]]:
    """Yield the records that one build can read; none if the build is too old to list them."""
    command = [str(recorder.join), "--list", *map(str, places)]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=600
        )
    except (OSError, subprocess.TimeoutExpired):
        return
    words = [os.fsdecode(word) for word in done.stdout.split(b"\0")[:-1]] if not done.returncode else []
    for path, world, rank, size, pid, program, output in zip(*[iter(words)] * 7, strict=True):
        ranks, _, nodes = size.partition("/")
        yield (
            Record(Path(path), int(rank), int(pid)),
            RecordedWorld(world, int(ranks), program, Path(output), nodes == "1", recorder),
        )


def _join_error(world: RecordedWorld, why: str) -> RecorderError:
    places = ", ".join(map(str, world.directories))
    return RecorderError(f"{places}: could not be joined ({why}); the records are kept for haloscope recover")
