"""Runs one command of a campaign and writes how it ended: `python -I -S executor.py ATTEMPT` on its node.

It needs nothing but Python, so that it starts at once, and outlives the `campaign run` that started it. The
next `campaign run` finds what it writes. ATTEMPT is a directory with `run.json`; of an array, a file of such
directories, one a line, of which the scheduler's index is taken.
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
    """Run the attempt that is named, and return the status of the run."""
    place = words[0]
    if not os.path.isdir(place):
        with open(place, encoding="utf-8") as listed:
            place = listed.read().split("\n")[int(os.environ[_INDEX])]
    os.chdir(place)
    # All processes of the run hold the lock: as long as one lives, the attempt does.
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
        return _Attempt(lock).done()
    except OSError as error:
        # A full disk, above all. That there is no result says that the run is lost.
        print(f"{place}: {error}", file=sys.stderr)
        return _FULL


class _Attempt:
    """A run that is asked for by `run.json` in the current directory."""

    def __init__(self, lock: int) -> None:
        with open("run.json", encoding="utf-8") as asked:
            self.request = json.load(asked)
        self.lock = lock
        self.ended_by: str | None = None
        self.child: subprocess.Popen[bytes] | None = None

    def done(self) -> int:
        """Run it, write `result.json`, and return its status."""
        # A Ctrl-C on the terminal is for `campaign run`, which says whether runs end, too.
        if os.getpgrp() != os.getpid():
            os.setsid()
        environment = self._environment()
        self._note_host(environment)
        os.makedirs("work", exist_ok=True)
        for path in self.request["inputs"]:
            link = os.path.join("work", os.path.basename(path))
            if not os.path.lexists(link):
                os.symlink(path, link)
        signal.signal(signal.SIGTERM, self._end)  # by which `campaign` ends a run
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
                status = self._waited()
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

    def _waited(self) -> int:
        assert self.child is not None
        try:
            return self.child.wait(self.request["limit"])
        except subprocess.TimeoutExpired:
            self._stop("limit")
        return self.child.wait()

    def _end(self, number: int, _frame: object) -> None:
        self._stop(signal.Signals(number).name)

    def _stop(self, reason: str) -> None:
        """Ask the run to end, and after a while end it."""
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
            # `module` is a function of login shells. Names are arguments: the shell never reads them.
            load = 'module load "$@" >&2 && exec env -0'
            said = subprocess.run(
                ["bash", "-lc", load, "modules", *modules], stdout=subprocess.PIPE, check=False
            )
            if said.returncode:
                _write("result.json", json.dumps(_unstarted(f"module load {' '.join(modules)} failed")))
                raise SystemExit(1)
            pairs = (line.partition("=") for line in os.fsdecode(said.stdout).split("\0") if "=" in line)
            environment = {name: value for name, _, value in pairs}
        environment.update(self.request["environment"])
        _write("environment.json", json.dumps(self._kept(environment), indent=1, sort_keys=True))
        return environment

    def _kept(self, environment: dict[str, str]) -> dict[str, str]:
        """Return what is written of the environment: other variables may be secrets."""
        allowed = tuple(self.request["kept"])
        asked = self.request["environment"]
        return {
            name: value for name, value in environment.items() if name in asked or name.startswith(allowed)
        }

    def _note_host(self, environment: dict[str, str]) -> None:
        """Keep what the host looks like, once for all runs on it."""
        hosts = self.request["hosts"]
        path = os.path.join(hosts, f"{os.path.basename(socket.gethostname()) or 'host'}.txt")
        if os.path.exists(path):
            return
        for words in (["lstopo-no-graphics", "--of", "xml"], ["lscpu"]):
            if shutil.which(words[0], path=environment.get("PATH")):
                said = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
                if said.returncode == 0:
                    os.makedirs(hosts, exist_ok=True)
                    _write(path, said.stdout.decode("utf-8", "replace"))
                    return


def _unstarted(error: str) -> dict[str, object]:
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
    """Write a file whole or not at all, also if the machine stops now."""
    aside = f"{path}.{os.getpid()}.part"
    with open(aside, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
