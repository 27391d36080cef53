"""The likeliest model: many starts are tried on a part of the data, and the best ones climb on all of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from haloscope.base.arrays import Floats, Indices
from haloscope.markov.emissions.emission import Emission
from haloscope.markov.fitting.chains import NATIVE, Expected, Parameters, PreparedSequences, Sequences
from haloscope.profile.kernels import Chain

_MOST_VALUES = 1 << 14
_STAYING = 0.9
_ROUNDS = 50
_NARROWEST = 0.02  # of the distance of the quartiles: the initial width of a state
_STAYS = 0.9  # of the probability to stay in a split regime: the part of the same half
# Positions and widths of the halves, in deviations of the split regime: next to each other, or a narrow one
# within a wide one.
_HALVES = (((-0.6, 0.6), (0.7, 0.7)), ((-0.2, 0.2), (0.4, 1.4)))


def starts(
    sequences: Sequences, emission: type[Emission], regimes: int, number: int, seed: int | None
) -> Iterator[Parameters]:
    """Yield `number` guesses, the same ones for the same seed.

    The first has equally many timings in each part. The second cuts between clusters of the logarithms
    (k-means), the third between clusters of the timings. All others cut at random quantiles. Few and many
    timings have the same weight.
    """
    random = np.random.default_rng(seed)
    values = sequences.inside
    values = np.sort(values[:: len(values) // _MOST_VALUES + 1])
    for guess in range(number):
        if guess == 0:
            cuts = np.arange(1, regimes) * len(values) // regimes
        elif guess == 1 and values[0] > 0:
            cuts = _clusters(np.log(values), regimes)
        elif guess <= 2:
            cuts = _clusters(values, regimes)
        else:
            cuts = np.sort(random.integers(1, max(len(values), 2), regimes - 1))
        yield Parameters(make_uniform_chain(regimes), _make_states(values, cuts, emission))


def _clusters(values: Floats, regimes: int) -> Indices:
    """Return the cuts of k-means in sorted values, from clusters of equal width between quantiles."""
    low, high = values[int(0.01 * len(values))], values[int(0.99 * (len(values) - 1))]
    centres = low + (high - low) * (np.arange(regimes) + 0.5) / regimes
    sums = np.concatenate([[0.0], np.cumsum(values)])
    cuts = np.zeros(0, dtype=np.intp)
    for _ in range(_ROUNDS):
        new = np.searchsorted(values, (centres[1:] + centres[:-1]) / 2)
        if np.array_equal(new, cuts):
            break
        cuts = new
        edges = np.concatenate([[0], cuts, [len(values)]])
        sizes = np.diff(edges)
        means = np.diff(sums[edges]) / np.maximum(sizes, 1)
        centres = np.where(sizes > 0, means, centres)
    return cuts


def _make_states(values: Floats, cuts: Indices, emission: type[Emission]) -> Emission:
    """Return a state for each part; an empty part takes the timing at the cut."""
    edges = np.concatenate([[0], cuts, [len(values)]]).tolist()
    parts = [
        values[begin:end] if begin < end else values[min(begin, len(values) - 1) :][:1]
        for begin, end in pairwise(edges)
    ]
    means = np.array([part.mean() for part in parts])
    low, high = np.quantile(values, [0.25, 0.75])
    stds = np.array([max(part.std(), _NARROWEST * (high - low)) for part in parts])
    return emission.from_moments(means, stds, values)


def make_uniform_chain(regimes: int) -> Chain:
    """Return a chain whose regimes all last ten instances."""
    others = (1 - _STAYING) / max(regimes - 1, 1)
    transition = np.full((regimes, regimes), others)
    np.fill_diagonal(transition, _STAYING if regimes > 1 else 1.0)
    return Chain(np.full(regimes, 1 / regimes), transition)


def splits(fitted: Parameters, sequences: Sequences) -> list[Parameters]:
    """Return two guesses for each regime of a model, with one more regime."""
    values = sequences.inside
    return [
        _split(fitted, state, values, np.array(places), np.array(widths))
        for state in range(len(fitted.chain.start))
        for places, widths in _HALVES
    ]


def _split(fitted: Parameters, state: int, values: Floats, places: Floats, widths: Floats) -> Parameters:
    chain, emission = fitted.chain, fitted.emission
    mean, std = emission.means[state], emission.stds[state]
    halves = np.array([state, len(chain.start)])
    means, stds = np.append(emission.means, 0.0), np.append(emission.stds, 0.0)
    means[halves] = np.maximum(mean + places * std, (mean + values.min()) / 2)
    stds[halves] = widths * std
    origin = np.append(np.arange(len(chain.start)), state)
    shares = np.where(origin == state, 0.5, 1.0)
    transition = chain.transition[np.ix_(origin, origin)] * shares
    stays = chain.transition[state, state]
    transition[np.ix_(halves, halves)] = stays * (1.0 - _STAYS)
    transition[halves, halves] = stays * _STAYS
    start = chain.start[origin] * shares
    return Parameters(Chain(start, transition), type(emission).from_moments(means, stds, values))


# No transition is less likely: for an impossible one the kernels would take their slow path.
_RAREST = 1e-30
_ROUNDING = 1e-12  # part of a log likelihood: a smaller gain may be a rounding error
# Instances on which starts are tried; fewer if the family has no special kernels.
_TRIED, _TRIED_SLOWLY = 1 << 14, 1 << 13
_WINDOW = 512  # the least number of instances of a sequence that are kept together
_STEPS = 30  # the most steps of a start that is tried
_CLIMBED = 3  # starts that are climbed to the end
# Of more instances than this, a part chooses the one start that is then fitted to all of them.
_MANY, _PART = 1 << 20, 1 << 18
_SLOWER = 3  # powers of two: the factor for families without special kernels
_SAME = 2.0  # ends whose log likelihoods differ by less, apart from the gain that is left, are the same end
_FEWEST = 2.0  # instances below which a regime counts as empty
_ALIKE = 1e-3  # part of the larger deviation: means that differ by less count as equal


@dataclass(frozen=True)
class SearchLimits:
    """Limits of the search.

    `stickiness` is a number of instances per regime that count as staying, in addition to the data.
    """

    max_iter: int
    tol: float
    memory: bool
    stickiness: float


@dataclass(frozen=True)
class Climb:
    """The end of a climb, its number of steps, and whether it converged."""

    parameters: Parameters
    log_likelihood: float
    weight: Floats
    steps: int
    converged: bool

    def reorder(self, order: Indices) -> Climb:
        """Return the same with states in another order."""
        return replace(self, parameters=self.parameters.reorder(order), weight=self.weight[order])


def climb(work: PreparedSequences, parameters: Parameters, rules: SearchLimits) -> Climb:
    """Take steps until the expected further gain per instance is below `rules.tol`.

    The further gain is extrapolated from the last two gains as a geometric series (Aitken; see Böhning et al.
    1994, doi 10.1007/BF01720593). A negative `tol` takes all steps.
    """
    if not rules.memory:
        parameters = Parameters(_mixture(parameters.chain.start), parameters.emission)
    last, gain, weight = -np.inf, np.inf, np.zeros(len(parameters.chain.start))
    steps, converged = 0, False
    while steps < rules.max_iter:
        expected = work.compute_expected(parameters)
        weight = expected.weight
        reached = expected.log_likelihood + _prior(parameters.chain, rules)
        before, gain, last = gain, reached - last, reached
        if rules.tol >= 0 and _remaining(before, gain, last) <= rules.tol * work.sequences.points:
            converged = True
            break
        steps += 1
        parameters = Parameters(_chain(expected, parameters.chain, rules), expected.emission)
    if converged:
        return Climb(parameters, expected.log_likelihood, weight, steps, converged)
    likelihood = float(work.log_likelihoods(parameters).sum())
    return Climb(parameters, likelihood, weight, steps, converged)


def _prior(chain: Chain, rules: SearchLimits) -> float:
    """Return the log density of the Dirichlet prior that stickiness means, up to a constant."""
    if not rules.stickiness or not rules.memory:
        return 0.0
    with np.errstate(divide="ignore"):
        return rules.stickiness * float(np.log(np.diag(chain.transition)).sum())


def _remaining(before: float, gain: float, log_likelihood: float) -> float:
    if gain <= _ROUNDING * abs(log_likelihood):
        return 0.0
    if not np.isfinite(before):
        return np.inf
    return gain * gain / (before - gain) if before > gain else np.inf


def _chain(expected: Expected, old: Chain, rules: SearchLimits) -> Chain:
    if not rules.memory:
        return _mixture(expected.weight / expected.weight.sum())
    counts = expected.transition + rules.stickiness * np.eye(len(expected.start))
    left = counts.sum(axis=1, keepdims=True)
    transition = np.where(left > 0, counts / np.where(left > 0, left, 1), old.transition)
    return Chain(expected.start / expected.start.sum(), np.maximum(transition, _RAREST))


def _mixture(shares: Floats) -> Chain:
    """Return a chain without memory."""
    return Chain(shares, np.tile(np.maximum(shares, _RAREST), (len(shares), 1)))


@dataclass(frozen=True)
class Searched:
    """The likeliest end; the number of starts; how many of `climbed` ended there.

    `next_best` is the distance to the likeliest other end (natural logarithm of the likelihood).
    """

    best: Climb
    starts: int
    climbed: int
    agreed: int
    next_best: float


@dataclass(frozen=True)
class Search:
    """The search for the likeliest model with a number of regimes."""

    kind: type[Emission]
    regimes: int
    number: int
    seed: int | None
    rules: SearchLimits
    threads: int

    def run(self, sequences: Sequences, fewer: Parameters | None) -> Searched:
        """Try `number` starts and the splits of a model with one regime `fewer`; climb.

        One of the starts grows from one regime: the regime whose split gains most is split.
        """
        native = self.kind in NATIVE
        slower = 0 if native else _SLOWER
        part = _part(sequences, _MANY >> slower, _PART >> slower)
        sample = _windows(part, _TRIED if native else _TRIED_SLOWLY)
        first = list(starts(part, self.kind, self.regimes, self.number, self.seed))
        if fewer is not None:
            first += splits(fewer, part)
        elif self.number > 1 and self.regimes > 1:
            first[-1] = self._grow(sample)
        found = self._climb_best(part, self._try_starts(sample, first), len(first))
        if part is sequences:
            return found
        return replace(found, best=climb(self._work(sequences), found.best.parameters, self.rules))

    def _try_starts(self, sample: Sequences, first: Sequence[Parameters]) -> list[Parameters]:
        """Return the starts after a few steps, the likeliest first."""
        if len(first) == 1:
            return list(first)
        work = self._work(sample)
        tried = [climb(work, start, self._short) for start in first]
        tried.sort(key=lambda end: -end.log_likelihood)
        return [end.parameters for end in tried[:_CLIMBED]]

    def _climb_best(self, part: Sequences, first: Sequence[Parameters], number: int) -> Searched:
        work = self._work(part)
        ends = [climb(work, start, self.rules) for start in first]
        ends.sort(key=lambda end: -end.log_likelihood)
        best = ends[0]
        below = np.array([best.log_likelihood - end.log_likelihood for end in ends])
        other = below > _SAME + 10 * max(self.rules.tol, 0.0) * part.points
        next_best = float(below[other].min()) if other.any() else 0.0
        return Searched(best, number, len(ends), int((~other).sum()), next_best)

    def _grow(self, sample: Sequences) -> Parameters:
        """Return a model that grew by splits from one regime."""
        work = self._work(sample)
        found = next(starts(sample, self.kind, 1, 1, self.seed))
        for _ in range(1, self.regimes):
            tried = [climb(work, start, self._short) for start in splits(found, sample)]
            found = max(tried, key=lambda end: end.log_likelihood).parameters
        return found

    def _work(self, sequences: Sequences) -> PreparedSequences:
        return PreparedSequences(sequences, self.kind, self.threads)

    @property
    def _short(self) -> SearchLimits:
        return replace(self.rules, max_iter=min(_STEPS, self.rules.max_iter))


def _part(sequences: Sequences, many: int, some: int) -> Sequences:
    """Return sequences at equal distances among many, for a first look."""
    number = len(sequences.lengths)
    if sequences.points <= many or number == 1:
        return sequences
    kept = max(1, number * some // sequences.points)
    return sequences.select(np.linspace(0, number - 1, kept).round().astype(np.int64))


def _windows(sequences: Sequences, points: int) -> Sequences:
    """Return stretches of sequences at equal distances, including both ends."""
    number = len(sequences.lengths)
    if sequences.points <= points:
        return sequences
    window = max(_WINDOW, points // number)
    rows = np.unique(np.linspace(0, number - 1, min(number, points // window)).astype(np.int64))
    lengths = np.minimum(sequences.lengths[rows], max(window, points // len(rows)))
    places = np.linspace(0.0, 1.0, len(rows)) if len(rows) > 1 else np.array([0.5])
    later = ((sequences.lengths[rows] - lengths) * places).astype(np.int64)
    return replace(sequences, begins=sequences.begins[rows] + later, lengths=lengths, shape=None)


def doubts(best: Climb, sequences: Sequences, parameters: int) -> tuple[str, ...]:
    """Return lines about problems of a fit to `sequences` with this number of parameters."""
    values = sequences.inside
    if float(values.min()) == float(values.max()):
        return (f"all {len(values)} instances last {values[0]:g} s: there is one regime",)
    return (*_doubt_fit(best, len(values), parameters), *_doubt_regimes(best))


def disagreement(found: Searched) -> tuple[str, ...]:
    """Return a line if only one of the starts that climbed ended at the likeliest model."""
    if found.agreed > 1 or found.climbed == 1:
        return ()
    return (
        f"starts disagree: of the best {found.climbed} of {found.starts} only one ended here, the next end"
        f" is {found.next_best:.3g} less likely (logarithm): try more starts, or doubt these regimes",
    )


def _doubt_fit(best: Climb, points: int, parameters: int) -> list[str]:
    lines = []
    if points < parameters:
        lines.append(f"{points} instances for {parameters} parameters: the regimes mean little")
    if not best.converged:
        lines.append(f"not converged after {best.steps} steps: raise max_iter, or doubt these regimes")
    return lines


def _doubt_regimes(best: Climb) -> list[str]:
    means, stds = best.parameters.emission.means, best.parameters.emission.stds
    empty = np.flatnonzero(best.weight < _FEWEST).tolist()
    held = np.flatnonzero(best.parameters.emission.find_held()).tolist()
    close = np.flatnonzero(np.diff(means) < _ALIKE * np.maximum(stds[1:], stds[:-1])).tolist()
    return [
        *(f"regime {i} is empty: ask for fewer regimes" for i in empty),
        *(f"regime {i} is one point, {means[i]:g} s: its width was kept from zero" for i in held),
        *(f"regimes {i} and {i + 1} have the same mean: ask for fewer regimes" for i in close),
    ]
