"""Launches of the measuring program. All algorithms that a running program can select share one launch."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from haloscope.base.errors import LaunchError
from haloscope.base.units import noun_text
from haloscope.predict.bench.grid import LaunchPoints
from haloscope.predict.bench.method import CollectiveMethod
from haloscope.predict.bench.output_stream import MeasuringProcess, Stopped, stream
from haloscope.predict.bench.sweep import SweepJournal
from haloscope.predict.mpi_library import AlgorithmSelection, Library

# Number of failures in a row after which the other sizes of an algorithm are not tried.
_PATIENCE = 2
_Key = tuple[int, int, str | None, tuple[tuple[str, str], ...]]


def measure(
    units: Sequence[LaunchPoints],
    library: Library,
    method: CollectiveMethod,
    journal: SweepJournal,
    step: Callable[[str], None] = lambda what: None,
) -> None:
    """Measure the points that are not in the journal. Failures become points, and the others are measured.

    Units that can share a launch are measured together, at the place of the first one.
    """
    groups: dict[_Key | int, list[LaunchPoints]] = {}
    for number, unit in enumerate(units):
        selection = library.select(unit.algorithm)
        key = number if selection is None else _make_key(unit, selection)
        groups.setdefault(key, []).append(unit)
    with Launches(library, method, journal, step) as launches:
        for group in groups.values():
            for unit in group:
                launches.measure(unit)


class Launches:
    """Measurements of one unit after the other. A launch stays open until a unit needs a different one."""

    def __init__(
        self,
        library: Library,
        method: CollectiveMethod,
        journal: SweepJournal,
        step: Callable[[str], None] = lambda what: None,
    ) -> None:
        self._library, self._method, self._journal, self._step = library, method, journal, step
        self._executable = library.program("collective")
        self._open: _Open | None = None
        self._shares = True

    def __enter__(self) -> Launches:  # noqa: PYI034
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._close(kind is None)

    def measure(self, unit: LaunchPoints) -> None:
        """Measure the points of a unit that are not in the journal.

        A point that fails in a shared launch is measured again alone, as another point may be the cause.
        """
        sizes = tuple(size for size in unit.sizes if not self._journal.has(unit.point(size)))
        for _ in range(len(unit.sizes) - len(sizes)):
            self._step("")
        selection = self._library.select(unit.algorithm) if self._shares else None
        if sizes and selection is not None:
            sizes = sizes[self._measure_shared(replace(unit, sizes=sizes), selection) :]
        if sizes:
            self._close(True)  # its ranks poll
        failures = 0
        while sizes:
            done, failed = self._measure_alone(replace(unit, sizes=sizes))
            failures = failures + 1 if failed and not done else int(failed)
            sizes = sizes[done + failed :]
            if failures >= _PATIENCE and sizes:
                self._skip(unit, sizes)
                sizes = ()

    def _measure_shared(self, unit: LaunchPoints, selection: AlgorithmSelection) -> int:
        """Measure in the open launch, or in a new one. Return the number of finished points."""
        done, running = 0, None
        try:
            running = self._open_launch(unit, selection)
            running.program.tell(" ".join([*self._words(unit), *selection.words]))
            while done < len(unit.sizes):
                record = next(running.records, None)
                if record is None:
                    raise Stopped("failed", "it ended too early")
                running.answers = True
                done += self._store(unit, record, running.start)
        except Stopped:
            self._close(False)
            # Without any answer, the launcher does not forward input, or the library has no such variables.
            self._shares = running is not None and running.answers
        return done

    def _open_launch(self, unit: LaunchPoints, selection: AlgorithmSelection) -> _Open:
        key = _make_key(unit, selection)
        if self._open is not None and self._open.key == key:
            return self._open
        self._close(True)
        settings = dict(selection.settings)
        command = self._command(unit, self._method.options(), settings)
        environment = launch_environment(unit.ranks, settings)
        program = MeasuringProcess(command, environment, self._method.time_limit, has_input=True)
        self._open = _Open(key, program, program.records(), {})
        self._open.start = next(self._open.records, {})
        if not self._open.start:
            raise Stopped("failed", "it ended too early")
        _check_ranks(self._open.start, unit, command)
        return self._open

    def _close(self, has_succeeded: bool) -> None:
        launch, self._open = self._open, None
        if launch is not None:
            with contextlib.closing(launch.program):
                if has_succeeded:
                    launch.program.finish()

    def _measure_alone(self, unit: LaunchPoints) -> tuple[int, int]:
        """Launch once. Return the number of finished points, and 1 if the next one failed, else 0."""
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
                    done += self._store(unit, record, start)
        except Stopped as stopped:
            if done == len(unit.sizes):  # the program failed in MPI_Finalize, after all points
                return done, 0
            failed = {"bytes": unit.sizes[done], "status": stopped.status, "reason": stopped.reason}
            self._journal.add(_make_point(unit, failed, start))
            return done, 1
        if done < len(unit.sizes):
            failed = {"bytes": unit.sizes[done], "status": "failed", "reason": "it ended too early"}
            self._journal.add(_make_point(unit, failed, start))
            return done, 1
        return done, 0

    def _store(self, unit: LaunchPoints, record: Mapping[str, Any], start: Mapping[str, Any]) -> int:
        """Add a record to the journal. Return 1 at the end of a point, else 0."""
        if record["record"] == "begin":
            self._step(_describe_point(unit, record["bytes"]))
        elif record["record"] == "point":
            self._journal.add(_make_point(unit, record, start))
            return 1
        return 0

    def _command(self, unit: LaunchPoints, words: Sequence[str], settings: Mapping[str, str]) -> list[str]:
        return self._library.launch([str(self._executable), *words], unit.ranks, settings, unit.mapping)

    def _words(self, unit: LaunchPoints) -> list[str]:
        """Return the options of a unit for the program, without those of the method."""
        words = ["--collective", unit.collective, "--sizes", ",".join(map(str, unit.sizes))]
        if unit.iterations:
            words += self._method.calls([unit.iterations[size] for size in unit.sizes])
        return words

    def _skip(self, unit: LaunchPoints, sizes: Sequence[int]) -> None:
        last = list(self._journal.points.values())[-1]
        for size in sizes:
            self._step(_describe_point(unit, size))
            reason = f"not tried after {_PATIENCE} failures in a row: {last['reason']}"
            self._journal.add(
                _make_point(unit, {"bytes": size, "status": last["status"], "reason": reason}, {})
            )


@dataclass
class _Open:
    """A launch that waits for its next points."""

    key: _Key
    program: MeasuringProcess
    records: Iterator[dict[str, Any]]
    start: Mapping[str, Any]
    answers: bool = False


def _make_key(unit: LaunchPoints, selection: AlgorithmSelection) -> _Key:
    return unit.launch, unit.ranks, unit.mapping, selection.settings


def _check_ranks(start: Mapping[str, Any], unit: LaunchPoints, command: Sequence[str]) -> None:
    if start["ranks"] != unit.ranks:
        raise LaunchError(
            f"{command[0]} started {unit.ranks} processes, but each sees {start['ranks']}: it "
            "belongs to another MPI than mpicc; load only one MPI, or give its launcher after --"
        )


def _make_point(unit: LaunchPoints, record: Mapping[str, Any], start: Mapping[str, Any]) -> dict[str, Any]:
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
    return f"{unit.collective} {unit.algorithm.name}, {noun_text(unit.ranks, 'rank')}, {size} B"


def launch_environment(ranks: int, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the user with the settings that ranks on this machine need."""
    own = {}
    if ranks > len(os.sched_getaffinity(0)):
        # Version 5's launcher reads PRTE_MCA_*, version 4's OMPI_MCA_*.
        own["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
        own["PRTE_MCA_rmaps_default_mapping_policy"] = ":oversubscribe"
    if os.geteuid() == 0:
        own["OMPI_ALLOW_RUN_AS_ROOT"] = own["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    return {**own, **os.environ, **settings}
