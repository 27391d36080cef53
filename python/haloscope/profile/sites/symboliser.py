"""The process that reads debug information: addresses of modules in, functions, files and lines out.

Executables and libraries are untrusted files. If their reader crashes, or uses all memory, this process ends,
and not the one that waits for a program.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

# Function, file and line; a file that is unknown is None, and its line 0.
Function = tuple[str, str | None, int]

_MEMORY = 16 << 30
_SECONDS = 600
_CHILD = (
    "import sys; sys.path[:] = sys.argv[1:];"
    " from haloscope.profile.sites import symboliser; symboliser.main()"
)


@dataclass(frozen=True)
class Request:
    """Addresses of instructions in a module, relative to its file."""

    path: str
    build: str
    ended: float | None
    addresses: Sequence[int]


@dataclass(frozen=True)
class Answer:
    """The functions at each known address, the innermost first; there are several if the compiler has inlined
    some. `remark` describes a problem of the module, if any.
    """

    functions: Mapping[int, Sequence[Function]]
    remark: str


def ask(requests: Sequence[Request]) -> list[Answer]:
    """Return an answer to each request; a request on which the reader crashes gets a remark only."""
    answers: list[Answer] = []
    while len(answers) < len(requests):
        received = list(_ask_child(requests[len(answers) :]))
        answers += received
        if len(answers) < len(requests):
            answers.append(Answer({}, "has debug information that cannot be read"))
    return answers


def _ask_child(requests: Sequence[Request]) -> Iterable[Answer]:
    """Yield what one process answers until it ends."""
    if not sys.executable:
        return
    asked = json.dumps([asdict(request) for request in requests]).encode()
    command = [sys.executable, "-c", _CHILD, *sys.path]
    try:
        output = subprocess.run(
            command,
            input=asked,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        ).stdout
    except subprocess.TimeoutExpired as late:
        output = late.stdout or b""
    except OSError:
        return
    for line in output.splitlines(keepends=True):
        if line.endswith(b"\n"):
            functions, remark = json.loads(line)
            yield Answer(
                {int(a): [(f[0], f[1], f[2]) for f in found] for a, found in functions.items()}, remark
            )


def main() -> None:
    """Answer requests on standard input, one line each on standard output."""
    _limit(resource.RLIMIT_DATA, _MEMORY)
    _limit(resource.RLIMIT_CPU, _SECONDS)
    _limit(resource.RLIMIT_CORE, 0)
    for asked in json.load(sys.stdin):
        functions, remark = _answer(Request(**asked))
        print(json.dumps([functions, remark]), flush=True)


def _limit(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _answer(request: Request) -> tuple[dict[int, list[Function]], str]:
    from haloscope.profile.sites.debug_files import find

    found = find(request.path, request.build, request.ended)
    if found.file is None:
        return {}, found.remark
    try:
        cache = _symbols(str(found.file))
    except ImportError:
        return {}, "cannot be read without the package symbolic: pip install 'haloscope[callsites]'"
    if cache is None:
        return {}, "cannot be read"
    functions = {address: _functions(cache, address - found.base) for address in request.addresses}
    if not all(file for known in functions.values() for _, file, _ in known):
        functions = _add_lines(found.file, functions)
    return {address: known for address, known in functions.items() if known}, found.remark


def _add_lines(file: Path, functions: dict[int, list[Function]]) -> dict[int, list[Function]]:
    """Return functions with the lines of the file's line table: the other information may be elsewhere."""
    from haloscope.profile.sites.elf import read_sections
    from haloscope.profile.sites.line_table import OF_SPLIT, SECTIONS, read_line_table

    if not read_sections(file, [OF_SPLIT])[0]:
        return functions
    table = read_line_table(*read_sections(file, SECTIONS))
    found: dict[int, list[Function]] = {}
    for address, known in functions.items():
        line = table.look_up(address)
        name = known[0][0] if known else "?"
        found[address] = [(name, *line)] if line and not any(place for _, place, _ in known) else known
    return found


def _symbols(path: str) -> Any:
    from symbolic.debuginfo import Archive
    from symbolic.exceptions import SymbolicError

    try:
        return next(iter(Archive.open(path).iter_objects())).make_symcache()
    except (SymbolicError, StopIteration, OSError):
        return None


def _functions(cache: Any, address: int) -> list[Function]:
    from haloscope.profile.shown.readable import readable

    if not 0 <= address < 1 << 64:
        return []
    found = cache.lookup(address)
    return [
        (readable(f.symbol, f.full_path), f.full_path or None, f.line if f.full_path else 0) for f in found
    ]
