"""Stacks of threads that hang. The recorder in the process answers, so no debugger is needed."""

from __future__ import annotations

import json
import struct
import subprocess
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from haloscope.watch.live import Process
from haloscope.watch.recorder import Builds, Recorder

_SECONDS = 30
_ET_EXEC = 2


@dataclass(frozen=True)
class StackFrame:
    """An address in a file of code, relative to the file; '' and 0 are unknown."""

    module: str
    offset: int


Resolver = Callable[[Sequence[StackFrame]], Sequence[str]]  # a line or more for each frame


@dataclass(frozen=True)
class Stack:
    """The answer of one thread: its frames, innermost first, or the reason for having none (`silent`).

    `requests` is the number of requests that its MPI_Waitall still waits for; `waiting` describes the first.
    """

    rank: int
    pid: int
    tid: int
    frames: tuple[StackFrame, ...] = ()
    silent: str = ""
    requests: int = 0
    waiting: tuple[str, ...] = ()


def ask(processes: Sequence[Process], builds: Builds) -> list[Stack]:
    """Ask the threads of these processes for their stacks.

    A thread is asked only where that changes nothing: in an MPI call, or while it computes.
    """
    by_path = {process.path: process for process in processes}
    found: list[Stack] = []
    for recorder in builds:
        if not by_path:
            break
        for path, answer in _answers(recorder, sorted(by_path)):
            if path in by_path:
                found.append(_stack(by_path[path], answer))
        for path in {path for path in by_path if any(stack.pid == by_path[path].pid for stack in found)}:
            del by_path[path]
    return sorted(found, key=lambda stack: (stack.rank, stack.tid))


def _answers(recorder: Recorder, paths: Sequence[str]) -> list[tuple[str, dict[str, object]]]:
    try:
        done = subprocess.run(
            [str(recorder.join), "--ask", *paths],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = done.stdout.decode(errors="replace").splitlines() if not done.returncode else []
    answers = []
    for line in lines:
        try:
            values = json.loads(line)
            answers.append((str(values["path"]), values))
        except (ValueError, KeyError, TypeError):
            continue
    return answers


def _stack(process: Process, answer: dict[str, object]) -> Stack:
    tid = int(str(answer.get("tid", 0)))
    frames = answer.get("frames")
    if not isinstance(frames, list):
        return Stack(process.rank, process.pid, tid, silent=str(answer.get("silent", "it does not answer")))
    modules = _Modules(process.pid)
    places = tuple(modules.locate(int(address)) for address in frames if address)
    waiting = answer.get("waiting")
    words = tuple(map(_request_text, waiting)) if isinstance(waiting, list) else ()
    return Stack(
        process.rank,
        process.pid,
        tid,
        _remove_our_frames(places),
        requests=int(str(answer.get("requests", 0))),
        waiting=words,
    )


_KINDS = ("?", "send to", "receive from", "receive from", "collective", "one-sided operation", "file access")


def _request_text(request: Sequence[object]) -> str:
    kind, partner, tag = request
    words = _KINDS[kind] if isinstance(kind, int) and 0 <= kind < len(_KINDS) else "?"
    if not words.endswith(("to", "from")):
        return words
    return f"{words} {'?' if partner is None else partner}" + (f", tag {tag}" if tag is not None else "")


def _remove_our_frames(frames: tuple[StackFrame, ...]) -> tuple[StackFrame, ...]:
    """Return frames without our handler and the frame by which the system calls it."""
    first = next((i for i, frame in enumerate(frames) if not _is_ours(frame)), 0)
    return frames[first + 1 :] if 0 < first < len(frames) - 1 else frames


def _is_ours(frame: StackFrame) -> bool:
    return Path(frame.module).name.startswith("libhaloscope-watch")


class _Modules:
    """The files of code in a process, from /proc."""

    def __init__(self, pid: int) -> None:
        self._starts: list[int] = []
        self._rows: list[tuple[int, str]] = []  # end, path
        self._bases: dict[str, int] = {}
        try:
            maps = Path(f"/proc/{pid}/maps").read_text(errors="replace")
        except OSError:
            maps = ""
        for line in maps.splitlines():
            words = line.split(maxsplit=5)
            if len(words) == 6 and words[5].startswith("/"):
                first, _, last = words[0].partition("-")
                self._starts.append(int(first, 16))
                self._rows.append((int(last, 16), words[5]))
                self._bases.setdefault(words[5], int(first, 16))

    def locate(self, address: int) -> StackFrame:
        """Return the file at an address, and the address in it."""
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._rows[at][0]:
            return StackFrame("", address)
        path = self._rows[at][1]
        return StackFrame(path, address - (0 if _is_fixed(path) else self._bases[path]))


def _is_fixed(path: str) -> bool:
    """Return whether a file of code is loaded at the addresses that it states."""
    try:
        with open(path, "rb") as file:
            head = file.read(18)
    except OSError:
        return False
    return len(head) == 18 and struct.unpack_from("<H", head, 16)[0] == _ET_EXEC


def plain(frames: Sequence[StackFrame]) -> list[str]:
    """Return frames without function names: `libmpi.so.40+0x1f2e`."""
    return [f"{Path(frame.module).name or '?'}+{frame.offset:#x}" for frame in frames]
