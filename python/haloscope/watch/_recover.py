"""`haloscope recover`: a profile of what an interrupted run left behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from haloscope._errors import HaloscopeError, ProfileError, RecorderError
from haloscope.watch import _live
from haloscope.watch._build import built_recorders
from haloscope.watch._outputs import Output, expand

__all__ = ["Recovery", "join_and_clear", "recover"]


@dataclass
class Recovery:
    """The profiles that were made, remarks on them, and what could not be done."""

    profiles: list[Path] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def recover(
    root: Path, output: Path | None = None, keep: bool = False, force: bool = False
) -> Recovery:
    """Join the records below a directory, each world's into a profile of its own."""
    if not root.is_dir():
        raise RecorderError(f"{root}: no such directory; name one with live records")
    places = _live.holders(root)
    if not places:
        raise RecorderError(
            f"{root}: no live records in it; they are in /dev/shm/haloscope-*, if no other place "
            "was given with --live, on each of the run's nodes, until its profile is written"
        )
    worlds, unread = _live.read(built_recorders(), places)
    recovery = Recovery()
    if unread:
        more = f" (and {len(unread) - 1} more)" if len(unread) > 1 else ""
        recovery.failures.append(
            f"{unread[0]}{more}: no recorder in this cache reads it; recover with the Haloscope, "
            "the user and the HALOSCOPE_CACHE that watched the run"
        )
    for world in worlds:
        try:
            _recover(recovery, world, output, keep, force)
        except HaloscopeError as error:
            recovery.failures.append(str(error))
    return recovery


def _recover(
    recovery: Recovery, world: _live.World, output: Path | None, keep: bool, force: bool
) -> None:
    running = world.running()
    if running and not force:
        raise RecorderError(
            f"{world.directories[0]}: {world.program} is still running (process {running[0]}); "
            "wait for it, or take a profile of what it did so far with --force"
        )
    pattern = Output.prepare(output or world.output).pattern
    wanted = expand(pattern, world.size, world.program) if output else pattern
    target = _live.free_name(wanted, _is_profile)
    remarks = join_and_clear(world, target, keep or bool(running))
    recovery.profiles.append(target)
    recovery.remarks += remarks


def join_and_clear(world: _live.World, target: Path, keep: bool = False) -> list[str]:
    """Make the profile, then remove the records unless some of them are not in it."""
    remarks = _live.join(world, target)
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
    return remarks


def _is_profile(path: Path) -> bool:
    """Whether there is a whole profile that must not be overwritten, or no file at all."""
    from haloscope.explain import open as open_profile

    if not path.is_file():
        return path.exists()
    try:
        open_profile(path).close()
    except ProfileError:
        return False
    return True
