"""Names for code addresses in a running process: functions, files and lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from haloscope.profile.shown.readable import strip_arguments
from haloscope.profile.sites.symboliser import Request, ask


def name_places(places: Sequence[tuple[str, int]]) -> list[list[str]]:
    """Return lines for each place, a file of code and a return address in it, the innermost function first.

    There are several lines for inlined functions. For an unknown address the line has the file's name and the
    address.
    """
    modules = sorted({module for module, _ in places if module})
    requests = [
        Request(module, "", None, sorted({address - 1 for other, address in places if other == module}))
        for module in modules
    ]
    known = dict(zip(modules, ask(requests), strict=True)) if requests else {}
    lines = []
    for module, address in places:
        answer = known.get(module)
        found = answer.functions.get(address - 1, ()) if answer else ()
        lines.append([_line(*function) for function in found] or [f"{Path(module).name or '?'}+{address:#x}"])
    return lines


def _line(function: str, file: str | None, line: int) -> str:
    where = f" ({Path(file).name}:{line})" if file else ""
    return f"{strip_arguments(function)}{where}"
