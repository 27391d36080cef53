"""Runs a command as a shell would: its terminal, its signals and its exit status are its own."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Mapping, Sequence

from haloscope.base.errors import LaunchError

__all__ = ["leave_like", "run_child"]

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
_WATCHED = _FORWARDED | {signal.SIGCHLD}
_SENT_BY_KERNEL = 0x80  # si_code SI_KERNEL: a key at the terminal, which the child got as well


def run_child(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command to its end; returns the status as `waitpid` gives it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    try:
        child = _start(command, environment, before)
        return _wait(child)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_like(status: int) -> int:
    """Return the exit status that tells our caller what the child's told us.

    A child killed by a signal is followed: this process dies of the same signal, without a core.
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
        # Python ignores these two; a program expects them as the shell leaves them.
        return os.posix_spawnp(
            command[0],
            list(command),
            environment,
            setsigmask=mask,
            setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),
        )
    except OSError as error:
        raise LaunchError(f"{command[0]}: {error.strerror}; nothing was started") from None


def _wait(child: int) -> int:
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status
        received = signal.sigwaitinfo(_WATCHED)
        if received.si_signo in _FORWARDED and received.si_code != _SENT_BY_KERNEL:
            os.kill(child, received.si_signo)
