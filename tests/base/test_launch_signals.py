"""Signals that are ignored when a command is started stay ignored, as without us.

Each test sets all dispositions itself, as the test run may have been started by `nohup` or in the background.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from haloscope.base.signals import handle_signal, is_ignored

_SIGNALS = ("HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "CHLD")
# Starts its command with these signals ignored, and all others of ours at their defaults.
_STARTER = f"""\
import os, signal, sys
ignored = sys.argv[1].split()
for name in {_SIGNALS!r}:
    signal.signal(getattr(signal, "SIG" + name), signal.SIG_IGN if name in ignored else signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, [])
os.execvp(sys.argv[2], sys.argv[2:])
"""
_RUN = """\
import os, sys
from haloscope.base.child import leave_like, run_child
sys.exit(leave_like(run_child(sys.argv[1:], os.environ).status))
"""
# Catches all signals, also those inherited as ignored, and prints their names until a line comes.
_CATCHES = """\
import signal, sys
def caught(number, frame):
    print(signal.Signals(number).name.removeprefix("SIG"), flush=True)
for name in sys.argv[1:]:
    signal.signal(getattr(signal, "SIG" + name), caught)
print("ready", flush=True)
sys.stdin.readline()
print("end", flush=True)
"""
_SHOWS = """\
import signal, sys
print(*(name for name in sys.argv[1:] if signal.getsignal(getattr(signal, "SIG" + name)) == signal.SIG_IGN))
"""


@contextmanager
def started(ignored: str, *command: str) -> Iterator[subprocess.Popen[str]]:
    """Start a command under `run_child`, with these signals ignored at the beginning."""
    words = [sys.executable, "-c", _STARTER, ignored, sys.executable, "-c", _RUN, *command]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def catcher(*names: str) -> list[str]:
    return [sys.executable, "-c", _CATCHES, *names]


def send(child: subprocess.Popen[str], names: Sequence[str]) -> None:
    for name in names:
        child.send_signal(getattr(signal, f"SIG{name}"))


def line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


@pytest.mark.parametrize("ignored", ["", "HUP", "INT QUIT", "HUP INT QUIT TERM USR1"])
def test_the_command_inherits_what_is_ignored(ignored: str) -> None:
    names = [name for name in _SIGNALS if name != "CHLD"]
    with started(ignored, sys.executable, "-c", _SHOWS, *names) as child:
        shown, _ = child.communicate()
        assert shown.split() == ignored.split()
        assert child.returncode == 0


@pytest.mark.parametrize("ignored", ["HUP", "INT", "QUIT", "TERM"])
def test_an_ignored_signal_is_not_passed_on(ignored: str) -> None:
    """Not even to a command that catches it: a later one shows that it never comes."""
    with started(ignored, *catcher(ignored, "WINCH")) as child:
        assert line(child) == "ready"
        send(child, [ignored, "WINCH"])
        assert line(child) == "WINCH"
        rest, _ = child.communicate("\n")
        assert rest == "end\n"
        assert child.returncode == 0


@pytest.mark.parametrize("name", ["HUP", "INT", "QUIT", "TERM", "USR1", "USR2"])
def test_another_signal_is_passed_on_once(name: str) -> None:
    others = " ".join({"HUP", "INT", "QUIT"} - {name})
    with started(others, *catcher(name)) as child:
        assert line(child) == "ready"
        send(child, [name])
        assert line(child) == name
        rest, _ = child.communicate("\n")
        assert rest == "end\n"
        assert child.returncode == 0


def test_a_caller_that_ignores_the_end_of_children() -> None:
    """The system would forget the exit status."""
    with started("CHLD", "sh", "-c", "exit 7") as child:
        child.communicate()
        assert child.returncode == 7


@pytest.mark.parametrize("before", [signal.SIG_DFL, signal.SIG_IGN])
def test_a_handler_is_installed_for_what_is_not_ignored(before: signal.Handlers) -> None:
    caught: list[int] = []
    own = signal.signal(signal.SIGUSR1, before)
    try:
        with handle_signal(signal.SIGUSR1, lambda number, _: caught.append(number)):
            assert is_ignored(signal.SIGUSR1) == (before == signal.SIG_IGN)
            if before == signal.SIG_DFL:
                signal.raise_signal(signal.SIGUSR1)
        assert signal.getsignal(signal.SIGUSR1) == before
    finally:
        signal.signal(signal.SIGUSR1, own)
    assert caught == ([signal.SIGUSR1] if before == signal.SIG_DFL else [])


def test_other_threads_install_no_handler() -> None:
    def enter() -> None:
        with handle_signal(signal.SIGUSR1, print):
            found.append(signal.getsignal(signal.SIGUSR1))

    found: list[object] = []
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGUSR1)]
    assert found != [print]


def test_nohup(tmp_path: Path) -> None:
    """The real `nohup`: the command survives a HUP to us and to itself."""
    program = f"{_SHOWS}\nsys.stdout.flush()\nsys.stdin.readline()\nprint('end')"
    words = [sys.executable, "-c", _STARTER, "", "nohup", sys.executable, "-c", _RUN]
    words += [sys.executable, "-c", program, "HUP"]
    environment = {**os.environ, "HOME": str(tmp_path)}
    with subprocess.Popen(
        words,
        env=environment,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as child:
        assert line(child) == "HUP"
        os.killpg(child.pid, signal.SIGHUP)
        rest, _ = child.communicate("\n")
        assert rest == "end\n"
        assert child.returncode == 0
