"""What a machine lacks is a failure in CI: there is one way to skip a test, and it says so."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.missing import impossible, missing
from support.mpi import CHECKOUT

pytestmark = pytest.mark.usefixtures("parser")

TESTS = CHECKOUT / "tests"
HELPER = TESTS / "support" / "missing.py"
SKIPPING = {
    "skip",
    "skipif",
    "skipIf",
    "skipUnless",
    "skipTest",
    "SkipTest",
    "importorskip",
    "xfail",
    "collect_ignore",
    "collect_ignore_glob",
}


def other_ways(source: str) -> Iterator[int]:
    """The lines in which a test is skipped, or ends early as if it had passed."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute | ast.Name | ast.alias) and named(node) in SKIPPING:
            yield node.lineno
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield from early_ends(node)


def named(node: ast.Attribute | ast.Name | ast.alias) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else node.name.rpartition(".")[2]


def early_ends(test: ast.FunctionDef) -> Iterator[int]:
    for node in ast.walk(test):
        if isinstance(node, ast.Return) and node.value is None:
            yield node.lineno


def test_no_test_skips_by_other_means() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{line}"
        for path in sorted(TESTS.rglob("*.py"))
        if path != HELPER
        for line in other_ways(path.read_text())
    ]
    assert found == [], "use support.missing"


@pytest.mark.parametrize(
    "source",
    [
        "pytest.skip('no browser')",
        "from pytest import skip",
        "pytest.importorskip('scipy')",
        "@pytest.mark.skipif(not which('cc'), reason='')\ndef test_x(): pass",
        "def test_x():\n  if not which('cc'):\n    return",
        "collect_ignore = ['test_x.py']",
        "@unittest.skipIf(True, '')\ndef test_x(): pass",
        "pytestmark = pytest.mark.xfail",
    ],
)
def test_other_means_are_found(source: str) -> None:
    assert list(other_ways(source))


@pytest.mark.parametrize(("ci", "outcome"), [("true", "Failed"), ("", "Skipped")])
def test_what_is_missing_fails_in_ci_alone(monkeypatch: pytest.MonkeyPatch, ci: str, outcome: str) -> None:
    monkeypatch.setenv("CI", ci)
    with pytest.raises(BaseException, match="no browser") as raised:
        missing("no browser")
    assert raised.type.__name__ == outcome
    with pytest.raises(BaseException, match="cannot spawn") as raised:
        impossible("cannot spawn")
    assert raised.type.__name__ == "Skipped"


def test_what_is_impossible_is_so_for_a_reason_of_its_own() -> None:
    """Each call says why in place: a sentence, not what a program happened to say."""
    calls = [
        (path.name, node)
        for path in sorted(TESTS.rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "impossible"
    ]
    assert calls
    for name, call in calls:
        assert isinstance(call.args[0], ast.Constant | ast.JoinedStr), name


def test_every_file_of_tests_is_collected() -> None:
    """A test in a file of another name would not run, and nobody would miss it."""
    elsewhere = [
        str(path.relative_to(TESTS))
        for path in sorted(TESTS.rglob("*.py"))
        if not path.name.startswith("test_") and has_tests(path)
    ]
    assert elsewhere == []


def has_tests(path: Path) -> bool:
    body = ast.parse(path.read_text()).body
    return any(isinstance(node, ast.FunctionDef) and node.name[:5] == "test_" for node in body)
