"""The program's signals and exit status stay its own."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

_RUN = """\
import os, sys
from haloscope.base.preloading import leave_like, run_child
sys.exit(leave_like(run_child(sys.argv[1:], os.environ)))
"""
# No shell: it cannot catch what its caller ignores, as nohup does SIGHUP.
_CATCHES = """\
import signal, sys, time
number = getattr(signal, f"SIG{sys.argv[1]}")
def caught(*_):
    signal.signal(number, signal.SIG_DFL)
    print("got", flush=True)
    time.sleep(0.2)
    print("alive", flush=True)
signal.signal(number, caught)
print("ready", flush=True)
for _ in range(300):
    time.sleep(0.1)
"""


def start(*command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _RUN, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("status", [0, 1, 7, 255])
def test_exit_status(status: int) -> None:
    child = start("sh", "-c", f"exit {status}")
    child.communicate()
    assert child.returncode == status


@pytest.mark.parametrize("name", ["KILL", "SEGV", "ABRT", "TERM", "INT"])
def test_death_by_signal(tmp_path: Path, name: str) -> None:
    child = start("sh", "-c", f"cd {tmp_path}; kill -{name} $$")
    _, said = child.communicate()
    assert child.returncode == -getattr(signal, f"SIG{name}")
    assert "Traceback" not in said


@pytest.mark.parametrize("name", ["HUP", "INT", "QUIT", "TERM", "USR1", "USR2"])
def test_signals_are_passed_on_once(name: str) -> None:
    """The first is caught; a second copy of it would end the program before it says `alive`."""
    child = start(sys.executable, "-c", _CATCHES, name)
    assert child.stdout
    assert child.stdout.readline() == "ready\n"
    child.send_signal(getattr(signal, f"SIG{name}"))
    assert child.stdout.readline() == "got\n"
    assert child.stdout.readline() == "alive\n"
    child.send_signal(getattr(signal, f"SIG{name}"))
    child.communicate()
    assert child.returncode == -getattr(signal, f"SIG{name}")


def test_streams_are_the_programs() -> None:
    child = start("sh", "-c", "read line; echo out $line; echo err >&2")
    assert child.communicate("hello\n") == ("out hello\n", "err\n")


def test_broken_pipes_end_the_program() -> None:
    """Python ignores SIGPIPE; a program must not inherit that."""
    child = start("grep", "SigIgn", "/proc/self/status")
    ignored = int(child.communicate()[0].split()[1], 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1))


def test_no_signal_is_blocked_in_the_program() -> None:
    child = start("grep", "SigBlk", "/proc/self/status")
    assert int(child.communicate()[0].split()[1], 16) == 0


def test_missing_program() -> None:
    child = start("/nothere")
    _, said = child.communicate()
    assert "/nothere: No such file or directory" in said
