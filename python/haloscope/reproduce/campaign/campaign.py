"""Campaigns: specification, directories, and the state of each run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any, Literal

import polars as pl

from haloscope.base.units import noun_text
from haloscope.reproduce.campaign.attempts import PROFILE
from haloscope.reproduce.campaign.expressions import format_value
from haloscope.reproduce.campaign.journal import read_attempts
from haloscope.reproduce.campaign.loading import load_specification
from haloscope.reproduce.campaign.points import Point, list_points, order_points
from haloscope.reproduce.campaign.specification import Specification

State = Literal["waiting", "running", "done", "failed", "impossible"]
# Number of lost attempts after which the run counts as failed, as it probably causes the losses.
_MOST_LOST = 5


@dataclass(frozen=True)
class Campaign:
    """A specification, and the directory of its runs."""

    file: Path
    directory: Path
    specification: Specification

    @classmethod
    def opened(cls, file: Path, directory: Path | None = None) -> Campaign:
        """Return the campaign of a file.

        Args:
            file: The specification.
            directory: Directory of the runs; None: the name of the campaign, in the current directory.

        Raises:
            UsageError: The specification is invalid.
        """
        specification = load_specification(file)
        place = directory if directory is not None else Path(specification.campaign)
        return cls(file.absolute(), place.absolute(), specification)

    @cached_property
    def points(self) -> list[Point]:
        """All runs that are specified, in the order in which they run."""
        return order_points(list_points(self.specification, self.file.parent), self.specification)

    def attempts(self) -> dict[str, list[dict[str, Any]]]:
        """Return the attempts in the journal by the name of the run."""
        return read_attempts(self.directory)

    def place(self, run: str, attempt: int) -> Path:
        """Return the directory of an attempt."""
        return self.directory / "runs" / run / str(attempt)

    def state(self, point: Point, attempts: Mapping[str, Sequence[Mapping[str, Any]]]) -> State:
        """Return the state of a run."""
        own = attempts.get(point.name, ())
        outcomes = Counter(attempt.get("outcome") for attempt in own)
        if outcomes["done"]:
            return "done"
        if outcomes["failed"] > self.specification.retries or outcomes["lost"] >= _MOST_LOST:
            return "failed"
        if point.impossible is not None:
            return "impossible"
        return "running" if own and "outcome" not in own[-1] else "waiting"

    def left(self) -> int:
        """Return the number of waiting and running runs."""
        attempts = self.attempts()
        return sum(self.state(point, attempts) in {"waiting", "running"} for point in self.points)

    def expected(self, attempts: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, tuple[float, str]]:
        """Return the duration of a run (s) and its source, by configuration.

        The source is `measured` (finished runs), `specified` (`seconds` of the program), or `limit`.
        """
        seen: dict[str, list[float]] = {}
        for point in self.points:
            ended = [a["seconds"] for a in attempts.get(point.name, ()) if a.get("outcome") == "done"]
            seen.setdefault(point.configuration, []).extend(ended)
        found = {}
        for point in self.points:
            seconds = seen[point.configuration]
            if seconds:
                found[point.configuration] = (float(median(seconds)), "measured")
            elif point.seconds is not None:
                found[point.configuration] = (point.seconds, "specified")
            else:
                found[point.configuration] = (self.specification.programs[point.program].limit, "limit")
        return found

    def core_hours(self, point: Point, seconds: float) -> float:
        """Return the core-hours of a run of this duration (s): whole nodes of a batch system, else its
        cores."""
        system = self.specification.systems[point.system]
        cores = (
            min(point.ranks * point.cores, system.cores)
            if system.executor == "local"
            else point.nodes * system.cores
        )
        return cores * seconds / 3600

    def table(self) -> pl.DataFrame:
        """Return one row per run in the order of execution, with its state and results.

        `seconds` is the duration, measured or estimated as `seconds_from` states: measured, specified, limit.
        """
        attempts, rows = self.attempts(), []
        expected = self.expected(attempts)
        figures = sorted(
            {name for program in self.specification.programs.values() for name in program.figures}
        )
        for point in self.points:
            state = self.state(point, attempts)
            own = attempts.get(point.name, [])
            last = own[-1] if own else {}
            seconds, source = expected[point.configuration]
            if state == "done":
                last = next(attempt for attempt in reversed(own) if attempt.get("outcome") == "done")
                seconds, source = float(last["seconds"]), "measured"
            profile = self.place(point.name, int(last["attempt"])) / PROFILE if state == "done" else None
            rows.append(
                {
                    "run": point.name,
                    "experiment": point.experiment,
                    "system": point.system,
                    "program": point.program,
                    "variant": point.variant,
                    "ranks": point.ranks,
                    "nodes": point.nodes,
                    "repetition": point.repetition,
                    "state": state,
                    "attempts": len(own),
                    "reason": point.impossible if state == "impossible" else last.get("reason"),
                    "seconds": seconds,
                    "seconds_from": source,
                    "core_hours": self.core_hours(point, seconds),
                    "problem": point.problem,
                    "configuration": point.configuration,
                    "parameters": ", ".join(
                        f"{name}={format_value(value)}" for name, value in point.parameters.items()
                    ),
                    "profile": str(profile)
                    if profile and self.specification.variants[point.variant].watch
                    else None,
                    **{name: last.get("figures", {}).get(name) for name in figures},
                }
            )
        kinds = dict.fromkeys(figures, pl.Float64) | {"reason": pl.String}
        kinds |= {"profile": pl.String, "problem": pl.Float64}
        return pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None)

    def notes(self) -> list[str]:
        """Return remarks about the specification, such as scaling that is neither weak nor strong."""
        found = []
        for name, experiment in self.specification.experiments.items():
            own = [point for point in self.points if point.experiment == name and point.problem is not None]
            if experiment.scaling == "weak" and not own:
                found.append(f"{name}: whether it is weak scaling is unknown; give the program a problem")
            each = {point.ranks: (point.problem or 0.0) / point.ranks for point in own}
            whole = {point.ranks: point.problem or 0.0 for point in own}
            if experiment.scaling == "weak" and _find_spread(each) > 1.01:
                found.append(f"{name}: not weak scaling: the problem per rank grows {_describe_change(each)}")
            if experiment.scaling == "strong" and _find_spread(whole) > 1.01:
                found.append(
                    f"{name}: not strong scaling: the whole problem changes {_describe_change(whole)}"
                )
        return found


def _find_spread(values: Mapping[int, float]) -> float:
    least = min(values.values(), default=1.0)
    return max(values.values(), default=1.0) / least if least > 0 else 1.0


def _describe_change(values: Mapping[int, float]) -> str:
    first, last = min(values), max(values)
    ratio = values[last] / values[first] if values[first] else 0.0
    start = f"from {values[first]:g} on {noun_text(first, 'rank')}"
    return f"{start} to {values[last]:g} on {last}, {ratio:.3g} times"
