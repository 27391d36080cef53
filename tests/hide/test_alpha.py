"""Decisions of the overlap library through its C interface, against a second implementation."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from support.mpi import CHECKOUT, Mpi
from support.processes import run_program
from support.programs import Compiler

OVERLAP = CHECKOUT / "src" / "hide" / "overlap"
INCLUDE = f"-I{CHECKOUT / 'src'}"
ITEMS = st.integers(0, 10**7)
SHARE = st.floats(0, 1)
SECONDS = st.floats(0, 10)
Floats = NDArray[np.float64]


class Settings(ctypes.Structure):
    """`struct haloscope_overlap_settings`."""

    _fields_ = [
        ("policy", ctypes.c_int),
        ("alpha", ctypes.c_double),
        ("theta", ctypes.c_double),
        ("epsilon", ctypes.c_double),
        ("largest_step", ctypes.c_double),
        ("chunk", ctypes.c_size_t),
        ("budget", ctypes.c_double),
        ("phases", ctypes.c_int),
        ("consistent", ctypes.c_int),
        ("early_sends", ctypes.c_int),
        ("partners", ctypes.c_int),
        ("region", ctypes.c_char_p),
        ("regimes", ctypes.c_void_p),
    ]


@pytest.fixture(scope="module")
def shared(any_mpi: Mpi, compiler: Compiler) -> Path:
    first, *others = sorted(OVERLAP.glob("*.cpp"))
    flags = ["-shared", "-fPIC", "-std=c++20", "-g0", "-w", INCLUDE]
    return compiler(any_mpi, first, [*flags, *map(str, others)])


@pytest.fixture(scope="module")
def library(shared: Path) -> ctypes.CDLL:
    loaded = ctypes.CDLL(str(shared))
    loaded.haloscope_overlap_defaults.restype = Settings
    loaded.haloscope_overlap_next_alpha.restype = ctypes.c_double
    loaded.haloscope_overlap_next_alpha.argtypes = [
        ctypes.POINTER(Settings),
        ctypes.c_size_t,
        *[ctypes.c_double] * 3,
    ]
    loaded.haloscope_overlap_split.restype = ctypes.c_size_t
    loaded.haloscope_overlap_split.argtypes = [ctypes.c_size_t, ctypes.c_double]
    loaded.haloscope_overlap_chunk.restype = ctypes.c_size_t
    loaded.haloscope_overlap_chunk.argtypes = [ctypes.c_size_t, *[ctypes.c_double] * 3]
    return loaded


def algorithm_3(
    items: int, alpha: float, waits: tuple[float, float], theta: float, epsilon: float, step: float
) -> float:
    """Return the next α by the paper's Algorithm 3, with its second case from the text, within bounds."""
    before, late_in, late_out = Fraction(alpha), Fraction(waits[0]), Fraction(waits[1])
    zero = Fraction(epsilon)
    if not ((late_in > zero and late_out < zero) or (late_in < zero and late_out > zero)):
        return alpha
    if items < 2:
        return 0.5
    least = Fraction(1, items)
    before = min(max(before, least), 1 - least)
    factor = late_in / zero if late_in > zero else zero / late_out
    factor = min(max(factor, 1 / Fraction(step)), Fraction(step))
    r = before / (1 - before) * factor
    after = Fraction(theta) * r / (1 + r) + (1 - Fraction(theta)) * before
    return float(min(max(after, least), 1 - least))


def test_defaults(library: ctypes.CDLL) -> None:
    given = library.haloscope_overlap_defaults()
    assert (given.policy, given.alpha, given.theta, given.epsilon) == (0, 0.5, 0.5, 1e-4)
    assert (given.largest_step, given.budget, given.phases) == (4, 0.005, 1)


@settings(max_examples=400)
@given(ITEMS, SHARE, SECONDS, SECONDS, SHARE, st.floats(1e-9, 1), st.floats(1.001, 100))
def test_next_alpha(
    library: ctypes.CDLL,
    items: int,
    alpha: float,
    late_in: float,
    late_out: float,
    theta: float,
    epsilon: float,
    step: float,
) -> None:
    chosen = library.haloscope_overlap_defaults()
    chosen.theta, chosen.epsilon, chosen.largest_step = theta, epsilon, step
    got = library.haloscope_overlap_next_alpha(chosen, items, alpha, late_in, late_out)
    expected = algorithm_3(items, alpha, (late_in, late_out), theta, epsilon, step)
    assert got == pytest.approx(expected, rel=1e-9, abs=1e-12)


