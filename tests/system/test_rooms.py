"""Rooms: arrows lead one way, and nothing private is taken from another room."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from support.mpi import CHECKOUT

PACKAGE = CHECKOUT / "python" / "haloscope"
# Each may use those before it; "" is the front, `import haloscope`. docs/design.md has the picture.
ROOMS = ("base", "watch", "explain", "", "predict", "hide", "reproduce", "cli")
OUTSIDE = ("benchmarks", "studies", "tools")
PACKAGES = [path.parent for path in sorted(PACKAGE.rglob("__init__.py"))]


def imported(text: str) -> Iterator[list[str]]:
    """Yield the words of each name that is imported: of `from a.b import c` a, b and c."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, "say the whole name of a module, not a relative one"
            yield from ([*str(node.module).split("."), alias.name] for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".") for alias in node.names)


def faults(text: str, mine: str | None) -> list[str]:
    """Return what code in the room `mine`, or outside of all, must not import."""
    found = []
    for words in imported(text):
        room = words[1] if words[1:2] and words[1] in ROOMS else ""
        if words[0] != "haloscope" or room == mine:
            continue
        private = any(word.startswith("_") and not word.endswith("__") for word in words)
        back = mine is not None and mine != "" and ROOMS.index(room) > ROOMS.index(mine)
        found += [".".join(words)] if private or back else []
    return found


def room_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0] if file.parent != PACKAGE else ""


def test_imports_follow_the_arrows() -> None:
    rooms = {file: room_of(file) for file in PACKAGE.rglob("*.py")}
    assert set(rooms.values()) <= set(ROOMS)
    found = {file: faults(file.read_text("utf-8"), room) for file, room in rooms.items()}
    assert {str(file): names for file, names in found.items() if names} == {}


@pytest.mark.parametrize("folder", OUTSIDE)
def test_outside_nothing_private_is_used(folder: str) -> None:
    found = {file: faults(file.read_text("utf-8"), None) for file in (CHECKOUT / folder).rglob("*.py")}
    assert {str(file): names for file, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("line", "room", "faulty"),
    [
        ("from haloscope.hide import build_heap", "watch", True),
        ("from haloscope import hide", "predict", True),
        ("def late():\n    import haloscope.cli", "hide", True),
        ("import haloscope", "watch", True),
        ("from haloscope.explain._page import page", "predict", True),
        ("from haloscope.watch import _live", None, True),
        ("from haloscope.explain import page", "predict", False),
        ("from haloscope.predict.schedule._trees import depth", "predict", False),
        ("from haloscope import __version__", None, False),
        ("from numpy import _core", "base", False),
    ],
)
def test_what_leads_back_or_inside_is_seen(line: str, room: str | None, faulty: bool) -> None:
    assert bool(faults(line, room)) == faulty


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda path: path.name)
def test_every_public_name_is_there(folder: Path) -> None:
    module = import_module(".".join(folder.relative_to(PACKAGE.parent).parts))
    names = getattr(module, "__all__", [])
    assert [name for name in names if getattr(module, name, None) is None] == []
    assert set(names) - {"__version__"} <= set(dir(module))
