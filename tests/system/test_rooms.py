"""Rooms: arrows lead one way, and nothing private is taken from another room."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import house
from house import PACKAGE, PYTHON_ROOMS, faults, room_of
from support.mpi import CHECKOUT

pytestmark = pytest.mark.usefixtures("parser")

OUTSIDE = ("benchmarks", "studies", "tools")
PACKAGES = [path.parent for path in sorted(PACKAGE.rglob("__init__.py"))]


def test_imports_follow_the_arrows() -> None:
    rooms = {file: room_of(file) for file in PACKAGE.rglob("*.py")}
    assert set(rooms.values()) <= set(PYTHON_ROOMS)
    found = {file: faults(file.read_text("utf-8"), room) for file, room in rooms.items()}
    assert {str(file): names for file, names in found.items() if names} == {}


def test_rooms_do_not_need_each_other() -> None:
    arrows, _ = house.python_arrows()
    assert house.circles(arrows) == house.circles(house.include_arrows()) == []
    ring = house.Arrows([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
    assert house.circles(ring) == ["a", "b", "c"]


def test_whole_names_are_imported() -> None:
    trees = {file: ast.parse(file.read_text("utf-8")) for file in PACKAGE.rglob("*.py")}
    relative = {
        str(file)
        for file, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level
    }
    assert relative == set()


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
