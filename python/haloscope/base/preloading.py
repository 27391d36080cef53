"""Runs a launch command, as a shell would, with one of our libraries preloaded before its MPI."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from haloscope.base.child import run_child
from haloscope.base.environment import (
    Preloaded,
    earlier_preload,
    outer_settings,
    prepare_launch,
    recorder_environment,
)
from haloscope.base.errors import HaloscopeError, LaunchError, UsageError, printable, shorten_text
from haloscope.base.launch import LaunchCommand, parse, resolve
from haloscope.base.launcher import complete_command
from haloscope.base.mpi import Mpi, detect
from haloscope.base.objects import Abi

_LONGEST_REMARK = 500
_NESTED = ("run", "inject", "shm", "place")


@dataclass(frozen=True)
class Choice:
    """The user's choice of the MPI, which replaces detection."""

    abi: Abi | None = None
    include: tuple[Path, ...] = ()


@dataclass
class Outcome:
    """How a profiled command ended.

    `status` is that of `waitpid`; `exit_status` is the number that a shell reports for it. `profiles` are
    the files that were written, oldest first; `remarks` are lines for the user.
    """

    status: int
    profiles: list[Path] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def exit_status(self) -> int:
        """The exit status, or 128 plus the number of the signal that ended the command."""
        if os.WIFSIGNALED(self.status):
            return 128 + os.WTERMSIG(self.status)
        return os.waitstatus_to_exitcode(self.status)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Turn a failure in this block into a remark: the program has ended, and its status is ours."""
        try:
            yield
        except KeyboardInterrupt:
            self.remarks.append("interrupted: what follows the program is incomplete")
        except HaloscopeError as error:
            self.remarks.append(str(error))
        except Exception as error:
            text = printable(shorten_text(f"{type(error).__name__}: {error}", _LONGEST_REMARK))
            self.remarks.append(f"what follows the program is incomplete: {text}")


@dataclass(frozen=True)
class Target:
    """A command, the launch command in it, and the MPI of the launch command."""

    command: Sequence[str]
    launch: LaunchCommand
    mpi: Mpi


def find_target(command: Sequence[str], choice: Choice, otherwise: str, quiet: bool = False) -> Target:
    """Return the command to run with its MPI.

    Args:
        command: A launch command. Other verbs of ours may come before it.
        choice: The user's choice of the MPI.
        otherwise: The consequence of having no MPI, for the error.
        quiet: Print no line about a launcher that is in this Python environment instead of on PATH.

    Raises:
        LaunchError: If there is no such command, or it has no MPI.
    """
    command = complete_command(command, quiet)
    if resolve(command[0]) is None:
        raise LaunchError(f"{command[0]}: no such command; nothing was started")
    inner = _find_inner_command(command)
    launch = parse(inner)
    mpi = detect(launch, choice.abi, choice.include)
    if mpi is None:
        raise LaunchError(f"{inner[0]} links no MPI: {otherwise}")
    return Target(command, launch, mpi)


def run_preloaded(
    target: Target, library: Preloaded, settings: Mapping[str, str], behind: Sequence[Path] = ()
) -> int:
    """Run a command with `library` and its settings in its ranks. Return its `waitpid` status."""
    earlier = earlier_preload(target.launch, os.environ)
    settings = outer_settings(os.environ) | dict(settings)
    variables = recorder_environment(target.mpi, library, settings, earlier, behind)
    if len(target.launch.command) < len(target.command):  # the inner verb passes on these variables
        return run_child(target.command, {**os.environ, **variables}).status
    changed, environment = prepare_launch(target.launch, target.mpi, variables, os.environ)
    return run_child(changed.command, environment).status


def _find_inner_command(command: Sequence[str]) -> Sequence[str]:
    """Return the launch command behind `haloscope run … --` and similar verbs."""
    while Path(command[0]).name == "haloscope":
        rest = command[1:]
        if not rest or rest[0] not in _NESTED or "--" not in rest or rest[-1] == "--":
            raise UsageError(f"of our verbs only {', '.join(_NESTED)} can be run, with -- COMMAND")
        command = rest[rest.index("--") + 1 :]
    return command
