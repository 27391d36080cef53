"""Measures the points of a grid, launch by launch, into a journal."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from scipy.stats import norm

from haloscope.base.errors import LaunchError
from haloscope.predict.bench._grid import Unit
from haloscope.predict.bench._mpi_library import Library
from haloscope.predict.bench._stream import Stopped, stream
from haloscope.predict.bench._sweep import Journal

__all__ = ["Method", "launch_environment", "measure"]

# After so many failures in a row the other sizes of an algorithm are not tried.
_PATIENCE = 2


@dataclass(frozen=True)
class Method:
    """How a point is measured; what is not OSU's own is explained in docs/reference/bench.md."""

    synchronisation: str = "barrier"
    warmup: int = 100
    iterations: int = 1000
    type: str = "char"
    validate: int | None = None  # calls before each timed one, where data are checked
    confidence: float = 0.95
    precision: float | None = None
    order: str = "random"
    seed: int = 0
    time_limit: float = 60.0

    def words(self) -> dict[str, Any]:
        """As a sweep's first line has it."""
        return asdict(self)

    def options(self) -> list[str]:
        """As the measuring program takes it."""
        given = {
            "synchronisation": self.synchronisation,
            "warmup": self.warmup,
            "iterations": self.iterations,
            "type": self.type,
            "validate": -1 if self.validate is None else self.validate,
            "precision": self.precision or 0,
            "deviations": float(norm.ppf(0.5 + self.confidence / 2)),
        }
        return [word for name, value in given.items() for word in (f"--{name}", str(value))]


def measure(
    units: Sequence[Unit],
    library: Library,
    method: Method,
    kept: Journal,
    step: Callable[[str], None] = lambda what: None,
) -> None:
    """Measure what the journal does not have yet; failures are points too, and the rest goes on."""
    executable = library.program("collective")
    for unit in units:
        left = tuple(size for size in unit.sizes if not kept.has(unit.point(size)))
        for _ in range(len(unit.sizes) - len(left)):
            step("")
        failures = 0
        while left:
            done, stopped = _launched(replace(unit, sizes=left), library, executable, method, kept, step)
            failures = failures + 1 if stopped and not done else int(stopped)
            left = left[done + stopped :]
            if failures >= _PATIENCE and left:
                _give_up(unit, left, kept, step)
                left = ()


def _launched(
    unit: Unit, library: Library, executable: Path, method: Method, kept: Journal, step: Callable[[str], None]
) -> tuple[int, int]:
    """One launch: how many points it brought to an end, and 1 if the one after them failed."""
    settings = dict(unit.algorithm.settings)
    command = library.launch(
        [
            str(executable),
            "--collective",
            unit.collective,
            "--sizes",
            ",".join(map(str, unit.sizes)),
            *method.options(),
        ],
        unit.ranks,
        settings,
        unit.mapping,
    )
    start: Mapping[str, Any] = {}
    done = 0
    try:
        environment = launch_environment(unit.ranks, settings)
        records = stream(command, environment, method.time_limit)
        with contextlib.closing(records):
            for record in records:
                if record["record"] == "start":
                    start = record
                    _check_ranks(start, unit, command)
                elif record["record"] == "begin":
                    step(_said(unit, record["bytes"]))
                elif record["record"] == "point":
                    kept.add(_point(unit, record, start))
                    done += 1
    except Stopped as stopped:
        if done == len(unit.sizes):  # the program fell in MPI_Finalize: it is all there
            return done, 0
        failed = {"bytes": unit.sizes[done], "status": stopped.status, "reason": stopped.reason}
        kept.add(_point(unit, failed, start))
        return done, 1
    if done < len(unit.sizes):
        failed = {"bytes": unit.sizes[done], "status": "failed", "reason": "it ended too early"}
        kept.add(_point(unit, failed, start))
        return done, 1
    return done, 0


def _check_ranks(start: Mapping[str, Any], unit: Unit, command: Sequence[str]) -> None:
    if start["ranks"] != unit.ranks:
        raise LaunchError(
            f"{command[0]} started {unit.ranks} processes, but each sees {start['ranks']}: it "
            "belongs to another MPI than mpicc; load one MPI only, or name its launcher with "
            "--mpiexec"
        )


def _point(unit: Unit, record: Mapping[str, Any], start: Mapping[str, Any]) -> dict[str, Any]:
    samples = record.get("samples_ns") or []
    return {
        "record": "point",
        **unit.point(record["bytes"]),
        "nodes": start.get("nodes"),
        "binding": start.get("binding"),
        "iterations": len(samples[0]) if samples else 0,
        "status": record["status"],
        "reason": record.get("reason") or None,
        "invalid": record.get("invalid", 0),
        "window_ns": record.get("window_ns", 0),
        "clock_error_ns": record.get("clock_error_ns", 0),
        "samples_ns": samples,
    }


def _give_up(unit: Unit, left: Sequence[int], kept: Journal, step: Callable[[str], None]) -> None:
    last = list(kept.points.values())[-1]
    for size in left:
        step(_said(unit, size))
        reason = f"not tried after {_PATIENCE} failures in a row: {last['reason']}"
        kept.add(_point(unit, {"bytes": size, "status": last["status"], "reason": reason}, {}))


def _said(unit: Unit, size: int) -> str:
    return f"{unit.collective} {unit.algorithm.name}, {unit.ranks} ranks, {size} B"


def launch_environment(ranks: int, settings: Mapping[str, str]) -> dict[str, str]:
    """The user's environment, with what ranks on this one machine need."""
    own = {}
    if ranks > len(os.sched_getaffinity(0)):
        # Version 5's launcher reads PRTE_MCA_*, version 4's OMPI_MCA_*.
        own["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
        own["PRTE_MCA_rmaps_default_mapping_policy"] = ":oversubscribe"
    if os.geteuid() == 0:
        own["OMPI_ALLOW_RUN_AS_ROOT"] = own["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    return {**own, **os.environ, **settings}
