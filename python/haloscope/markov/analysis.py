"""Timings through Algorithm 1 of Heldman, Rudi & Bessac (ICS 2025): every rank's, and the slowest rank's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haloscope.base.arrays import Bytes, Floats, Integers
from haloscope.base.errors import UsageError
from haloscope.markov.fitting.chains import Sequences
from haloscope.markov.fitting.family_choice import AUTO, choose_family
from haloscope.markov.fitting.regime_model import Criterion, RegimeModel, select
from haloscope.markov.fitting.whole_machine import MachineModel, WholeMachine, fit_machine
from haloscope.markov.statistics.added_time import Added, measure_added_time
from haloscope.markov.statistics.distributions import rank_medians
from haloscope.markov.statistics.fit_quality import Goodness, goodness
from haloscope.markov.statistics.samples import Sample
from haloscope.markov.statistics.slow_episodes import episodes
from haloscope.markov.timings import Reduction, Timings
from haloscope.profile import kernels

RANKS = 20  # section 3.1


@dataclass(frozen=True)
class Regimes:
    """The result of Algorithm 1.

    `training` are the rows of `timings` that `model` was fitted to; `states` the regime of each
    rank and instance, 0 the fastest, 255 where there is no instance.
    """

    timings: Timings
    model: RegimeModel
    training: Integers
    states: Bytes


def find_regimes(
    timings: Timings,
    model: RegimeModel,
    *,
    ranks: int = RANKS,
    instances: slice | NDArray[np.integer] | None = None,
) -> Regimes:
    """Fit `model` to representative ranks, and decode all instances of all ranks with it.

    Algorithm 1 of Heldman, Rudi & Bessac (ICS 2025). A reduced series (`timings.reduce`, Remark 1) has one
    row, which is used.

    Args:
        timings: Durations of all ranks in seconds, (ranks, instances).
        model: The model; it is fitted here.
        ranks: Number of ranks for the fit; they are chosen as in section 3.1, by `representative`.
        instances: Instances for the fit, as a slice or as ascending numbers, which are treated as neighbours
            in time; by default all.

    Raises:
        TimingsError: If the family of `model` does not allow these durations.
        UsageError: If no instance is chosen.
    """
    training = representative(timings, ranks)
    return decode_all(model.fit(series_of(timings, training, instances)), timings, training)


def decode_all(model: RegimeModel, timings: Timings, training: Integers) -> Regimes:
    """Decode all instances of all ranks with a model that was fitted to the rows `training`."""
    model.source_ = {
        "name": timings.name,
        "region": timings.region,
        "ranks": timings.ranks[training].tolist(),
        "instances": int(timings.counts[training].max()),
    }
    everything = Sequences.from_timings(timings)
    states = model.decode(everything).reshape(timings.durations.shape)
    return Regimes(timings, model, training, states)


def representative(timings: Timings, number: int = RANKS) -> Integers:
    """Return the rows of `number` ranks, equidistant among all, sorted by their median instance."""
    if number < 1:
        raise UsageError(f"{number} ranks to be fitted; take 1 or more")
    everything = Sequences.from_timings(timings)
    medians = kernels.medians(everything.values, everything.places, kernels.available_threads())
    order = np.argsort(medians, kind="stable").astype(np.int64)
    places = np.linspace(0, len(order) - 1, min(number, len(order))).round().astype(np.int64)
    rows: Integers = order[places]
    return rows


def series_of(
    timings: Timings, rows: Integers, instances: slice | NDArray[np.integer] | None
) -> list[Floats]:
    """Return the series of these rows, or these instances of them. Raises `UsageError` if none is left."""
    every = [timings.durations[row, : timings.counts[row]] for row in rows.tolist()]
    if instances is None:
        return every
    if isinstance(instances, slice):
        parts = [row[instances] for row in every]
    else:
        parts = [row[instances[instances < len(row)]] for row in every]
    if not any(len(part) for part in parts):
        raise UsageError("no rank has any of the chosen instances; choose others")
    return parts


_SLOW = 1.25
_MOST_MACHINE_STATES = 8
_MOST_STEPS = 200  # of a fit; the class gives up earlier


@dataclass(frozen=True)
class Decoded:
    """Times and their decoded `states`, in the shape of `timings.durations`."""

    timings: Timings
    states: Bytes
    regimes: int

    @classmethod
    def from_regimes(cls, regimes: Regimes) -> Decoded:
        """Return the times and states from the result of Algorithm 1."""
        return cls(regimes.timings, regimes.states, regimes.model.n_regimes)

    @cached_property
    def sample(self) -> Sample:
        """Times and states, in the form for the statistics."""
        return Sample(self.timings.name, self.timings.durations, self.states)


@dataclass(frozen=True)
class RunTimings:
    """A run: every rank's times in `whole`, T_k^max in `slowest`; `training` are rows of `whole`.

    `slowest` is `whole` itself if that is one series already.
    """

    whole: Decoded
    slowest: Decoded
    training: Integers

    @property
    def name(self) -> str:
        """The run's or method's name."""
        return self.whole.timings.name

    @property
    def regimes(self) -> int:
        """The number of regimes of the ranks' times."""
        return self.whole.regimes

    @property
    def is_reduced(self) -> bool:
        """True if there is one series only."""
        return len(self.whole.timings.ranks) == 1

    @cached_property
    def medians(self) -> Floats:
        """Each rank's median time."""
        return rank_medians(self.whole.timings.durations)

    @cached_property
    def median_row(self) -> int:
        """Which of the training ranks has the median time among them (Figure 6)."""
        order = self.training[np.argsort(self.medians[self.training], kind="stable")]
        return int(order[(len(order) - 1) // 2])


@dataclass(frozen=True)
class RegimeOptions:
    """How regimes are found; docs/reference/regimes.md has the method.

    `states` is the number of regimes, 1 to 32, or the criterion that chooses it: `elbow`, `bic`, `aic` or
    `icl`. `emission` is the family of a regime's times: `gaussian`, `lognormal`, `gamma`, `student`, or
    `auto` for the one with the smallest BIC, checked on held-out times. With `reduce` there is one series:
    the `max`, `median` or `mean` over all ranks of each instance. Otherwise the model is fitted to
    `ranks_fitted` ranks, at equal distances in the order of their medians. `instances` are the first instance
    that is fitted and the one after the last; None is the end of the series. `starts` fits are begun at
    random points (`seed`), and the likeliest one is kept. `machine_states` is the number of hidden states of
    the whole machine, 2 to 8, or 0 for no such model.

    Raises `UsageError` for a number that is out of range.
    """

    states: int | Criterion = 3
    emission: str = AUTO
    reduce: Reduction | None = None
    ranks_fitted: int = RANKS
    instances: tuple[int | None, int | None] = (None, None)
    starts: int = 10
    seed: int = 0
    machine_states: int = 0

    def __post_init__(self) -> None:
        """Check the numbers that the models do not check."""
        if self.starts < 1 or self.ranks_fitted < 1 or self.seed < 0:
            raise UsageError("starts and ranks_fitted are at least 1, seed at least 0")
        if self.machine_states and not 2 <= self.machine_states <= _MOST_MACHINE_STATES:
            raise UsageError(f"machine_states is 0, or 2 to {_MOST_MACHINE_STATES}")


@dataclass(frozen=True)
class Fit:
    """A model of some series: its `regimes`, and the series that it was `fitted` to.

    `curves` are the criteria by number of regimes, if one of them chose it, else None. `at_ceiling` is true
    if the largest number that was tried is the best one.
    """

    regimes: Regimes
    curves: pl.DataFrame | None
    fitted: list[Floats]
    at_ceiling: bool = False


@dataclass(frozen=True)
class RegimeAnalysis:
    """The regimes of every rank's times, and of T^max; the same object if there is one series."""

    ranks: Fit
    slowest: Fit
    options: RegimeOptions
    machine: WholeMachine | None = None

    @property
    def name(self) -> str:
        """The file's or method's name."""
        return self.ranks.regimes.timings.name

    @property
    def has_several(self) -> bool:
        """True if there are several ranks' series."""
        return self.slowest is not self.ranks

    @property
    def series(self) -> list[tuple[str, Fit]]:
        """The fits, each with a name for people."""
        if not self.has_several:
            return [("the series", self.ranks)]
        return [("ranks", self.ranks), ("T^max", self.slowest)]

    @cached_property
    def goodness(self) -> Goodness:
        """How well the model of the ranks fits its times."""
        regimes = self.ranks.regimes
        model = regimes.model

        def decode(durations: Floats) -> Bytes:
            return np.asarray(model.predict(durations))

        return goodness(
            regimes.timings.durations[regimes.training],
            model.start_,
            model.transition_,
            model.emission_,
            decode,
            seed=self.options.seed,
        )

    @cached_property
    def episodes(self) -> pl.DataFrame:
        """Slow episodes of machine, hosts and ranks: in slow regimes, or else in the slowest one."""
        regimes = self.ranks.regimes
        timings = regimes.timings
        return episodes(
            timings.durations,
            regimes.states,
            regimes.model.n_regimes,
            ranks=timings.ranks,
            hosts=timings.hosts,
            starts=timings.others.get("start"),
            slow=max(1, self.slow_regimes),
        )

    @property
    def slow_regimes(self) -> int:
        """The number of slow regimes: their mean is at least 1.25 times that of the fastest one."""
        means = self.ranks.regimes.model.means_
        return int((means[1:] > _SLOW * means[0]).sum())

    @cached_property
    def added(self) -> Added | None:
        """The program's own time and the time that slow regimes add; None if all instances are slow."""
        regimes, slow = self.ranks.regimes, self.slow_regimes
        timings, states = regimes.timings, regimes.states
        last = regimes.model.n_regimes
        is_slow = (states >= last - slow) & (states < last)
        found = self.episodes if slow else self.episodes.clear()
        waits = timings.others.get("wait")
        ranks = timings.ranks.tolist()
        return measure_added_time(timings.durations, is_slow, found, ranks, timings.hosts, waits)

    @cached_property
    def view(self) -> RunTimings:
        """The times and regimes, in the form for the figures."""
        whole = Decoded.from_regimes(self.ranks.regimes)
        slowest = Decoded.from_regimes(self.slowest.regimes) if self.has_several else whole
        return RunTimings(whole, slowest, self.ranks.regimes.training)


def resolve_emission(runs: Sequence[Timings], options: RegimeOptions) -> str:
    """Return the family that `options` ask for; for `auto`, the best one for all runs together."""
    if options.emission != AUTO:
        return options.emission
    series = []
    for run in runs:
        timings = run if options.reduce is None else run.reduce(options.reduce)
        rows = series_of(timings, representative(timings, options.ranks_fitted), slice(*options.instances))
        series.append([row for row in rows if len(row)])
    regimes = options.states if isinstance(options.states, int) else RegimeOptions.states
    return choose_family(series, int(regimes), options.seed)


def analyse(timings: Timings, options: RegimeOptions, emission: str | None = None) -> RegimeAnalysis:
    """Fit and decode the times of all ranks, or the series that `options.reduce` asks for, and T^max.

    `emission` is the family that `resolve_emission` chose for several runs; None: chosen here.

    Raises `UsageError` if there are too few times for the number of regimes.
    """
    given = options
    options = replace(given, emission=emission or resolve_emission([timings], given))
    if options.reduce is not None:
        timings = timings.reduce(options.reduce)
    ranks = fit_and_decode(timings, options)
    slowest = ranks if len(timings.ranks) == 1 else fit_and_decode(timings.reduce("max"), options)
    machine = _machine(timings, ranks.regimes, options) if options.machine_states else None
    return RegimeAnalysis(ranks, slowest, given, machine)


def _machine(timings: Timings, regimes: Regimes, options: RegimeOptions) -> WholeMachine:
    model = MachineModel(
        regimes.model.n_regimes,
        options.machine_states,
        options.emission,
        n_init=options.starts,
        random_state=options.seed,
    )
    return fit_machine(timings, regimes.training, slice(*options.instances), model)


def fit_and_decode(timings: Timings, options: RegimeOptions) -> Fit:
    """Fit and decode the rows of `timings`. Raises `UsageError`, `TimingsError`."""
    training = representative(timings, options.ranks_fitted)
    fitted = series_of(timings, training, slice(*options.instances))
    how: dict[str, Any] = {
        "emission": options.emission,
        "n_init": options.starts,
        "random_state": options.seed,
        "max_iter": _MOST_STEPS,
    }
    if isinstance(options.states, str):
        selection = select(fitted, criterion=options.states, **how)
        regimes = decode_all(selection.model, timings, training)
        return Fit(regimes, selection.table, fitted, selection.at_ceiling)
    model = RegimeModel(options.states, **how).fit(fitted)
    return Fit(decode_all(model, timings, training), None, fitted)
