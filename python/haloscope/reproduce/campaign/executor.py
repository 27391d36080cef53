"""Runs one command of a campaign and writes its result: `python -I -S executor.py ATTEMPT` on its node.

It needs only Python, so that it starts quickly, and continues if the `campaign run` that started it ends. The
next `campaign run` finds its result. ATTEMPT is a directory with `run.json`; for an array, it is a file with
one such directory per line, of which the scheduler's index selects one.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

_PATIENCE = 10  # seconds from SIGTERM to SIGKILL
_INDEX = "SLURM_ARRAY_TASK_ID"
_ELSEWHERE, _FULL = 75, 74


def main(words: list[str]) -> int:
    """Run an attempt, and return the status of the run."""
    path = words[0]
    if not os.path.isdir(path):
        with open(path, encoding="utf-8") as listed:
            path = listed.read().split("\n")[int(os.environ[_INDEX])]
    os.chdir(path)
    # All processes of the run hold the lock, so that it is free only after the last one has ended.
    lock = os.open("lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _ELSEWHERE
    except OSError:
        pass  # some parallel file systems have no locks
    os.ftruncate(lock, 0)
    os.write(lock, b"%d" % os.getpid())
    if os.path.exists("result.json"):
        return 0
    try:
        return _Attempt(lock).execute()
    except OSError as error:
        # Mostly a full disk. Without a result, the run counts as lost.
        print(f"{path}: {error}", file=sys.stderr)
        return _FULL


class _Attempt:
    """A run by `run.json` in the current directory."""

    def __init__(self, lock: int) -> None:
        with open("run.json", encoding="utf-8") as asked:
            self.request = json.load(asked)
        self.lock = lock
        self.ended_by: str | None = None
        self.child: subprocess.Popen[bytes] | None = None

    def execute(self) -> int:
        """Run the command, write `result.json`, and return its status."""
        # A Ctrl-C on the terminal is handled by `campaign run`, which then ends runs.
        if os.getpgrp() != os.getpid():
            os.setsid()
        environment = self._environment()
        self._note_host(environment)
        os.makedirs("work", exist_ok=True)
        for path in self.request["inputs"]:
            link = os.path.join("work", os.path.basename(path))
            if not os.path.lexists(link):
                os.symlink(path, link)
        signal.signal(signal.SIGTERM, self._end)  # `campaign run` ends runs by it
        if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._end)
        signal.signal(signal.SIGALRM, lambda number, frame: self._kill(signal.SIGKILL))
        started, begun = time.time(), time.monotonic()
        error = None
        status = 127
        with open("stdout", "wb") as out, open("stderr", "wb") as err:
            try:
                self.child = subprocess.Popen(
                    self.request["words"],
                    cwd="work",
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    pass_fds=(self.lock,),
                    start_new_session=True,
                )
                status = self._wait()
            except OSError as problem:
                error = f"{problem.filename or self.request['words'][0]}: {problem.strerror}"
        seconds = time.monotonic() - begun
        result = {
            "exit_status": status,
            "seconds": seconds,
            "started": started,
            "host": socket.gethostname(),
            "kernel": f"{os.uname().sysname} {os.uname().release} {os.uname().machine}",
            "ended_by": self.ended_by,
            "error": error,
        }
        _write("result.json", json.dumps(result))
        return status

    def _wait(self) -> int:
        assert self.child is not None
        try:
            return self.child.wait(self.request["limit"])
        except subprocess.TimeoutExpired:
            self._stop("limit")
        return self.child.wait()

    def _end(self, number: int, _frame: object) -> None:
        self._stop(signal.Signals(number).name)

    def _stop(self, reason: str) -> None:
        """Terminate the run, and kill it after a while."""
        self.ended_by = self.ended_by or reason
        self._kill(signal.SIGTERM)
        signal.alarm(_PATIENCE)

    def _kill(self, number: int) -> None:
        if self.child is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.child.pid, number)

    def _environment(self) -> dict[str, str]:
        environment = dict(os.environ)
        modules = self.request["modules"]
        if modules:
            # `module` is a function of login shells. Names are arguments, which the shell does not interpret.
            load = 'module load "$@" >&2 && exec env -0'
            shell = subprocess.run(
                ["bash", "-lc", load, "modules", *modules], stdout=subprocess.PIPE, check=False
            )
            if shell.returncode:
                _write("result.json", json.dumps(_make_failure(f"module load {' '.join(modules)} failed")))
                raise SystemExit(1)
            pairs = (line.partition("=") for line in os.fsdecode(shell.stdout).split("\0") if "=" in line)
            environment = {name: value for name, _, value in pairs}
        environment.update(self.request["environment"])
        _write("environment.json", json.dumps(self._select_variables(environment), indent=1, sort_keys=True))
        return environment

    def _select_variables(self, environment: dict[str, str]) -> dict[str, str]:
        """Return the variables of the environment to store; others may be secrets."""
        allowed = tuple(self.request["kept"])
        requested = self.request["environment"]
        return {
            name: value
            for name, value in environment.items()
            if name in requested or name.startswith(allowed)
        }

    def _note_host(self, environment: dict[str, str]) -> None:
        """Write a description of the host, once for all runs on it."""
        hosts = self.request["hosts"]
        path = os.path.join(hosts, f"{os.path.basename(socket.gethostname()) or 'host'}.txt")
        if os.path.exists(path):
            return
        for words in (["lstopo-no-graphics", "--of", "xml"], ["lscpu"]):
            if shutil.which(words[0], path=environment.get("PATH")):
                tool = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
                if tool.returncode == 0:
                    os.makedirs(hosts, exist_ok=True)
                    _write(path, tool.stdout.decode("utf-8", "replace"))
                    return


def _make_failure(error: str) -> dict[str, object]:
    host = socket.gethostname()
    return {
        "exit_status": 127,
        "seconds": 0.0,
        "started": time.time(),
        "host": host,
        "ended_by": None,
        "error": error,
    }


def _write(path: str, text: str) -> None:
    """Write a file completely or not at all, even if the machine stops."""
    aside = f"{path}.{os.getpid()}.part"
    with open(aside, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
