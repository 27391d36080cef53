"""Results that survive a report that cannot be made, and a run that does not come to its end.

`HALOSCOPE_TEST_RESULTS=FILE` has each outcome written as it comes, one JSON object a line: `seconds` of
the test, and those `before` it, in what it asks for: the first that needs a library waits for its build;
and `processor`, the seconds that both took of one, with those of all processes that were waited for.
"""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Generator
from pathlib import Path

import pytest

__all__ = ["pytest_runtest_logreport", "pytest_runtest_makereport", "pytest_runtest_setup"]

_BEFORE: dict[str, float] = {}  # of tests that are about to run
_BEGUN: dict[str, float] = {}  # what the processor had done when they were prepared


def _processor() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note what the processor had done before a test."""
    _BEGUN[item.nodeid] = _processor()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What goes wrong in showing a failure must not end the run and lose all other results.

    CPython's parser, with which pytest finds the lines to show, fails now and then under load.
    """
    try:
        report = yield
        if call.when == "call" and item.nodeid in _BEGUN:
            report.user_properties.append(("processor", _processor() - _BEGUN.pop(item.nodeid)))
        return report
    except Exception as error:
        assert call.when != "collect"
        failed = call.excinfo.exconly() if call.excinfo else "nothing failed"
        text = f"{failed}\n\nmore cannot be shown: {type(error).__name__}: {error}"
        return pytest.TestReport(item.nodeid, item.location, {}, "failed", text, call.when)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Append the outcome of a test, or what went wrong before or after it."""
    place = os.environ.get("HALOSCOPE_TEST_RESULTS")
    if not place or "PYTEST_XDIST_WORKER" in os.environ:
        return
    if report.when != "call" and report.outcome == "passed":
        _BEFORE.update({report.nodeid: report.duration} if report.when == "setup" else {})
        return
    result = {
        "test": report.nodeid,
        "outcome": report.outcome,
        "seconds": report.duration,
        "before": _BEFORE.pop(report.nodeid, 0.0),
        "processor": dict(report.user_properties).get("processor", 0.0),
    }
    Path(place).parent.mkdir(exist_ok=True)
    with Path(place).open("a", encoding="utf-8") as file:
        file.write(json.dumps(result) + "\n")
