"""A whole program at another number of ranks: what several of its profiles say, and what its messages take.

The time of a region is computing, by its law; messages, as the scaled pattern takes them in a simulation; and
waiting: what MPI took in the profiles beyond their own patterns on the network that they ran on, by its law.
On another network waiting is taken to be the same; the interval reaches to where it changes as messages do.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from haloscope.base.arrays import Floats, Integers
from haloscope.explain.ensembles import Beyond
from haloscope.predict.simulate.description import Change
from haloscope.predict.simulate.pattern import Pattern
from haloscope.predict.simulate.platform import Platform, load_platform, platforms
from haloscope.predict.simulate.profile_patterns import Grown, pattern_of
from haloscope.predict.simulate.region_laws import RegionLaws, RegionWork
from haloscope.predict.simulate.running import SimulationOptions
from haloscope.predict.simulate.works import replay, what_if
from haloscope.profile.shown import columns, declare_table, text, time


class ScaledWork:
    """The pattern of the largest of several profiles at so many ranks, with computing by law."""

    eager = 0

    def __init__(self, profiles: Sequence[Path], ranks: int, scale: str, compute: float = 1) -> None:
        self.laws = RegionLaws(profiles, scale)
        self.ranks, self.compute = ranks, compute
        largest = self.laws.largest.profile
        self.pattern = pattern_of(largest, ranks, scale, compute, self.laws.grown(ranks))
        self.name = self.pattern.program

    def simulations(self, options: SimulationOptions) -> int:
        """Return how many a prediction makes at most."""
        return 1 + len(self.laws.points) + (self._where_recorded(options) is not None)

    def simulate(self, options: SimulationOptions, output: Path, about: Mapping[str, str | float]) -> None:
        replay(self.pattern, self.laws.largest.profile, options, output, about)

    def prediction(
        self, options: SimulationOptions, output: Path, step: Callable[[str], None]
    ) -> pl.DataFrame:
        """Simulate, write the profile to `output`, and return a row for each region."""
        step(f"{self.ranks} ranks on {options.platform.name}")
        what_if(self, options, output)
        messages = RegionWork.of(output).along(self.laws.largest.names, "mpi")
        recorded = self._patterns_of_profiles(options, step)
        stretch = self._stretch(options, messages, step)
        return _Prediction(self.laws, self.ranks, self.compute, messages, recorded, stretch).table()

    def _where_recorded(self, options: SimulationOptions) -> SimulationOptions | None:
        """Return the options of the profiles' network; None if it is unknown, or the one asked for."""
        largest = self.laws.largest
        network = _network_of(largest, options.platform)
        if network is None:
            return None
        there = replace(_as_recorded(largest, network, options), ranks=self.ranks)
        is_same = network is options.platform and there.change == options.change
        as_well = there.selector == options.selector and not options.algorithms
        return None if is_same and as_well else there

    def _stretch(self, options: SimulationOptions, messages: Floats, step: Callable[[str], None]) -> Floats:
        """Return how many times as long messages of each region take as on the profiles' network."""
        there = self._where_recorded(options)
        if there is None:
            return np.ones(len(messages))
        step(f"{self.ranks} ranks on {there.platform.name}, as recorded")
        before = self._in_mpi(self.pattern, there)
        with np.errstate(divide="ignore", invalid="ignore"):
            times = np.where((before > 0) & (messages > 0), messages / before, 1.0)
        return np.asarray(times)

    def _patterns_of_profiles(self, options: SimulationOptions, step: Callable[[str], None]) -> Floats | None:
        """Return what the messages of one profile a number of ranks take on the network that it ran on.

        None if one did not run on a network that is known.
        """
        firsts = [runs[0] for runs in self.laws.runs]
        networks = [_network_of(one, options.platform) for one in firsts]
        columns = []
        for one, network in zip(firsts, networks, strict=True):
            if network is None:
                return None
            step(f"what is known: {one.ranks} ranks on {network.name}")
            columns.append(self._pattern_of(one, _as_recorded(one, network, options)))
        return np.asarray(np.array(columns).T)

    def _pattern_of(self, one: RegionWork, options: SimulationOptions) -> Floats:
        alike = Grown.same(self.laws.is_grid, one.own["computing"].to_numpy())
        return self._in_mpi(pattern_of(one.profile, one.ranks, "weak", 1.0, alike), options)

    def _in_mpi(self, pattern: Pattern, options: SimulationOptions) -> Floats:
        """Return the seconds that a simulated pattern is in MPI, by regions of the largest profile."""
        with tempfile.TemporaryDirectory(prefix="haloscope-predict-") as name:
            output = Path(name) / "pattern.halo"
            replay(pattern, self.laws.largest.profile, options, output, {})
            return RegionWork.of(output).along(self.laws.largest.names, "mpi")


