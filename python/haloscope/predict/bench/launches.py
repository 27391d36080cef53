"""Launches of the measuring program: one for all algorithms that a running program can be asked for."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from haloscope.base.errors import LaunchError
from haloscope.predict.bench.grid import LaunchPoints
from haloscope.predict.bench.method import CollectiveMethod
from haloscope.predict.bench.output_stream import MeasuringProcess, Stopped, stream
from haloscope.predict.bench.sweep import SweepJournal
from haloscope.predict.mpi_library import Asked, Library

# After so many failures in a row the other sizes of an algorithm are not tried.
_PATIENCE = 2
_Place = tuple[int, int, str | None, tuple[tuple[str, str], ...]]


def measure(
    units: Sequence[LaunchPoints],
    library: Library,
    method: CollectiveMethod,
    kept: SweepJournal,
    step: Callable[[str], None] = lambda what: None,
) -> None:
    """Measure what the journal does not have yet; failures are points too, and the rest goes on.

    Units that can share a launch follow on the first of them.
    """
    groups: dict[_Place | int, list[LaunchPoints]] = {}
    for number, unit in enumerate(units):
        asked = library.asked(unit.algorithm)
        groups.setdefault(number if asked is None else _place(unit, asked), []).append(unit)
    with Launches(library, method, kept, step) as launches:
        for group in groups.values():
            for unit in group:
                launches.measure(unit)


class Launches:
    """Measures unit after unit. A launch stays open for the next one, until that needs another."""

    def __init__(
        self,
        library: Library,
        method: CollectiveMethod,
        kept: SweepJournal,
        step: Callable[[str], None] = lambda what: None,
    ) -> None:
        self._library, self._method, self._kept, self._step = library, method, kept, step
        self._executable = library.program("collective")
        self._open: _Open | None = None
        self._shares = True

    def __enter__(self) -> Launches:  # noqa: PYI034
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._close(kind is None)

    def measure(self, unit: LaunchPoints) -> None:
        """Measure what the journal does not have of a unit.

        What fails in a launch that others shared may be their fault: it is measured again, alone.
        """
        left = tuple(size for size in unit.sizes if not self._kept.has(unit.point(size)))
        for _ in range(len(unit.sizes) - len(left)):
            self._step("")
        asked = self._library.asked(unit.algorithm) if self._shares else None
        if left and asked is not None:
            left = left[self._together(replace(unit, sizes=left), asked) :]
        if left:
            self._close(True)  # its ranks poll
        failures = 0
        while left:
            done, stopped = self._alone(replace(unit, sizes=left))
            failures = failures + 1 if stopped and not done else int(stopped)
            left = left[done + stopped :]
            if failures >= _PATIENCE and left:
                self._give_up(unit, left)
                left = ()

    def _together(self, unit: LaunchPoints, asked: Asked) -> int:
        """Ask the open launch, or a new one; return how many points came to an end."""
        done, running = 0, None
        try:
            running = self._opened(unit, asked)
            running.program.tell(" ".join([*self._words(unit), *asked.words]))
            while done < len(unit.sizes):
                record = next(running.records, None)
                if record is None:
                    raise Stopped("failed", "it ended too early")
                running.answers = True
                done += self._heard(unit, record, running.start)
        except Stopped:
            self._close(False)
            # One that never answered does not hear, or its library has not these variables.
            self._shares = running is not None and running.answers
        return done

    def _opened(self, unit: LaunchPoints, asked: Asked) -> _Open:
        place = _place(unit, asked)
        if self._open is not None and self._open.place == place:
            return self._open
        self._close(True)
        settings = dict(asked.settings)
        command = self._command(unit, self._method.options(), settings)
        environment = launch_environment(unit.ranks, settings)
        program = MeasuringProcess(command, environment, self._method.time_limit, told=True)
        self._open = _Open(place, program, program.records(), {})
        self._open.start = next(self._open.records, {})
        if not self._open.start:
            raise Stopped("failed", "it ended too early")
        _check_ranks(self._open.start, unit, command)
        return self._open

    def _close(self, well: bool) -> None:
        opened, self._open = self._open, None
        if opened is not None:
            with contextlib.closing(opened.program):
                if well:
                    opened.program.finish()

    def _alone(self, unit: LaunchPoints) -> tuple[int, int]:
        """Launch once; return how many points came to an end, and 1 if the one after them failed."""
        settings = dict(unit.algorithm.settings)
        words = [*self._method.options(), *self._words(unit)]
        command = self._command(unit, words, settings)
        start: dict[str, Any] = {}
        done = 0
        try:
            environment = launch_environment(unit.ranks, settings)
            with contextlib.closing(stream(command, environment, self._method.time_limit)) as records:
                for record in records:
                    if record["record"] == "start":
                        start = record
                        _check_ranks(start, unit, command)
                    done += self._heard(unit, record, start)
        except Stopped as stopped:
            if done == len(unit.sizes):  # the program fell in MPI_Finalize: it is all there
                return done, 0
            failed = {"bytes": unit.sizes[done], "status": stopped.status, "reason": stopped.reason}
            self._kept.add(_point(unit, failed, start))
            return done, 1
        if done < len(unit.sizes):
            failed = {"bytes": unit.sizes[done], "status": "failed", "reason": "it ended too early"}
            self._kept.add(_point(unit, failed, start))
            return done, 1
        return done, 0

    def _heard(self, unit: LaunchPoints, record: Mapping[str, Any], start: Mapping[str, Any]) -> int:
        """Keep what a record says; return 1 for the end of a point."""
        if record["record"] == "begin":
            self._step(_describe_point(unit, record["bytes"]))
        elif record["record"] == "point":
            self._kept.add(_point(unit, record, start))
            return 1
        return 0

    def _command(self, unit: LaunchPoints, words: Sequence[str], settings: Mapping[str, str]) -> list[str]:
        return self._library.launch([str(self._executable), *words], unit.ranks, settings, unit.mapping)

    def _words(self, unit: LaunchPoints) -> list[str]:
        """What the program is asked for, besides what the method says for all."""
        words = ["--collective", unit.collective, "--sizes", ",".join(map(str, unit.sizes))]
        if unit.iterations:
            words += self._method.calls([unit.iterations[size] for size in unit.sizes])
        return words

    def _give_up(self, unit: LaunchPoints, left: Sequence[int]) -> None:
        last = list(self._kept.points.values())[-1]
        for size in left:
            self._step(_describe_point(unit, size))
            reason = f"not tried after {_PATIENCE} failures in a row: {last['reason']}"
            self._kept.add(_point(unit, {"bytes": size, "status": last["status"], "reason": reason}, {}))


@dataclass
class _Open:
    """A launch that waits to be asked."""

    place: _Place
    program: MeasuringProcess
    records: Iterator[dict[str, Any]]
    start: Mapping[str, Any]
    answers: bool = False


def _place(unit: LaunchPoints, asked: Asked) -> _Place:
    return unit.launch, unit.ranks, unit.mapping, asked.settings


def _check_ranks(start: Mapping[str, Any], unit: LaunchPoints, command: Sequence[str]) -> None:
    if start["ranks"] != unit.ranks:
        raise LaunchError(
            f"{command[0]} started {unit.ranks} processes, but each sees {start['ranks']}: it "
            "belongs to another MPI than mpicc; load one MPI only, or name its launcher after --"
        )


def _point(unit: LaunchPoints, record: Mapping[str, Any], start: Mapping[str, Any]) -> dict[str, Any]:
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


def _describe_point(unit: LaunchPoints, size: int) -> str:
    return f"{unit.collective} {unit.algorithm.name}, {unit.ranks} ranks, {size} B"


def launch_environment(ranks: int, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the user's environment, with what ranks on this one machine need."""
    own = {}
    if ranks > len(os.sched_getaffinity(0)):
        # Version 5's launcher reads PRTE_MCA_*, version 4's OMPI_MCA_*.
        own["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
        own["PRTE_MCA_rmaps_default_mapping_policy"] = ":oversubscribe"
    if os.geteuid() == 0:
        own["OMPI_ALLOW_RUN_AS_ROOT"] = own["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    return {**own, **os.environ, **settings}
