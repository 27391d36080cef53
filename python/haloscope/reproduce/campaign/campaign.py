"""A campaign on the disk: its specification, where it keeps what, and how far each run is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any, Literal

import polars as pl

from haloscope.reproduce.campaign.attempts import PROFILE
from haloscope.reproduce.campaign.expressions import text_of
from haloscope.reproduce.campaign.journal import attempts_of
from haloscope.reproduce.campaign.loading import load_specification
from haloscope.reproduce.campaign.points import Point, order_points, points
from haloscope.reproduce.campaign.specification import Specification

State = Literal["waiting", "running", "done", "failed", "impossible"]
# A run whose node is lost again and again is not the node's fault.
_MOST_LOST = 5


@dataclass(frozen=True)
class Campaign:
    """A specification, and the directory in which its runs are kept."""

    file: Path
    directory: Path
    specification: Specification

    @classmethod
    def opened(cls, file: Path, directory: Path | None = None) -> Campaign:
        """Return the campaign of a file; its runs are in a directory of its name, here by default.

        Raises `UsageError` for what is wrong in the file.
        """
        specification = load_specification(file)
        place = directory if directory is not None else Path(specification.campaign)
        return cls(file.absolute(), place.absolute(), specification)

    @cached_property
    def points(self) -> list[Point]:
        """All runs that are specified, in the order in which they run."""
        return order_points(points(self.specification, self.file.parent), self.specification)

    def attempts(self) -> dict[str, list[dict[str, Any]]]:
        """Return what the journal says now, for each run by its name."""
        return attempts_of(self.directory)

    def place(self, run: str, attempt: int) -> Path:
        """Return the directory of an attempt."""
        return self.directory / "runs" / run / str(attempt)

    def state(self, point: Point, attempts: Mapping[str, Sequence[Mapping[str, Any]]]) -> State:
        """Return how far a run is."""
        mine = attempts.get(point.name, ())
        outcomes = Counter(attempt.get("outcome") for attempt in mine)
        if outcomes["done"]:
            return "done"
        if outcomes["failed"] > self.specification.retries or outcomes["lost"] >= _MOST_LOST:
            return "failed"
        if point.impossible is not None:
            return "impossible"
        return "running" if mine and "outcome" not in mine[-1] else "waiting"

    def left(self) -> int:
        """Return how many runs are waiting or running."""
        attempts = self.attempts()
        return sum(self.state(point, attempts) in {"waiting", "running"} for point in self.points)

    def expected(self, attempts: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, tuple[float, str]]:
        """Return for each configuration the seconds of a run, and where they are from.

        From runs that ended, else what the program's `seconds` say, else its limit.
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
        """Return what a run of so long costs: whole nodes of a batch system, else a core a rank."""
        system = self.specification.systems[point.system]
        cores = (
            min(point.ranks * point.cores, system.cores)
            if system.executor == "local"
            else point.nodes * system.cores
        )
        return cores * seconds / 3600

    def table(self) -> pl.DataFrame:
        """Return a row for each run, in the order in which they run, with how far it is and what it gave.

        `seconds` is what it took, or will take by `seconds_from`: measured, specified, or limit.
        """
        attempts, rows = self.attempts(), []
        expected = self.expected(attempts)
        figures = sorted(
            {name for program in self.specification.programs.values() for name in program.figures}
        )
        for point in self.points:
            state = self.state(point, attempts)
            mine = attempts.get(point.name, [])
            last = mine[-1] if mine else {}
            seconds, source = expected[point.configuration]
            if state == "done":
                last = next(attempt for attempt in reversed(mine) if attempt.get("outcome") == "done")
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
                    "attempts": len(mine),
                    "reason": point.impossible if state == "impossible" else last.get("reason"),
                    "seconds": seconds,
                    "seconds_from": source,
                    "core_hours": self.core_hours(point, seconds),
                    "problem": point.problem,
                    "configuration": point.configuration,
                    "parameters": ", ".join(
                        f"{name}={text_of(value)}" for name, value in point.parameters.items()
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
        """Return what is odd about the specification: scaling that is none, above all."""
        found = []
        for name, experiment in self.specification.experiments.items():
            mine = [point for point in self.points if point.experiment == name and point.problem is not None]
            if experiment.scaling == "weak" and not mine:
                found.append(f"{name}: whether it is weak scaling is not known; give the program a problem")
            each = {point.ranks: (point.problem or 0.0) / point.ranks for point in mine}
            whole = {point.ranks: point.problem or 0.0 for point in mine}
            if experiment.scaling == "weak" and _spread(each) > 1.01:
                found.append(f"{name}: is no weak scaling: the problem a rank grows {_from_to(each)}")
            if experiment.scaling == "strong" and _spread(whole) > 1.01:
                found.append(f"{name}: is no strong scaling: the whole problem changes {_from_to(whole)}")
        return found


def _spread(values: Mapping[int, float]) -> float:
    least = min(values.values(), default=1.0)
    return max(values.values(), default=1.0) / least if least > 0 else 1.0


def _from_to(values: Mapping[int, float]) -> str:
    first, last = min(values), max(values)
    ratio = values[last] / values[first] if values[first] else 0.0
    return f"from {values[first]:g} on {first} ranks to {values[last]:g} on {last}, {ratio:.3g} times"