@settings(max_examples=100)
@given(st.integers(2, 10**6), st.floats(1e-3, 1), SHARE)
def test_alpha_recovers_from_its_bounds(library: ctypes.CDLL, items: int, theta: float, alpha: float) -> None:
    """From any α, a late input alone raises it to its upper bound, a late output alone lowers it."""
    chosen = library.haloscope_overlap_defaults()
    chosen.theta = theta
    for waits, bound in (((1.0, 0.0), 1 - 1 / items), ((0.0, 1.0), 1 / items)):
        last = min(max(alpha, 1 / items), 1 - 1 / items)
        for _ in range(20):
            now = library.haloscope_overlap_next_alpha(chosen, items, last, *waits)
            assert abs(now - bound) <= abs(last - bound)
            last = now
        if theta > 0.5 and items < 1000:
            assert last == pytest.approx(bound, rel=0.05, abs=0.01)


@settings(max_examples=300)
@given(ITEMS, SHARE)
def test_split(library: ctypes.CDLL, items: int, alpha: float) -> None:
    got = library.haloscope_overlap_split(items, alpha)
    assert got in {math.floor(alpha * items), math.floor(alpha * items + 1e-6)}
    assert 0 <= got <= items
    if items >= 2:
        assert library.haloscope_overlap_split(items, 1 / items) == 1
        assert library.haloscope_overlap_split(items, 1 - 1 / items) == items - 1


@settings(max_examples=300)
@given(st.integers(1, 10**6), st.floats(1e-4, 1), st.floats(1e-9, 1e-3), st.floats(1e-9, 1e-3))
def test_chunks_keep_polls_within_their_budget(
    library: ctypes.CDLL, items: int, budget: float, poll: float, item: float
) -> None:
    chunk = library.haloscope_overlap_chunk(items, budget, poll, item)
    assert 1 <= chunk <= items
    within = poll <= budget * chunk * item * (1 + 1e-9)
    assert within or chunk == items
    # The chunk is not longer than the budget needs, so that arrivals are detected soon.
    assert chunk == 1 or poll > budget * (chunk - 1) * item * (1 - 1e-9)


FAMILIES: list[tuple[str, list[list[float]], Callable[[list[float]], Any]]] = [
    ("gaussian", [[2e-3, 2e-4, 0], [6e-3, 2e-3, 0]], lambda p: stats.norm(p[0], p[1])),
    ("lognormal", [[-6.2, 0.1, 0], [-5.1, 0.6, 0]], lambda p: stats.lognorm(p[1], scale=math.exp(p[0]))),
    ("gamma", [[9, 1e-4, 1e-3], [4, 1e-3, 1e-3]], lambda p: stats.gamma(p[0], p[2], p[1])),
    ("student", [[2e-3, 2e-4, 4], [6e-3, 2e-3, 3]], lambda p: stats.t(p[2], p[0], p[1])),
]


Simulate = Callable[[str, Sequence[float]], Floats]


@pytest.fixture(scope="module")
def simulate(any_mpi: Mpi, compiler: Compiler, shared: Path) -> Simulate:
    """`simulate(program, numbers)` is the output of a program for numbers, without MPI."""

    def run(name: str, numbers: Sequence[float]) -> Floats:
        source = CHECKOUT / "tests" / "hide" / "programs" / f"{name}.cpp"
        program = compiler(any_mpi, source, ["-std=c++20", "-g0", "-w", INCLUDE, str(shared)])
        words = " ".join(f"{number:.17g}" for number in numbers)
        done = run_program([str(program)], text=words)
        return np.array([line.split() for line in done.stdout.splitlines()], dtype=np.float64)

    return run


