"""Subjects of simulations: a program, the pattern of a profile, a trace. Each simulation writes a profile."""

from __future__ import annotations

import shlex
import socket
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np
import polars as pl

from haloscope import explain
from haloscope.base.building import applications
from haloscope.base.errors import UsageError
from haloscope.base.units import noun_text
from haloscope.predict.simulate import simgrid
from haloscope.predict.simulate.pattern import Pattern
from haloscope.predict.simulate.profile_patterns import make_pattern
from haloscope.predict.simulate.recorded import Recorded
from haloscope.predict.simulate.running import SimulationOptions, make_scratch_directory, run_simulation
from haloscope.predict.simulate.traces import list_traces, write_traces
from haloscope.profile.shown import columns, declare_table, part, text, time


class SimulationWork(Protocol):
    """A subject that can be simulated repeatedly, on several networks."""

    name: str
    eager: int
    """Default size (bytes) below which messages do not wait for their receiver."""

    def simulate(self, options: SimulationOptions, output: Path, about: Mapping[str, str | float]) -> None:
        """Simulate, and write the profile; `about` is for its `info`."""


class ProgramWork:
    """A bundled application, or a program that was compiled with smpicc."""

    def __init__(self, command: Sequence[str]) -> None:
        self.path = simgrid.find_executable(command[0])
        self.command = [str(self.path), *command[1:]]
        self.name = self.path.name
        # Bundled applications post receives and sends before they wait: no message needs a buffer. Others may
        # rely on buffers, with which SimGrid slows down after some hundred messages per rank.
        bundled = command[0] in applications()
        self.eager = 0 if bundled else 65536
        self.text = shlex.join(command)

    def simulate(self, options: SimulationOptions, output: Path, about: Mapping[str, str | float]) -> None:
        named = {"program": self.name, "command": self.text}
        run_simulation(options, output, {**named, **about}, program=self.command)


class TraceWork:
    """A trace in SimGrid's text: its list of files, or a directory with one file per rank."""

    eager = 0

    def __init__(self, path: Path, ranks: int | None) -> None:
        self.files = list_traces(path)
        self.ranks = len(self.files)
        if ranks not in (None, self.ranks):
            raise UsageError(f"{path}: is a trace of {noun_text(self.ranks, 'rank')}, not {ranks}")
        self.name = path.name.partition(".")[0] or "trace"
        self.place = path

    def simulate(self, options: SimulationOptions, output: Path, about: Mapping[str, str | float]) -> None:
        with make_scratch_directory() as name:
            listing = Path(name) / "list"
            listing.write_text("".join(f"{file}\n" for file in self.files), encoding="utf-8")
            named = {"program": self.name, "command": f"trace {self.place}"}
            run_simulation(replace(options, privatize=False), output, {**named, **about}, traces=listing)


class ProfileWork:
    """The trace of a profile; without one, or for a different number of ranks, its pattern."""

    eager = 0

    def __init__(self, profile: Path, ranks: int | None, scale: str, compute: float = 1) -> None:
        trace = _read_trace(profile, ranks, compute)
        self.pattern: Recorded | Pattern = trace or make_pattern(profile, ranks, scale, compute)
        self.ranks = self.pattern.ranks
        self.name = self.pattern.program
        self.profile = profile

    def simulate(self, options: SimulationOptions, output: Path, about: Mapping[str, str | float]) -> None:
        replay(self.pattern, self.profile, options, output, about)


def replay(
    pattern: Recorded | Pattern,
    profile: Path,
    options: SimulationOptions,
    output: Path,
    about: Mapping[str, str | float],
) -> None:
    """Simulate the pattern or trace of a profile, and write the profile of the simulation."""
    with make_scratch_directory() as name:
        listing = write_traces(pattern, Path(name))
        named = {"program": pattern.program, "command": f"{pattern.what} of {profile}, {pattern.how}"}
        run_simulation(replace(options, privatize=False), output, {**named, **about}, traces=listing)


def _read_trace(profile: Path, ranks: int | None, compute: float) -> Recorded | None:
    """Return the trace of a profile with `ranks` ranks, None if there is none."""
    with explain.open(profile) as opened:
        is_there = opened.has_trace and ranks in (None, opened.info["ranks"])
    return Recorded.of(profile, compute) if is_there else None


def simulate_once(work: SimulationWork, options: SimulationOptions, output: Path) -> None:
    """Simulate once, and write the profile."""
    about: dict[str, str | float] = {
        "mpi_library": f"SimGrid SMPI {simgrid.find_version()}",
        "simulated_on": socket.gethostname(),
        "platform": options.platform.name,
        "collectives": options.selector,
        "latency_factor": options.change.latency,
        "compute_factor": float(np.mean(options.delays.factors or options.compute)),
        "bandwidth_factor": min(options.change.bandwidth, 1e300),
        **options.delays.describe(),
    }
    work.simulate(options, output, about)


SENSITIVITY_TABLE = declare_table(
    "sensitivity",
    columns("region path", "as in `show`", path=text("region")),
    columns("time_xF", "mean time of the ranks with latencies × F"),
    columns(
        "slope",
        "of the least-squares line: additional seconds per additional latency of the platform",
        slope=time(),
    ),
    columns("share", "slope ÷ time at the smallest F ≥ 1", share=part()),
    others=lambda name: time(f"latency × {name[6:]}") if name.startswith("time_x") else None,
    others_at=1,
)


def measure_sensitivity(
    work: SimulationWork,
    options: SimulationOptions,
    factors: Sequence[float],
    step: Callable[[str], None] = lambda _: None,
) -> pl.DataFrame:
    """Return one row per region: its mean time with each factor of the latencies, and the slope.

    `slope` is the slope of the least-squares line, in seconds per latency of the platform. `share` is the
    slope over the time with the smallest factor from 1 on, else with the largest factor.
    """
    parts = []
    with tempfile.TemporaryDirectory(prefix="haloscope-sensitivity-") as name:
        for number, factor in enumerate(factors):
            step(f"latency × {factor:g}")
            output = Path(name) / f"{number}.halo"
            change = replace(options.change, latency=options.change.latency * factor)
            simulate_once(work, replace(options, change=change), output)
            with explain.open(output) as profile:
                rows = profile.table("regions").select("region", "path", "time_mean")
            parts.append(rows.rename({"time_mean": f"time_x{factor:g}"}))
    table = parts[0]
    for rows in parts[1:]:
        table = table.join(rows.drop("region"), on="path", how="left", maintain_order="left")
    times = table.select(f"time_x{factor:g}" for factor in factors).to_numpy()
    slopes = np.polyfit(np.asarray(factors), times.T, 1)[0]
    base = next((i for i, factor in enumerate(factors) if factor >= 1), len(factors) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(times[:, base] > 0, slopes / times[:, base], 0.0)
    return table.with_columns(slope=pl.Series(slopes), share=pl.Series(shares))
