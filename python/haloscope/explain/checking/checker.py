"""A run and rules in, a verdict out; slow times are measured again: what `haloscope check` does."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

import polars as pl

from haloscope.base.errors import LaunchError, ProfileError, UsageError, printable
from haloscope.base.units import count_text
from haloscope.explain.checking.rules import CheckRules, read_rules
from haloscope.explain.checking.verdicts import (
    CheckVerdict,
    count_verdicts,
    slow_ones,
    time_verdicts,
    verdict_frame,
)
from haloscope.explain.comparing import ComparedRun, read_run
from haloscope.watch import run

File = str | PathLike[str]

# Runs the program once more and leaves the profile at the path that it gets.
Again = Callable[[Path], None]
_MOST_SAID = 50  # verdicts


@dataclass(frozen=True)
class Checked:
    """What all rules say of a run. `again` is how many runs were measured again, 0 if none had to be."""

    run: ComparedRun
    rules: CheckRules
    verdicts: Sequence[CheckVerdict]
    again: int
    remarks: Sequence[str]

    @property
    def failures(self) -> list[CheckVerdict]:
        """The rules that the run broke."""
        return [verdict for verdict in self.verdicts if verdict.status == "failed"]

    @property
    def suspects(self) -> list[CheckVerdict]:
        """Times that looked slow, and were not measured again."""
        return [verdict for verdict in self.verdicts if verdict.status == "suspect"]

    @property
    def exit_status(self) -> int:
        """0, or 3 if a rule failed."""
        return 3 if self.failures else 0

    @cached_property
    def frame(self) -> pl.DataFrame:
        """A row a rule: `region`, `rule`, `status`, `expected`, `found`, `sentence`."""
        return verdict_frame(self.verdicts)

    def describe(self) -> list[str]:
        """Return the sentences for people: failures, then suspects, remarks, and how many rules there are."""
        failed = [f"failed: {verdict.text}" for verdict in self.failures]
        more = len(failed) - _MOST_SAID
        lines = [*failed[:_MOST_SAID], *([f"… and {more} more"] if more > 0 else [])]
        lines += [f"suspect: {verdict.text}" for verdict in self.suspects]
        lines += [f"passed: {v.text}" for v in self.verdicts if v.status == "passed" and v.text]
        return [*lines, *(f"note: {remark}" for remark in self.remarks), self.headline()]

    def headline(self) -> str:
        """Return the verdict in one line."""
        name = printable(str(self.run.path))
        rules = f"{len(self.verdicts)} rule{'' if len(self.verdicts) == 1 else 's'}"
        if self.failures:
            return f"{name}: {count_text(len(self.failures))} of {rules} failed"
        if self.suspects:
            return f"{name}: {rules}, none failed, {len(self.suspects)} suspect"
        return f"{name}: {rules} passed"

    def raise_for_failures(self) -> None:
        """Raise `AssertionError` with the failures, for tests. Nothing happens if there are none."""
        if self.failures:
            raise AssertionError("\n".join(self.describe()))


def check(profile: File, rules: File | CheckRules, *, again: Again | Sequence[str] | None = None) -> Checked:
    """Check a profile against rules: counts exactly, times with what noise allows.

    `again` is a launch command, as a list of words, that is run several times if a time looks slow; or a
    function that does that once and leaves the profile at the path that it gets. Without it no time fails.

    Raises `UsageError` for rules that cannot be read, `ProfileError` for a profile that cannot be read, lacks
    ranks, or is of another program or number of ranks than the rules, `LaunchError` if `again` fails.

    >>> haloscope.check("app.halo", "rules.toml", again=["mpiexec", "-n", "8", "./app"]).exit_status
    0
    """
    known = rules if isinstance(rules, CheckRules) else read_rules(Path(rules))
    run = read_run(profile)
    _same_program(known, run)
    repeated: list[ComparedRun] = []
    if again is not None and slow_ones(known, run):
        repeated = _repeated(known, run, make_repeater(again) if isinstance(again, Sequence) else again)
    verdicts = [*count_verdicts(known, run), *time_verdicts(known, run, repeated)]
    return Checked(run, known, verdicts, len(repeated), _remarks(known, run))


def _same_program(rules: CheckRules, run: ComparedRun) -> None:
    if run.program != rules.program:
        raise ProfileError(f"{run.path}: is of {run.program}, and the rules are of {rules.program}")
    if run.ranks != rules.ranks:
        raise ProfileError(f"{run.path}: ran on {run.ranks} ranks, and the rules are of {rules.ranks}")


def _repeated(rules: CheckRules, run: ComparedRun, again: Again) -> list[ComparedRun]:
    runs = []
    with tempfile.TemporaryDirectory(prefix="haloscope-check-") as directory:
        for number in range(rules.again):
            path = Path(directory) / f"again-{number + 1}.halo"
            again(path)
            runs.append(read_run(path))
    for other in runs:
        if (other.program, other.ranks) != (run.program, run.ranks):
            raise UsageError(
                f"--again ran {other.program} on {other.ranks} ranks, and the profile is of {run.program} on "
                f"{run.ranks}; name the same command"
            )
    return runs


def make_repeater(command: Sequence[str]) -> Again:
    """Return what runs `command` once, watched. It raises `LaunchError` if the command fails."""
    words = list(command)
    if not words:
        raise UsageError("--again: the command is empty; give the one that made the profile")

    def again(path: Path) -> None:

        outcome = run(words, output=path, quiet=True)
        said = shlex.join(words)
        if outcome.exit_status:
            raise LaunchError(f"--again: {said} ended with status {outcome.exit_status}; nothing was checked")
        if not path.exists():
            raise LaunchError(f"--again: {said} left no profile{_why(outcome.remarks)}")

    return again


def _why(remarks: Sequence[str]) -> str:
    return f": {remarks[0]}" if remarks else "; is it an MPI program?"


def _remarks(rules: CheckRules, run: ComparedRun) -> list[str]:
    lines = []
    library, own = rules.learned.mpi_library, str(run.told.get("mpi_library") or "")
    if library and own and library != own:
        lines.append(f"the rules were learned with {printable(library)}, and this ran with {printable(own)}")
    hosts = list(run.told["hosts"] or ())
    has_times = any(rule.time or rule.own_time for rule in rules.regions.values())
    if has_times and rules.learned.hosts and set(hosts) != set(rules.learned.hosts):
        where = printable(", ".join(hosts[:3]))
        lines.append(f"times were learned on other hosts than {where}: a time may differ by that")
    return lines
