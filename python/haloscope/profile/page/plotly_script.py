"""Plotly's script for pages: the kinds of figures that pages draw, a quarter of the whole."""

from __future__ import annotations

import re
from collections.abc import Iterator

from haloscope.base.paths import prebuilt

# Lines and points are part of Plotly's core.
_KINDS = frozenset({"bar", "box", "heatmap", "icicle"})

_WRAPPED = re.compile(
    r"(?P<licence>/\*\*.*?\*/\n)\(.*?, \(\) => \{\n"
    r'(?P<all>"use strict";var Plotly=.*\nwindow\.Plotly = Plotly;\n)return Plotly;\n\}\)\);\s*',
    re.DOTALL,
)
_NAME = r"([\w$]+)"
# How the bundle defines a module of CommonJS, one of ECMAScript, and the exports of the latter.
_COMMON = re.compile(_NAME + r"=\(\w,\w\)=>\(\)=>(?:\{try\{return|\(\w\|\|)")
_STANDARD = re.compile(_NAME + r"=\(\w,\w(?:,\w)?\)=>\(\)=>(?:\{if\(\w\)throw|\(\w&&)")
_EXPORTS = re.compile(_NAME + r"=\(\w,(\w)\)=>\{for\(var \w in \2\)")
_USE = re.compile(r"(?<![\w$.])([\w$]+)\(\)")
_ALL_KINDS = re.compile(r"\.register\(\[([^\]]*)\]")


def read_plotly() -> str:
    """Return Plotly's script for a page. Of a version with another layout it is the whole script."""
    return remove_unused(strip_wrapper(_read_whole()))


def _read_whole() -> str:
    """Return the script of the wheel, else that of Plotly's package."""
    ready = prebuilt() / "plotly.min.js"
    if ready.is_file():
        return ready.read_text(encoding="utf-8")
    import plotly.offline

    return str(plotly.offline.get_plotlyjs())


def strip_wrapper(library: str) -> str:
    """Return Plotly without its wrapper for other loaders than pages.

    A browser parses the content of a function twice: that costs a fifth of the time in which a page opens.
    """
    found = _WRAPPED.fullmatch(library)
    return library if found is None else found["licence"] + found["all"]


def remove_unused(library: str) -> str:
    """Return Plotly without the modules that only other kinds of figures use."""
    helpers = [pattern.search(library) for pattern in (_COMMON, _STANDARD, _EXPORTS)]
    common, standard, exports = (re.escape(found[1]) if found else "" for found in helpers)
    modules = rf"(?<=;)(?=var (?:{_NAME}={common}\(|{_NAME}=\{{\}};{exports}\(\2,))"
    starts = [found.start() for found in re.finditer(modules, library)] if all(helpers) else []
    end = library.find("return ", starts[-1]) if starts else -1
    if end < 0:
        return library
    parts = [library[begin:end_] for begin, end_ in zip(starts, [*starts[1:], end], strict=True)]
    defined = re.compile(rf"var {_NAME}={common}\(|\b{_NAME}={standard}\(\(\)=>")
    owners = {
        found[1] or found[2]: number for number, part in enumerate(parts) for found in defined.finditer(part)
    }
    every = _ALL_KINDS.search(parts[-1])
    if every is None:
        return library
    wanted = [
        use for use in every[1].split(",") if _find_kind(use.removesuffix("()"), parts, owners) in _KINDS
    ]
    if len(wanted) != len(_KINDS):
        return library
    parts[-1] = parts[-1].replace(every[1], ",".join(wanted))
    head = library[: starts[0]]
    needed = _find_needed([head, *parts], owners)
    return head + "".join(parts[number] for number in sorted(needed)) + library[end:]


def _find_kind(module: str, parts: list[str], owners: dict[str, int]) -> str | None:
    """Return the kind of figures of a module: its name, or that of the module that it re-exports."""
    part = parts[owners[module]] if module in owners else ""
    if named := re.search(r'name:"(\w+)"', part):
        return named[1]
    exported = re.search(rf"exports={_NAME}\(\)", part)
    return _find_kind(exported[1], parts, owners) if exported else None


def _find_needed(texts: list[str], owners: dict[str, int]) -> set[int]:
    """Return the parts that the last one and the head, `texts[0]`, use, directly or not."""

    def used_by(text: str) -> Iterator[int]:
        return (owners[name] for name in set(_USE.findall(text)) if name in owners)

    needed, waiting = set[int](), [len(texts) - 2, *used_by(texts[0])]
    while waiting:
        number = waiting.pop()
        if number not in needed:
            needed.add(number)
            waiting += used_by(texts[number + 1])
    return needed
