"""The work of `haloscope check`: apply rules to a run, and measure slow times again."""

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
from haloscope.base.units import count_text, noun_text
from haloscope.explain.checking.rules import CheckRules, read_rules
from haloscope.explain.checking.verdicts import (
    CheckVerdict,
    find_slow_times,
    judge_counts,
    judge_times,
    verdict_frame,
)
from haloscope.explain.comparing import ComparedRun, read_run
from haloscope.watch import run

File = str | PathLike[str]


# Runs the program once more and writes the profile to the given path.
Again = Callable[[Path], None]
_MOST_SAID = 50  # verdicts


@dataclass(frozen=True)
class Checked:
    """The verdicts of all rules on a run.

    `again` is the number of runs that were measured again (0: none).
    """

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
        """The rules with times that look slow and were not measured again."""
        return [verdict for verdict in self.verdicts if verdict.status == "suspect"]

    @property
    def exit_status(self) -> int:
        """0, or 3 if a rule failed."""
        return 3 if self.failures else 0

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row per rule: `region`, `rule`, `status`, `expected`, `found`, `sentence`."""
        return verdict_frame(self.verdicts)

    def describe(self) -> list[str]:
        """Return the report as lines: failures, suspects, passed times, remarks, and the verdict."""
        failed = [f"failed: {verdict.text}" for verdict in self.failures]
        more = len(failed) - _MOST_SAID
        lines = [*failed[:_MOST_SAID], *([f"… and {more} more"] if more > 0 else [])]
        lines += [f"suspect: {verdict.text}" for verdict in self.suspects]
        lines += [f"passed: {v.text}" for v in self.verdicts if v.status == "passed" and v.text]
        return [*lines, *(f"note: {remark}" for remark in self.remarks), self.headline()]

    def headline(self) -> str:
        """Return the verdict in one line."""
        name = printable(str(self.run.path))
        rules = noun_text(len(self.verdicts), "rule")
        if self.failures:
            return f"{name}: {count_text(len(self.failures))} of {rules} failed"
        if self.suspects:
            return f"{name}: {rules}, none failed, {len(self.suspects)} suspect"
        return f"{name}: {rules} passed"

    def raise_for_failures(self) -> None:
        """Raise `AssertionError` with the failures, for tests, if there are any."""
        if self.failures:
            raise AssertionError("\n".join(self.describe()))


def check(profile: File, rules: File | CheckRules, *, again: Again | Sequence[str] | None = None) -> Checked:
    """Check a profile against rules: counts exactly, times with a tolerance for noise.

    Args:
        profile: The profile to check.
        rules: The rules, or the path of their file.
        again: A launch command (list of words) that is run several times if a time looks slow, or a function
            that runs the program once and writes the profile to the given path. Without it no time fails.

    Returns:
        The verdicts of all rules.

    Raises:
        UsageError: The rules cannot be read.
        ProfileError: The profile cannot be read, has missing ranks, or differs from the rules in the program
            or the number of ranks.
        LaunchError: `again` fails.

    Examples:
        >>> haloscope.check("app.halo", "rules.toml", again=["mpiexec", "-n", "8", "./app"]).exit_status
        0
    """
    known = rules if isinstance(rules, CheckRules) else read_rules(Path(rules))
    run = read_run(profile)
    _check_program(known, run)
    repeated: list[ComparedRun] = []
    if again is not None and find_slow_times(known, run):
        repeated = _repeat_run(known, run, make_repeater(again) if isinstance(again, Sequence) else again)
    verdicts = [*judge_counts(known, run), *judge_times(known, run, repeated)]
    return Checked(run, known, verdicts, len(repeated), _list_remarks(known, run))


def _check_program(rules: CheckRules, run: ComparedRun) -> None:
    if run.program != rules.program:
        raise ProfileError(f"{run.path}: is of {run.program}, but the rules are for {rules.program}")
    if run.ranks != rules.ranks:
        raise ProfileError(
            f"{run.path}: has {noun_text(run.ranks, 'rank')}, but the rules are for {rules.ranks}"
        )


def _repeat_run(rules: CheckRules, run: ComparedRun, again: Again) -> list[ComparedRun]:
    runs = []
    with tempfile.TemporaryDirectory(prefix="haloscope-check-") as directory:
        for number in range(rules.again):
            path = Path(directory) / f"again-{number + 1}.halo"
            again(path)
            runs.append(read_run(path))
    for other in runs:
        if (other.program, other.ranks) != (run.program, run.ranks):
            raise UsageError(
                f"--again ran {other.program} on {noun_text(other.ranks, 'rank')}, but the profile is of"
                f" {run.program} on {run.ranks}; give the same command"
            )
    return runs


def make_repeater(command: Sequence[str]) -> Again:
    """Return a function that profiles `command` once. It raises `LaunchError` if the command fails."""
    words = list(command)
    if not words:
        raise UsageError("--again: the command is empty; give the command that wrote the profile")

    def again(path: Path) -> None:

        outcome = run(words, output=path, quiet=True)
        command_text = shlex.join(words)
        if outcome.exit_status:
            raise LaunchError(
                f"--again: {command_text} ended with status {outcome.exit_status}; nothing was checked"
            )
        if not path.exists():
            raise LaunchError(f"--again: {command_text} wrote no profile{_reason_text(outcome.remarks)}")

    return again


def _reason_text(remarks: Sequence[str]) -> str:
    return f": {remarks[0]}" if remarks else "; is it an MPI program?"


def _list_remarks(rules: CheckRules, run: ComparedRun) -> list[str]:
    lines = []
    library, own = rules.learned.mpi_library, str(run.info.get("mpi_library") or "")
    if library and own and library != own:
        lines.append(f"the rules were learned with {printable(library)}, but this run used {printable(own)}")
    hosts = list(run.info["hosts"] or ())
    has_times = any(rule.time or rule.own_time for rule in rules.regions.values())
    if has_times and rules.learned.hosts and set(hosts) != set(rules.learned.hosts):
        where = printable(", ".join(hosts[:3]))
        lines.append(
            f"the times were learned on different hosts than {where}: times may differ for that reason"
        )
    return lines
