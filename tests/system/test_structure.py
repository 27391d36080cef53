"""The rules of the code's structure find what breaks them; `make lint` applies them to the code itself."""

from __future__ import annotations

from pathlib import Path

import pytest

import structure


@pytest.mark.parametrize(
    ("code", "package", "found"),
    [
        ("from haloscope.profile.store.tree import Scope", "explain", True),
        ("from haloscope.profile.store.tree import Scope", None, True),
        ("from haloscope.profile import facade", "explain", True),
        ("from haloscope.profile.store.tree import Scope", "profile", False),
        ("from haloscope.profile.store import Scope", "explain", False),
        ("from haloscope import explain", None, False),
        ("from haloscope.base.errors import UsageError", "watch", False),
    ],
)
def test_imports_below_a_front(code: str, package: str | None, found: bool) -> None:
    (each,) = structure.imports_in(code, Path("planted.py"))
    assert structure.is_deep(each, package) == found


def test_hidden_imports_are_recognised() -> None:
    code = (
        "from haloscope import explain\n"
        "if TYPE_CHECKING:\n    from haloscope import watch\n"
        "def one():\n    import haloscope.hide\n"
    )
    found = structure.imports_in(code, Path("planted.py"))
    assert [each.is_hidden for each in found] == [False, True, True]


def test_the_order_has_a_direction() -> None:
    assert structure.is_against(structure.PYTHON_ORDER, "profile", "explain")
    assert not structure.is_against(structure.PYTHON_ORDER, "explain", "profile")


def test_circles_and_layers() -> None:
    assert structure.circles([("a", "b"), ("b", "c")]) == []
    assert sorted(structure.circles([("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")])) == ["b", "c"]
    assert structure.layers([("a", "b"), ("b", "c"), ("a", "c")]) == 3
    assert structure.folder_arrows("x", [("x.a.m", "x.b"), ("x.a.m", "x.a.n"), ("y", "x.a")]) == {("a", "b")}


def test_names_of_fronts_lead_to_their_definitions() -> None:
    assert structure.home("haloscope", "open") == "haloscope.profile.facade"
    assert structure.home("haloscope.explain", "Profile") == "haloscope.profile.facade"
