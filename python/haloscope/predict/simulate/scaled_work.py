"""Prediction of a whole program for a different number of ranks from several of its profiles.

The time of a region is the sum of computing (from its scaling model), messages (from a simulation of the
scaled pattern) and waiting. Waiting is the MPI time of the profiles beyond that of their patterns on their
network, from its scaling model. On a different network waiting is assumed to be unchanged; the interval
includes the case that it changes like messages.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from haloscope.base.arrays import Floats, Integers
from haloscope.base.units import noun_text
from haloscope.explain.ensembles import Beyond
from haloscope.predict.simulate.change import Change
from haloscope.predict.simulate.pattern import Pattern
from haloscope.predict.simulate.platform import Platform, load_platform, platforms
from haloscope.predict.simulate.profile_patterns import Grown, make_pattern
from haloscope.predict.simulate.region_laws import RegionLaws, RegionWork
from haloscope.predict.simulate.running import SimulationOptions
from haloscope.predict.simulate.works import replay, simulate_once
from haloscope.profile.shown import columns, declare_table, text, time


class ScaledWork:
    """The pattern of the largest of several profiles, scaled to `ranks` ranks, with modelled computing."""

    eager = 0

    def __init__(self, profiles: Sequence[Path], ranks: int, scale: str, compute: float = 1) -> None:
        self.laws = RegionLaws(profiles, scale)
        self.ranks, self.compute = ranks, compute
        largest = self.laws.largest.profile
        self.pattern = make_pattern(largest, ranks, scale, compute, self.laws.predict_work(ranks))
        self.name = self.pattern.program

    def count_simulations(self, options: SimulationOptions) -> int:
        """Return the largest number of simulations of a prediction."""
        return 1 + len(self.laws.points) + (self._recorded_options(options) is not None)

    def simulate(self, options: SimulationOptions, output: Path, about: Mapping[str, str | float]) -> None:
        replay(self.pattern, self.laws.largest.profile, options, output, about)

    def predict(self, options: SimulationOptions, output: Path, step: Callable[[str], None]) -> pl.DataFrame:
        """Simulate, write the profile to `output`, and return one row per region."""
        step(f"{noun_text(self.ranks, 'rank')} on {options.platform.name}")
        simulate_once(self, options, output)
        messages = RegionWork.of(output).column_by_names(self.laws.largest.names, "mpi")
        recorded = self._simulate_recorded(options, step)
        stretch = self._compare_networks(options, messages, step)
        return _Prediction(self.laws, self.ranks, self.compute, messages, recorded, stretch).make_table()

    def _recorded_options(self, options: SimulationOptions) -> SimulationOptions | None:
        """Return the options of the profiles' network.

        None if it is unknown, or equal to the requested one.
        """
        largest = self.laws.largest
        network = _find_network(largest, options.platform)
        if network is None:
            return None
        recorded = replace(_recorded_settings(largest, network, options), ranks=self.ranks)
        is_same = network is options.platform and recorded.change == options.change
        as_well = recorded.selector == options.selector and not options.algorithms
        return None if is_same and as_well else recorded

    def _compare_networks(
        self, options: SimulationOptions, messages: Floats, step: Callable[[str], None]
    ) -> Floats:
        """Return the ratio of the messages' times to those on the profiles' network, by region."""
        recorded = self._recorded_options(options)
        if recorded is None:
            return np.ones(len(messages))
        step(f"{noun_text(self.ranks, 'rank')} on {recorded.platform.name}, as recorded")
        before = self._simulate_mpi_time(self.pattern, recorded)
        with np.errstate(divide="ignore", invalid="ignore"):
            times = np.where((before > 0) & (messages > 0), messages / before, 1.0)
        return np.asarray(times)

    def _simulate_recorded(self, options: SimulationOptions, step: Callable[[str], None]) -> Floats | None:
        """Return the simulated times of messages of one profile per number of ranks, on their networks.

        The result is None if a network is unknown.
        """
        firsts = [runs[0] for runs in self.laws.runs]
        networks = [_find_network(work, options.platform) for work in firsts]
        columns = []
        for work, network in zip(firsts, networks, strict=True):
            if network is None:
                return None
            step(f"recorded: {noun_text(work.ranks, 'rank')} on {network.name}")
            columns.append(self._simulate_pattern(work, _recorded_settings(work, network, options)))
        return np.asarray(np.array(columns).T)

    def _simulate_pattern(self, work: RegionWork, options: SimulationOptions) -> Floats:
        alike = Grown.same(self.laws.is_grid, work.own["computing"].to_numpy())
        return self._simulate_mpi_time(make_pattern(work.profile, work.ranks, "weak", 1.0, alike), options)

    def _simulate_mpi_time(self, pattern: Pattern, options: SimulationOptions) -> Floats:
        """Return the MPI time (s) of a simulated pattern, by regions of the largest profile."""
        with tempfile.TemporaryDirectory(prefix="haloscope-predict-") as name:
            output = Path(name) / "pattern.halo"
            replay(pattern, self.laws.largest.profile, options, output, {})
            return RegionWork.of(output).column_by_names(self.laws.largest.names, "mpi")


def _find_network(work: RegionWork, asked: Platform) -> Platform | None:
    """Return the network of a simulated profile, None for other profiles."""
    name = work.info.get("platform")
    if name == asked.name:
        return asked
    return load_platform(name) if name in platforms() else None


def _recorded_settings(work: RegionWork, network: Platform, options: SimulationOptions) -> SimulationOptions:
    latency, bandwidth = (float(work.info.get(f"{name}_factor", 1)) for name in ("latency", "bandwidth"))
    change = Change(latency, bandwidth if bandwidth < 1e300 else float("inf"))
    return replace(
        options,
        platform=network,
        ranks=work.ranks,
        selector=str(work.info.get("collectives", options.selector)),
        algorithms={},
        change=change,
        series=(),
        slice=0.0,
    )


PREDICTION_TABLE = declare_table(
    "prediction",
    columns("region path", "as in `show`", path=text("region")),
    columns("time", "`computing` + `messages` + `waiting`", time=time()),
    columns(
        "low high",
        "jackknife+ prediction interval: each number of ranks is left out in turn, and the model's error "
        "for it widens the interval. It includes scatter and the choice of the model, but not effects "
        "that occur only with more ranks",
        low=time("from"),
        high=time("to"),
    ),
    columns(
        "computing",
        "seconds outside of MPI, by the region's scaling model, times `--compute-factor`",
        computing=time(),
    ),
    columns("messages", "in MPI, as simulated", messages=time()),
    columns(
        "waiting",
        "in MPI beyond messages, by its scaling model; null if the profiles are not of a simulated network",
        waiting=time(),
    ),
    columns(
        "law", "the scaling model of the region's own computing; p: ranks", law=text("own computing, p ranks")
    ),
)


@dataclass(frozen=True)
class _Prediction:
    """Predicted times of regions.

    `messages` are the MPI times of the simulated pattern at `ranks`, `recorded` those at each point.
    `stretch` is the ratio of the messages' times to those on the network of the profiles.
    """

    laws: RegionLaws
    ranks: int
    compute: float
    messages: Floats
    recorded: Floats | None
    stretch: Floats

    def make_table(self) -> pl.DataFrame:
        """Return one row per region, including nested ones, with mean times (s) per rank."""
        computing = self.laws.predict_computing(self.ranks)
        waiting, patterns = self._predict_waiting()
        nested = _nesting_matrix(self.laws.largest.parents)
        in_mpi = np.clip(self.messages + waiting.value, 0, None)
        time = nested @ (computing.value * self.compute + in_mpi)
        low, high = self._make_bounds(computing, waiting, patterns, nested)
        names = self.laws.largest.names
        return pl.DataFrame(
            {
                "region": self.laws.largest.regions,
                "path": names,
                "time": time,
                "low": np.minimum(low, time),
                "high": np.maximum(high, time),
                "computing": nested @ computing.value * self.compute,
                "messages": nested @ self.messages,
                "waiting": None if self.recorded is None else nested @ (in_mpi - self.messages),
                "law": [computing.laws.text(row, "s") for row in range(len(names))],
            },
            schema_overrides={"waiting": pl.Float64},
        )

    def _predict_waiting(self) -> tuple[Beyond, Floats]:
        """Return the predicted MPI time beyond messages, and the messages' times at the points."""
        took = self.laws.values("mpi")
        patterns = took if self.recorded is None else self.recorded
        return self.laws.predict_waiting(took - patterns, self.ranks), patterns

    def _make_bounds(
        self, computing: Beyond, waiting: Beyond, patterns: Floats, nested: Floats
    ) -> tuple[Floats, Floats]:
        """Return the bounds of a jackknife+ interval (Barber, Candès, Ramdas, Tibshirani, 2021).

        They are the extremes of predictions without one point, each widened by its error at that point.
        """
        took = nested @ (self.laws.values("computing") + self.laws.values("mpi"))
        predicted = nested @ (computing.omitted + patterns + waiting.omitted)
        with np.errstate(divide="ignore", invalid="ignore"):
            missed = np.where(took > 0, np.abs(predicted / took - 1), 0.0)
        low, high = [], []
        for times in (1.0, self.stretch[:, None]):
            in_mpi = self.messages[:, None] + waiting.without * times
            without = nested @ (computing.without * self.compute + np.clip(in_mpi, 0, None))
            low.append(np.clip(without * (1 - missed), 0, None).min(axis=1))
            high.append((without * (1 + missed)).max(axis=1))
        return np.minimum(*low), np.maximum(*high)


def _nesting_matrix(parents: Integers) -> Floats:
    """Return a matrix that adds nested regions to each region."""
    nested = np.eye(len(parents))
    for path in range(len(parents) - 1, 0, -1):
        nested[parents[path]] += nested[path]
    return nested