@settings(max_examples=40)
@given(st.floats(2e-8, 5e-7), st.floats(0, 0.5), st.floats(3, 2000), st.integers(0, 2**32 - 1))
@example(usual=2.328e-07, share=0.5, longer=149, seed=3)  # the first four polls are interrupted
def test_the_cost_of_a_poll_is_its_usual_time(
    simulate: Simulate, usual: float, share: float, longer: float, seed: int
) -> None:
    """Interrupted polls may take any time: the other polls determine the chunk."""
    random = np.random.default_rng(seed)
    interrupted = random.random(400) < share
    polls = usual * random.uniform(1, 1.2, 400) * np.where(interrupted, longer, 1)
    items, budget, item = 100_000, 0.005, 1e-6
    chunks = simulate("polls", [items, budget, item, len(polls), *polls])[:, 0]
    expected = usual / (budget * item)
    assert (chunks >= 0.9 * expected).all()
    assert (chunks[~interrupted] <= 2 * 1.2 * expected + 1).all()
    assert np.median(chunks[100:]) <= 1.3 * expected + 1


@pytest.mark.parametrize("family", range(len(FAMILIES)))
@pytest.mark.parametrize("given", [(1, 0, 0), (0, 1, 1)])
def test_posterior_of_the_regimes(simulate: Simulate, family: int, given: tuple[int, int, int]) -> None:
    """Blocks have a density, exchanges without waiting the probability of at most this block."""
    _, parameters, distribution = FAMILIES[family]
    start, transition = np.array([0.7, 0.3]), np.array([[0.95, 0.05], [0.2, 0.8]])
    random = np.random.default_rng(1)
    values = random.gamma(4, 1e-3, (200, 2)) + 1.1e-3
    waits = np.where(random.random((200, 2)) < 0.5, 1e-3, 0)
    model = [number for one in given for number in (one, *(np.ravel(parameters) if one else ()))]
    runs = np.stack([values[:, 0], waits[:, 0], values[:, 1], waits[:, 1]], axis=1)
    numbers = [family, 2, *start, *transition.ravel(), *model, len(runs), 1e-4, *runs.ravel()]
    got = simulate("filter", numbers)
    frozen = [distribution(row) for row in parameters]
    if given[0]:
        likelihoods: Floats = np.array([one.pdf(values.sum(axis=1)) for one in frozen])
    else:
        likelihoods = np.array(
            [np.where(waits > 0, one.pdf(values), one.cdf(values)).prod(axis=1) for one in frozen]
        )
    expected = []
    ahead = start
    for likelihood in likelihoods.T:
        seen = ahead * likelihood / (ahead * likelihood).sum()
        ahead = seen @ transition
        expected.append([*seen, *ahead])
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-10)


# Regimes change in every seventh run, which costs one run, or predictably in nearly all runs.
@pytest.mark.parametrize(("stay", "share", "left"), [(0.85, 0.85, 0.8), (0.05, 0.93, 0.3)])
def test_regimes_hide_more_than_the_typical_alpha(
    simulate: Simulate, stay: float, share: float, left: float
) -> None:
    """Input and output are late alternately, so no α is good for both."""
    random = np.random.default_rng(3)
    late_input = np.cumsum(random.random(3000) > stay) % 2 == 0
    late = np.stack([late_input, ~late_input], axis=1)
    latencies = np.clip(random.normal(np.where(late, 0.7, 0.1), 0.05), 0, None)
    hideable = latencies.sum(axis=1)[500:].sum()
    exposed = {}
    for name, policy in (("fixed", 0), ("dynamic", 1), ("regimes", 4)):
        numbers = [policy, 0.01, stay, len(latencies), *latencies.ravel()]
        exposed[name] = simulate("scenario", numbers)[500:, 1].sum() / hideable
    assert exposed["regimes"] < left * exposed["dynamic"], exposed
    assert exposed["regimes"] < left * exposed["fixed"], exposed
    assert 1 - exposed["regimes"] > share, exposed


@pytest.mark.parametrize("late", [0.6, 0.75, 0.9])
def test_a_rank_that_does_not_wait_learns_that_its_output_is_late(simulate: Simulate, late: float) -> None:
    """A rank gets its input at once. Its work takes one second; its output is late by `late` seconds."""
    random = np.random.default_rng(5)
    spikes = np.where(random.random(200) < 0.05, 0.8, 0)  # lateness of its input
    for told in (0, 1):
        alphas, waits = simulate("partners", [told, 0.02, late, len(spikes), *spikes]).T
        if told:
            assert np.median(waits[20:]) < 0.03
            assert np.median(alphas[20:]) < 1 - late + 0.05
        else:
            assert np.median(waits[20:]) > late - 0.5
            assert np.median(alphas[100:]) >= 0.5  # raised by each spike
