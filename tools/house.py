"""Say how the house stands: sizes, options, rooms, and the arrows between them.

    python tools/house.py           prints all, and fails if an arrow points back or something private is used

`tests/system/test_rooms.py` tests the same; docs/design.md has the rooms and the reasons for their order.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

CHECKOUT = Path(__file__).resolve().parents[1]
PACKAGE = CHECKOUT / "python" / "haloscope"
SOURCES = CHECKOUT / "src"
# Each may use those before it; "" is the front, `import haloscope`.
PYTHON_ROOMS = ("base", "watch", "explain", "predict", "hide", "reproduce", "", "cli")
SOURCE_ROOMS = ("interpose", "watch", "explain", "predict", "hide", "fem")
_SUFFIXES = {".cpp", ".hpp", ".h", ".c", ".py", ".f90"}
# Files of one name mean the same thing in every folder.
_SAME = {"__init__.py", "__main__.py", "main.cpp", "meanings.py"}

_FUNCTION = re.compile(r"^( *)[^\s#/}][^\n;]*\)[^\n;()]*\{\n(.*?)^\1\}", re.MULTILINE | re.DOTALL)

Arrows = Counter[tuple[str, str]]


def imported(text: str) -> Iterator[list[str]]:
    """Yield the words of each name that is imported: of `from a.b import c` a, b and c."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            yield from ([*str(node.module).split("."), alias.name] for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".") for alias in node.names)


def imports_of_rooms(text: str, mine: str | None) -> Iterator[tuple[str, str]]:
    """Yield the room and the whole name of what code in the room `mine` imports from others.

    `mine` is None for code outside of all rooms.
    """
    for words in imported(text):
        room = words[1] if words[1:2] and words[1] in PYTHON_ROOMS else ""
        if words[0] == "haloscope" and room != mine:
            yield room, ".".join(words)


def is_private(name: str) -> bool:
    """Return whether a word of a name is private, such as `_page` in `haloscope.explain._page`."""
    return any(word.startswith("_") and not word.endswith("__") for word in name.split("."))


def is_back(order: Sequence[str], mine: str, room: str) -> bool:
    """Return whether an arrow from one room to another points back."""
    return order.index(room) > order.index(mine)


def faults(text: str, mine: str | None) -> list[str]:
    """Return what code in the room `mine`, or outside of all, must not import."""
    return [
        name
        for room, name in imports_of_rooms(text, mine)
        if is_private(name) or (mine is not None and is_back(PYTHON_ROOMS, mine, room))
    ]


def room_of(file: Path) -> str:
    """Return the room of a file of the package."""
    return file.relative_to(PACKAGE).parts[0] if file.parent != PACKAGE else ""


def python_arrows() -> tuple[Arrows, list[str]]:
    """Return how often a room imports from another one, and all private names among that."""
    arrows, private = Arrows(), []
    for file in PACKAGE.rglob("*.py"):
        mine = room_of(file)
        for room, name in imports_of_rooms(file.read_text("utf-8"), mine):
            arrows[mine, room] += 1
            private += [f"{file.relative_to(CHECKOUT)}: {name}"] if is_private(name) else []
    return arrows, private


def includes(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield each file of a tree, with a name that it includes in quotation marks."""
    for file in sorted(root.rglob("*")):
        if file.suffix in {".c", ".cpp", ".h", ".hpp"}:
            for name in re.findall(r'^#\s*include "([^"]+)"', file.read_text("utf-8"), re.MULTILINE):
                yield file, name


def include_arrows() -> Arrows:
    """Return how often a room of `src` includes a header of another one."""
    arrows = Arrows()
    for file, name in includes(SOURCES):
        mine, room = file.relative_to(SOURCES).parts[0], name.partition("/")[0]
        if room in SOURCE_ROOMS and room != mine:
            arrows[mine, room] += 1
    return arrows


def circles(arrows: Arrows) -> list[str]:
    """Return the rooms that lead back to themselves, by whatever way."""
    reached = {room: {there for here, there in arrows if here == room} for pair in arrows for room in pair}
    for _ in reached:
        for room, found in reached.items():
            reached[room] = found.union(*(reached[next_room] for next_room in found))
    return sorted(room for room, found in reached.items() if room in found)


def _tracked(*patterns: str) -> list[Path]:
    words = ["git", "-C", str(CHECKOUT), "ls-files", *patterns]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    return [path for line in listed if (path := CHECKOUT / line).is_file()]


def _functions(file: Path) -> Iterator[int]:
    """Yield the lines of each function; in C++ by the layout that the formatter gives them."""
    text = file.read_text("utf-8")
    if file.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                yield (node.end_lineno or 0) - node.lineno + 1
    elif file.suffix in {".cpp", ".hpp"}:
        for found in _FUNCTION.finditer(text):
            if not re.match(r"\s*(if|for|while|switch|namespace|else|do|\})\b", found[0]):
                yield found[0].count("\n") + 1


def _print_sizes() -> None:
    files = [file for file in _tracked("src", "include", "python", "apps") if file.suffix in _SUFFIXES]
    lines = [file.read_text("utf-8").count("\n") for file in files]
    modules = sum(file.suffix == ".py" and file.is_relative_to(PACKAGE) for file in files)
    functions = [length for file in files for length in _functions(file)]
    print(f"{len(files)} source files, {sum(lines)} lines, {modules} Python modules")
    print(
        f"lines, median: {median(lines):.0f} a file, {median(functions):.0f} a function; {max(lines)} at most"
    )
    # A verb's file in the command line is called as the room's file that does its work.
    named = [file.name for file in files if file.name not in _SAME and file.parent.name != "cli"]
    names = Counter(named)
    twice = sorted(name for name, count in names.items() if count > 1)
    print(f"{len(twice)} names in more than one folder: {' '.join(twice)}")


def _print_options() -> None:
    from reference import options_of, verbs

    counts = {words: len(options_of(command)) for words, command in verbs()}
    told = ", ".join(f"{words} {count}" for words, count in counts.items())
    print(f"{sum(counts.values())} options: {told}")


def _arrow(mine: str, room: str) -> str:
    return f"{mine or 'front'} > {room or 'front'}"


def main() -> int:
    """Print all. Return 1 if an arrow points back, rooms need each other, or something private is used."""
    _print_sizes()
    _print_options()
    bad = 0
    python, private = python_arrows()
    for title, arrows, order in (("python", python, PYTHON_ROOMS), ("src", include_arrows(), SOURCE_ROOMS)):
        back = [_arrow(*pair) for pair in arrows if is_back(order, *pair)]
        within = circles(arrows)
        told = ", ".join(f"{_arrow(*pair)} {count}" for pair, count in sorted(arrows.items()))
        print(f"{title}: {told}\n  arrows back: {back or 'none'}; circles: {within or 'none'}")
        bad += len(back) + len(within)
    print(f"private names of other rooms: {private or 'none'}")
    return 1 if bad + len(private) else 0


if __name__ == "__main__":
    sys.exit(main())
