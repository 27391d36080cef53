"""Runs a command as a shell would: it has our signals, and each of them once."""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from haloscope.base.errors import LaunchError
from haloscope.base.signals import is_ignored

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
_ENDING = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM})
_GROUP_DELAY = 0.02  # seconds, in which a signal to a group, or to each process of a job, reaches all of them
_SENT_BY_KERNEL = 0x80  # si_code SI_KERNEL: a key at the terminal, which the child got, too


@dataclass(frozen=True)
class ChildEnd:
    """How and when a child ended: its `waitpid` status, and a moment on the clock of `time.monotonic`.

    The moment is that of the first signal that asked it to end; without one, that of its end.
    """

    status: int
    moment: float


@dataclass(frozen=True)
class Meanwhile:
    """An action that is repeated at an interval, in seconds, until a child ends or is asked to end.

    It should be short.
    """

    act: Callable[[], None]
    seconds: float


def run_child(
    command: Sequence[str], environment: Mapping[str, str], meanwhile: Meanwhile | None = None
) -> ChildEnd:
    """Run a command to its end.

    A signal that this process ignores, such as SIGHUP under `nohup`, stays ignored in the child and is
    not passed on. Nor is one that was sent to the whole process group, as it has reached the child.

    Args:
        command: Words of the command.
        environment: Its environment.
        meanwhile: Action to repeat while it runs.
    """
    watched = {number for number in _FORWARDED if not is_ignored(number)} | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    try:
        with _keep_children():
            child = _start(command, environment, before)
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


class _GroupWitness:
    """A process of our group that blocks all signals: one that is pending there was sent to the whole group.

    It ends with its input, so also if this process is killed. Without it, all signals are passed on.
    """

    def __init__(self) -> None:
        self._process: int | None = None
        with suppress(OSError):
            reading, self._input = os.pipe()
            with suppress(OSError):
                self._process = os.posix_spawnp(
                    "cat",
                    ["cat"],
                    {},  # nothing is preloaded into it
                    file_actions=((os.POSIX_SPAWN_DUP2, reading, 0),),
                    setsigmask=signal.valid_signals(),
                )
            os.close(reading)
            if self._process is None:
                os.close(self._input)

    def close(self) -> None:
        """End it, also if it has been stopped."""
        if self._process is None:
            return
        os.close(self._input)
        with suppress(ChildProcessError, ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)

    def has(self, number: int) -> bool:
        """Return whether it has got a signal, too."""
        if self._process is None:
            return False
        time.sleep(_GROUP_DELAY)
        try:
            status = Path(f"/proc/{self._process}/status").read_text(encoding="ascii", errors="replace")
        except OSError:
            return False
        pending = next((line.split()[1] for line in status.splitlines() if line.startswith("ShdPnd:")), "0")
        return bool(int(pending, 16) >> number - 1 & 1)


def _wait(child: int, watched: set[signal.Signals], meanwhile: Meanwhile | None) -> ChildEnd:
    asked = None
    witness = _GroupWitness()
    try:
        while True:
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                return ChildEnd(status, asked or time.monotonic())
            if meanwhile is None or asked is not None:
                received = signal.sigwaitinfo(watched)
            elif (received_in_time := signal.sigtimedwait(watched, meanwhile.seconds)) is not None:
                received = received_in_time
            else:
                meanwhile.act()
                continue
            if received.si_signo in _ENDING:
                asked = asked or time.monotonic()
            if received.si_signo not in _FORWARDED or received.si_code == _SENT_BY_KERNEL:
                continue
            if witness.has(received.si_signo):
                witness.close()
                witness = _GroupWitness()
            else:
                os.kill(child, received.si_signo)
    finally:
        witness.close()
