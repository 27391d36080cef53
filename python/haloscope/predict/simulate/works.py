"""What can be simulated: a program, the pattern of a profile, a trace. Each makes a profile."""

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
from haloscope.predict.simulate import simgrid
from haloscope.predict.simulate.pattern import Pattern
from haloscope.predict.simulate.profile_patterns import pattern_of
from haloscope.predict.simulate.recorded import Recorded
from haloscope.predict.simulate.running import SimulationOptions, run_simulation, scratch
from haloscope.predict.simulate.traces import trace_list, write_traces
from haloscope.profile.shown import columns, declare_table, part, text, time


class SimulationWork(Protocol):
    """Something that can be simulated again and again, on this network and on others."""

    name: str
    eager: int
    """Messages under so many bytes do not wait for their receiver, unless asked for."""

    def simulate(self, options: SimulationOptions, output: Path, about: Mapping[str, str | float]) -> None:
        """Simulate, and write the profile; `about` is for its `info`."""


class ProgramWork:
    """A bundled application, or a program that was compiled with smpicc."""

    def __init__(self, command: Sequence[str]) -> None:
        self.path = simgrid.executable(command[0])
        self.command = [str(self.path), *command[1:]]
        self.name = self.path.name
        # Bundled ones post receives and sends before they wait: no message needs a buffer. Others
        # may rely on buffers, with which SimGrid gets slow after some hundred messages a rank.
        bundled = command[0] in applications()
        self.eager = 0 if bundled else 65536
        self.text = shlex.join(command)

    def simulate(self, options: SimulationOptions, output: Path, about: Mapping[str, str | float]) -> None:
        named = {"program": self.name, "command": self.text}
        run_simulation(options, output, {**named, **about}, program=self.command)


class TraceWork:
    """A trace in SimGrid's text: its list of files, or a directory with a file a rank."""

    eager = 0

    def __init__(self, place: Path, ranks: int | None) -> None:
        self.files = trace_list(place)
        self.ranks = len(self.files)
        if ranks not in (None, self.ranks):
            raise UsageError(f"{place}: is a trace of {self.ranks} ranks, not {ranks}")
        self.name = place.name.partition(".")[0] or "trace"
        self.place = place

    def simulate(self, options: SimulationOptions, output: Path, about: Mapping[str, str | float]) -> None:
        with scratch() as name:
            listing = Path(name) / "list"
            listing.write_text("".join(f"{file}\n" for file in self.files), encoding="utf-8")
            named = {"program": self.name, "command": f"trace {self.place}"}
            run_simulation(replace(options, privatize=False), output, {**named, **about}, traces=listing)


class ProfileWork:
    """The trace of a profile; without one, or with another number of ranks, its pattern."""

    eager = 0

    def __init__(self, profile: Path, ranks: int | None, scale: str, compute: float = 1) -> None:
        trace = _recorded(profile, ranks, compute)
        self.pattern: Recorded | Pattern = trace or pattern_of(profile, ranks, scale, compute)
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
    """Simulate what a profile has of a program, and write the profile of that."""
    with scratch() as name:
        listing = write_traces(pattern, Path(name))
        named = {"program": pattern.program, "command": f"{pattern.what} of {profile}, {pattern.how}"}
        run_simulation(replace(options, privatize=False), output, {**named, **about}, traces=listing)


def _recorded(profile: Path, ranks: int | None, compute: float) -> Recorded | None:
    """Return the trace of a profile of so many ranks, None if there is none."""
    with explain.open(profile) as opened:
        is_there = opened.has_trace and ranks in (None, opened.info["ranks"])
    return Recorded.of(profile, compute) if is_there else None


def what_if(work: SimulationWork, options: SimulationOptions, output: Path) -> None:
    """Simulate once and write the profile."""
    about: dict[str, str | float] = {
        "mpi_library": f"SimGrid SMPI {simgrid.version()}",
        "simulated_on": socket.gethostname(),
        "platform": options.platform.name,
        "collectives": options.selector,
        "latency_factor": options.change.latency,
        "compute_factor": options.compute,
        "bandwidth_factor": min(options.change.bandwidth, 1e300),
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


def sensitivity(
    work: SimulationWork,
    options: SimulationOptions,
    factors: Sequence[float],
    step: Callable[[str], None] = lambda _: None,
) -> pl.DataFrame:
    """Return a row for each region: its mean time with latencies times each factor, and the slope.

    `slope` is the least-squares line's: seconds more for one more of the platform's latency;
    `share` is the slope over the time with the least factor from 1 on, else the largest one.
    """
    parts = []
    with tempfile.TemporaryDirectory(prefix="haloscope-sensitivity-") as name:
        for number, factor in enumerate(factors):
            step(f"latency × {factor:g}")
            output = Path(name) / f"{number}.halo"
            change = replace(options.change, latency=options.change.latency * factor)
            what_if(work, replace(options, change=change), output)
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
