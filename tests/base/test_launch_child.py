"""The program's signals and exit status stay its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.limits import HANG

# The signals of a shell: whoever runs the tests may ignore some, as `nohup` and background jobs do.
_AS_AT_A_TERMINAL = """\
import resource, signal
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
for one in ("HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "WINCH"):
    signal.signal(getattr(signal, f"SIG{one}"), signal.SIG_DFL)
"""
_RUN = f"""\
{_AS_AT_A_TERMINAL}
import os, sys
from haloscope.base.child import leave_like, run_child
sys.exit(leave_like(run_child(sys.argv[1:], os.environ).status))
"""
# Catches a signal once, and reports each SIGWINCH. It ends with its input.
_CATCHES = """\
import signal, sys
number = getattr(signal, f"SIG{sys.argv[1]}")
def caught(*_):
    signal.signal(number, signal.SIG_DFL)
    print("got", flush=True)
signal.signal(number, caught)
signal.signal(signal.SIGWINCH, lambda *_: print("alive", flush=True))
print("ready", flush=True)
sys.stdin.read()
"""


def start(*command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _RUN, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("status", [0, 1, 7, 255])
def test_exit_status(status: int) -> None:
    child = start("sh", "-c", f"exit {status}")
    child.communicate()
    assert child.returncode == status


@pytest.mark.parametrize("name", ["KILL", "SEGV", "ABRT", "TERM", "INT"])
def test_death_by_signal(tmp_path: Path, name: str) -> None:
    child = start("sh", "-c", f"cd {tmp_path}; kill -{name} $$")
    _, output = child.communicate()
    assert child.returncode == -getattr(signal, f"SIG{name}")
    assert "Traceback" not in output


@pytest.mark.parametrize("name", ["HUP", "INT", "QUIT", "TERM", "USR1", "USR2"])
def test_signals_are_passed_on_once(name: str) -> None:
    """The program catches the first. A second copy would end it before the SIGWINCH that is sent later."""
    child = start(sys.executable, "-c", _CATCHES, name)
    assert child.stdout
    assert child.stdout.readline() == "ready\n"
    child.send_signal(getattr(signal, f"SIG{name}"))
    assert child.stdout.readline() == "got\n"
    child.send_signal(signal.SIGWINCH)
    assert child.stdout.readline() == "alive\n"
    child.send_signal(getattr(signal, f"SIG{name}"))
    assert child.wait() == -getattr(signal, f"SIG{name}")
    child.communicate()


@pytest.mark.parametrize("name", ["INT", "TERM", "USR1"])
def test_a_signal_to_the_group_arrives_once(name: str) -> None:
    """As from `timeout`, a batch system, or `kill -- -GROUP`: the program gets it without our help."""
    child = start(sys.executable, "-c", _CATCHES, name)
    assert child.stdout
    assert child.stdout.readline() == "ready\n"
    for number in (name, "WINCH", "WINCH"):
        os.killpg(child.pid, getattr(signal, f"SIG{number}"))
        assert child.stdout.readline() == ("alive\n" if number == "WINCH" else "got\n")
    # Had it arrived twice, the second one would have ended the program.
    child.send_signal(signal.SIGWINCH)
    assert child.stdout.readline() == "alive\n"
    output, _ = child.communicate()
    assert (output, child.returncode) == ("", 0)


def test_a_group_that_was_stopped_ends() -> None:
    """As after Ctrl-Z, if only this process is told to go on: that passes it on to the program."""
    child = start(sys.executable, "-c", _CATCHES, "TERM")
    assert child.stdout
    assert child.stdout.readline() == "ready\n"
    os.killpg(child.pid, signal.SIGSTOP)
    child.send_signal(signal.SIGCONT)
    child.communicate(timeout=HANG)
    assert child.returncode == 0


def test_nothing_is_looked_at_once_the_program_was_asked_to_end() -> None:
    script = _RUN.replace("os.environ)", "os.environ, Meanwhile(lambda: print('look', flush=True), 0.001))")
    assert script != _RUN
    program = "trap 'echo got; sleep 0.2; exit 3' TERM; echo ready; while :; do sleep 0.01; done"
    words = ["sh", "-c", program]
    script = script.replace("leave_like", "Meanwhile, leave_like", 1)
    with subprocess.Popen(
        [sys.executable, "-c", script, *words], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        assert running.stdout is not None
        lines: set[str] = set()
        while not {"look\n", "ready\n"} <= lines:
            lines.add(running.stdout.readline())
            assert "" not in lines
        running.send_signal(signal.SIGTERM)
        output = running.stdout.read()
    assert running.returncode == 3
    assert output.endswith("got\n")


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
    _, output = child.communicate()
    assert "/nothere: No such file or directory" in output