def _network_of(one: RegionWork, asked: Platform) -> Platform | None:
    """Return the network that a profile was simulated on, None for one that ran elsewhere."""
    name = one.info.get("platform")
    if name == asked.name:
        return asked
    return load_platform(name) if name in platforms() else None


def _as_recorded(one: RegionWork, network: Platform, options: SimulationOptions) -> SimulationOptions:
    latency, bandwidth = (float(one.info.get(f"{name}_factor", 1)) for name in ("latency", "bandwidth"))
    change = Change(latency, bandwidth if bandwidth < 1e300 else float("inf"))
    return replace(
        options,
        platform=network,
        ranks=one.ranks,
        selector=str(one.info.get("collectives", options.selector)),
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
    """Times of regions; `messages` of each at `ranks`, `recorded` at each point, both in MPI.

    `stretch`: how many times as long messages take as on the network of the profiles.
    """

    laws: RegionLaws
    ranks: int
    compute: float
    messages: Floats
    recorded: Floats | None
    stretch: Floats

    def table(self) -> pl.DataFrame:
        """Return a row for each region, with what is nested in it, of an average rank."""
        computing = self.laws.computing(self.ranks)
        waiting, patterns = self._waiting()
        nested = _nested(self.laws.largest.parents)
        in_mpi = np.clip(self.messages + waiting.value, 0, None)
        time = nested @ (computing.value * self.compute + in_mpi)
        low, high = self._bounds(computing, waiting, patterns, nested)
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

    def _waiting(self) -> tuple[Beyond, Floats]:
        """Return what laws say of MPI's time beyond messages, and what messages are at the points."""
        took = self.laws.values("mpi")
        patterns = took if self.recorded is None else self.recorded
        return self.laws.waiting(took - patterns, self.ranks), patterns

    def _bounds(
        self, computing: Beyond, waiting: Beyond, patterns: Floats, nested: Floats
    ) -> tuple[Floats, Floats]:
        """Return the bounds of an interval by the jackknife+ (Barber, Candès, Ramdas, Tibshirani, 2021).

        The least and the most that laws say without a point, less and more by the share that they miss it by.
        """
        took = nested @ (self.laws.values("computing") + self.laws.values("mpi"))
        said = nested @ (computing.left_out + patterns + waiting.left_out)
        with np.errstate(divide="ignore", invalid="ignore"):
            missed = np.where(took > 0, np.abs(said / took - 1), 0.0)
        low, high = [], []
        for times in (1.0, self.stretch[:, None]):
            here = self.messages[:, None] + waiting.without * times
            without = nested @ (computing.without * self.compute + np.clip(here, 0, None))
            low.append(np.clip(without * (1 - missed), 0, None).min(axis=1))
            high.append((without * (1 + missed)).max(axis=1))
        return np.minimum(*low), np.maximum(*high)


def _nested(parents: Integers) -> Floats:
    """Return a matrix that adds to each region those nested in it."""
    nested = np.eye(len(parents))
    for path in range(len(parents) - 1, 0, -1):
        nested[parents[path]] += nested[path]
    return nested
