"""Runs a launch command, as a shell would, with one of our libraries preloaded before its MPI."""

from __future__ import annotations

import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from haloscope.base.environment import (
    Preloaded,
    earlier_preload,
    outer_settings,
    prepare_launch,
    recorder_environment,
)
from haloscope.base.errors import LaunchError, UsageError
from haloscope.base.launch import LaunchCommand, parse, resolve
from haloscope.base.launcher import complete_command
from haloscope.base.mpi import Mpi, detect
from haloscope.base.objects import Abi
from haloscope.base.signals import is_ignored

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
        return run_child(target.command, {**os.environ, **variables})
    changed, environment = prepare_launch(target.launch, target.mpi, variables, os.environ)
    return run_child(changed.command, environment)


def _find_inner_command(command: Sequence[str]) -> Sequence[str]:
    """Return the launch command behind `haloscope run … --` and similar verbs."""
    while Path(command[0]).name == "haloscope":
        rest = command[1:]
        if not rest or rest[0] not in _NESTED or "--" not in rest or rest[-1] == "--":
            raise UsageError(f"of our verbs only {', '.join(_NESTED)} can be run, with -- COMMAND")
        command = rest[rest.index("--") + 1 :]
    return command


_FORWARDED = frozenset(
    {
        signal.SIGHUP,
        signal.SIGINT,
        signal.SIGQUIT,
        signal.SIGTERM,
        signal.SIGUSR1,
        signal.SIGUSR2,
        signal.SIGWINCH,
        signal.SIGCONT,
    }
)
_SENT_BY_KERNEL = 0x80  # si_code SI_KERNEL: a key at the terminal, which the child got, too


@dataclass(frozen=True)
class Meanwhile:
    """An action that is repeated at an interval, in seconds, while a child runs; it should be short."""

    act: Callable[[], None]
    seconds: float


def run_child(
    command: Sequence[str],
    environment: Mapping[str, str],
    meanwhile: Meanwhile | None = None,
    begun: Callable[[], None] | None = None,
) -> int:
    """Run a command to its end and return its `waitpid` status.

    A signal that this process ignores, such as SIGHUP under `nohup`, stays ignored in the child and is
    not passed on.

    Args:
        command: Words of the command.
        environment: Its environment.
        meanwhile: Action to repeat while it runs.
        begun: Called when it has started.
    """
    watched = {number for number in _FORWARDED if not is_ignored(number)} | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    try:
        with _keep_children():
            child = _start(command, environment, before)
            if begun is not None:
                begun()
            return _wait(child, watched, meanwhile)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _keep_children() -> Iterator[None]:
    """Stop ignoring SIGCHLD: with SIGCHLD ignored, the system does not report how a child ended."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not is_ignored(signal.SIGCHLD):
        yield
        return
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def leave_like(status: int) -> int:
    """Return the exit status by which our caller learns how the child ended.

    If a signal killed the child, this process dies of the same signal, without a core.
    """
    if not os.WIFSIGNALED(status):
        return os.waitstatus_to_exitcode(status)
    number = os.WTERMSIG(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number


def _start(command: Sequence[str], environment: Mapping[str, str], mask: set[signal.Signals | int]) -> int:
    try:
        # Python ignores these two; programs expect the shell's defaults.
        return os.posix_spawnp(
            command[0],
            list(command),
            environment,
            setsigmask=mask,
            setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),
        )
    except OSError as error:
        raise LaunchError(f"{command[0]}: {error.strerror}; nothing was started") from None


def _wait(child: int, watched: set[signal.Signals], meanwhile: Meanwhile | None) -> int:
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status
        if meanwhile is None:
            received = signal.sigwaitinfo(watched)
        elif (received_in_time := signal.sigtimedwait(watched, meanwhile.seconds)) is not None:
            received = received_in_time
        else:
            meanwhile.act()
            continue
        if received.si_signo in _FORWARDED and received.si_code != _SENT_BY_KERNEL:
            os.kill(child, received.si_signo)
