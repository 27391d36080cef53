"""`haloscope recover`: a profile of what an interrupted run left behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from haloscope.base.errors import HaloscopeError, RecorderError
from haloscope.watch import _live
from haloscope.watch._outputs import Output, expand, is_other
from haloscope.watch._recorder import built_recorders

__all__ = ["Recovery", "join_and_clear", "recover"]


@dataclass
class Recovery:
    """The profiles that were made, remarks on them, and what could not be done."""

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

    Without `directory`, of the records that this user's runs left on this node. `output` is where the
    profile goes, as in `run`; without it, where the run would have written it. With `keep` the records
    stay. With `force` what is still running is recovered, too, and a file that is no profile is replaced.

    Raises `RecorderError` if there are no records. What could not be recovered is in the `failures` of the
    result.

    >>> haloscope.recover("collected/", output="lost.halo").profiles
    [PosixPath('/home/me/lost.halo')]
    """
    root = Path(directory) if directory is not None else None
    wanted = Path(output) if output is not None else None
    if root is not None and not root.is_dir():
        raise RecorderError(f"{root}: no such directory; name one with live records")
    places = _live.holders(root) if root is not None else _live.places()
    if not places:
        raise RecorderError(
            f"{root or 'nothing to recover'}: no live records {'in it' if root else 'of yours'}; "
            "they are in /dev/shm/haloscope-*, if HALOSCOPE_LIVE named no other place, on each of "
            "the run's nodes, until its profile is written"
        )
    recovery = Recovery(failures=_refused(places))
    worlds, unread = _live.read(built_recorders(), places)
    if unread:
        more = f" (and {len(unread) - 1} more)" if len(unread) > 1 else ""
        recovery.failures.append(
            f"{unread[0]}{more}: no recorder in this cache reads it; recover with the Haloscope, "
            "the user and the HALOSCOPE_CACHE that watched the run"
        )
    for world in worlds:
        try:
            _recover(recovery, world, wanted, keep, force)
        except HaloscopeError as error:
            recovery.failures.append(str(error))
    return recovery


def _refused(places: Sequence[Path]) -> list[str]:
    """A line on records of other users, which could have anything written anywhere."""
    others = [path for place in places for path in place.glob("*.live") if _live.foreign(path)]
    if not others:
        return []
    owner = _owner(others[0])
    return [
        f"{others[0]}: the records of {owner} are not read; have {owner} recover them, or, if you "
        "trust them, recover a copy of your own"
    ]


def _owner(path: Path) -> str:
    try:
        return path.owner()
    except KeyError:
        return f"user {path.stat().st_uid}"


def _recover(recovery: Recovery, world: _live.World, output: Path | None, keep: bool, force: bool) -> None:
    running = world.running()
    if running and not force:
        raise RecorderError(
            f"{world.directories[0]}: {world.program} is still running (process {running[0]}); "
            "wait for it, or take a profile of what it did so far with --force"
        )
    # A name that only the records give is made free; the user's own word must be right.
    over_others = force or output is None
    pattern = Output.prepare(output or world.output, over_others).pattern
    wanted = expand(pattern, world.size, world.program) if output else pattern
    replaceable = is_other if force else _nothing
    target, remarks = join_and_clear(world, wanted, replaceable, keep or bool(running))
    recovery.profiles.append(target)
    recovery.remarks += remarks


def join_and_clear(
    world: _live.World, wanted: Path, replaceable: Callable[[Path], bool], keep: bool = False
) -> tuple[Path, list[str]]:
    """Make the profile, then remove the records unless some of them are not in it."""
    target, remarks = _live.join(world, wanted, replaceable)
    if world.missing:
        there = world.size - world.missing
        remarks.append(
            f"{there} of {world.size} ranks have records here; those of other nodes are in a "
            "directory of the same name there: collect them, then haloscope recover joins all"
        )
    if remarks and not keep:
        remarks.append(f"the records stay in {', '.join(map(str, world.directories))}")
    elif not keep:
        _live.clear(world)
    return target, remarks


def _nothing(path: Path) -> bool:
    return False
