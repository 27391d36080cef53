"""A fixture for pytest: profile a program and check it against rules in a file next to the test.

    pytest_plugins = ["haloscope.explain.checking.pytest_helper"]

    def test_messages(haloscope_check):
        haloscope_check(["mpiexec", "-n", "4", "./app"], "rules.toml")

`pytest --haloscope-write-rules=3` runs each program three times and writes the rules instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path

import pytest

from haloscope.explain.checking import Checked, check, learn_rules, make_repeater

Check = Callable[[Sequence[str], "str | PathLike[str]"], "Checked | None"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that learns rules."""
    parser.addoption(
        "--haloscope-write-rules",
        type=int,
        metavar="N",
        help="Learn the rules of haloscope_check from N runs of each program, instead of checking them.",
    )


@pytest.fixture
def haloscope_check(request: pytest.FixtureRequest, tmp_path: Path) -> Check:
    """`haloscope_check(command, rules)` profiles a command, and fails the test if a rule fails.

    `rules` is a path relative to the test file. Slow times are measured again. It returns the verdicts,
    or None if it wrote rules, and raises the errors of `haloscope.check`.
    """
    learn: int | None = request.config.getoption("--haloscope-write-rules")

    def run_and_check(command: Sequence[str], rules: str | PathLike[str]) -> Checked | None:
        again = make_repeater(command)
        path = Path(request.path).parent / rules
        if learn:
            profiles = [tmp_path / f"rules-{number}.halo" for number in range(learn)]
            for profile in profiles:
                again(profile)
            learn_rules(profiles, path)
            return None
        profile = tmp_path / "checked.halo"
        again(profile)
        found = check(profile, path, again=again)
        found.raise_for_failures()
        return found

    return run_and_check
