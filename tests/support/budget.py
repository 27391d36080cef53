"""Processor time of each test file: recorded with each test, printed at the end of a run."""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Generator

import pytest

SUITE = 1300  # processor seconds of `make test`: 12 minutes on two cores, with what waits
FILE = 15  # of one file
_BEGUN = pytest.StashKey[float]()


def _processor() -> float:
    """Return the seconds that this process and the children that it has waited for have used."""
    used = [resource.getrusage(group) for group in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Start the clock of a test: its fixtures count."""
    item.stash[_BEGUN] = _processor()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Store the time in the last report of a test, which goes into the log."""
    report = yield
    if call.when == "teardown" and _BEGUN in item.stash:
        report.user_properties.append(("processor", _processor() - item.stash[_BEGUN]))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the sum, and the files above their budget."""
    files: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "teardown":
                seconds = dict(report.user_properties).get("processor", 0.0)
                files[report.nodeid.partition("::")[0]] += seconds
    terminalreporter.write_line(f"processor: {files.total():.0f} s of {SUITE} s")
    for name, seconds in files.most_common():
        if seconds > FILE:
            terminalreporter.write_line(f"  {seconds:5.0f} s of {FILE} s  {name}")
