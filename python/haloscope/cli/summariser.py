"""Summaries of a run, from a process that loads the modules for them while the program runs.

These modules take longer to load than `haloscope run` takes for all the rest. The process loads them where
a CPU is idle. If it has to wait for one, it pauses, so ranks keep their CPUs.
"""

from __future__ import annotations

import gc
import json
import os
import select
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

# Seconds until the process ends, to return its memory. After a long run, loading takes a small part of the
# time.
_PATIENCE = 60.0
# Seconds without the CPU during one module that count as waiting for it, and the first of the pauses, each
# of which is twice as long as the one before.
_WAITED, _PAUSE = 0.002, 0.01


class Summariser:
    """A process that makes summaries. If it does not answer, this process makes them."""

    def __init__(self, is_wanted: bool, has_trace: bool = False) -> None:
        """Start it, if summaries are wanted, and if this process has not loaded the modules itself."""
        self._process: subprocess.Popen[str] | None = None
        if is_wanted and sys.executable and "polars" not in sys.modules:
            with suppress(OSError):
                self._process = _start(has_trace)

    def summarise(self, profile: Path) -> list[str]:
        """Return the lines of `haloscope.explain.summary`. Raises its errors, and those of opening."""
        answer = self._ask(profile)
        if not answer:  # also if it had an error, which is then raised here
            self.close()
            return _summarise(str(profile))
        lines: list[str] = json.loads(answer)
        return lines

    def _ask(self, profile: Path) -> str:
        """Return the answer, empty if there is none."""
        if self._process is None or self._process.stdin is None or self._process.stdout is None:
            return ""
        try:
            self._process.stdin.write(json.dumps(str(profile)) + "\n")
            self._process.stdin.flush()
            return self._process.stdout.readline()
        except OSError:  # it has ended
            return ""

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _start(has_trace: bool) -> subprocess.Popen[str]:
    # With this process's own path: after `-c`, modules of the working directory would come first.
    paths = f"sys.path[:] = {sys.path!r}; sys.pycache_prefix = {sys.pycache_prefix!r}"
    code = f"import sys; {paths}; from {__name__} import serve; serve({has_trace})"
    # Nothing is preloaded into it, and it starts no threads for algebra.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment | {"OPENBLAS_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="ascii",
        start_new_session=True,  # Ctrl-C is for the program
    )


def serve(has_trace: bool) -> None:
    """Answer each path on standard input, as JSON, with the lines of its summary, until the input ends."""
    gc.disable()  # it ends soon
    pauses = _Pauses()
    sys.meta_path.insert(0, pauses)
    loading = Thread(target=_load, args=(has_trace,))
    loading.start()
    if select.select([sys.stdin], [], [], _PATIENCE)[0]:
        for line in sys.stdin:
            pauses.is_urgent.set()
            loading.join()
            print(json.dumps(_summarise(json.loads(line))), flush=True)
    os._exit(0)  # loading may go on


class _Pauses:
    """A finder of modules that finds none: it pauses before a module, if the last one waited for a CPU."""

    def __init__(self) -> None:
        self.is_urgent = Event()
        self._next, self._last = _PAUSE, self._idle_time()

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Pause if needed, at most until it is urgent."""
        has_waited = self._idle_time() - self._last > _WAITED
        if has_waited:
            self.is_urgent.wait(self._next)
        self._next = 2 * self._next if has_waited else _PAUSE
        self._last = self._idle_time()

    @staticmethod
    def _idle_time() -> float:
        return time.monotonic() - time.thread_time()


def _load(has_trace: bool) -> None:
    import numpy.ma  # noqa: F401 - polars loads it with the first array

    from haloscope import explain

    _ = (explain.open, explain.summary)
    if has_trace:
        from haloscope.profile.trace import read_trace
        from haloscope.profile.waiting import analyse_waiting

        _ = (read_trace, analyse_waiting)


def _summarise(path: str) -> list[str]:
    from haloscope import explain

    with explain.open(path) as profile:
        return explain.summary(profile)
