"""Fits to times whose truth is known: one line, and lines with the sizes where they change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from haloscope.predict.lines import fit_line, fit_pieces

DOUBLINGS = [1 << power for power in range(23)]
LATENCY = st.floats(1e-7, 1e-4)
SPEED = st.floats(1e8, 1e11)


@given(LATENCY, SPEED)
def test_a_line_is_found_exactly(alpha: float, speed: float) -> None:
    found = fit_line(DOUBLINGS, [alpha + size / speed for size in DOUBLINGS])
    assert found.alpha == pytest.approx(alpha, rel=1e-6)
    assert found.beta == pytest.approx(1 / speed, rel=1e-6)
    assert found(1000) == pytest.approx(alpha + 1000 / speed, rel=1e-6)


@pytest.mark.parametrize("sizes", [DOUBLINGS, DOUBLINGS[::7]], ids=len)
def test_intervals_hold_the_truth_as_often_as_they_say(sizes: list[int]) -> None:
    random, runs = np.random.default_rng(1), 1000
    times = np.array([3e-7 + size * 1e-10 for size in sizes])
    held = np.zeros(2)
    for _ in range(runs):
        found = fit_line(sizes, times * (1 + 0.02 * random.standard_normal(len(times))))
        held += found.alpha_interval[0] <= 3e-7 <= found.alpha_interval[1]
        held[1] += found.beta_interval[0] <= 1e-10 <= found.beta_interval[1]
        held[1] -= found.alpha_interval[0] <= 3e-7 <= found.alpha_interval[1]
    # Of 1000 with 95 % each, 3 standard deviations are 21.
    assert held == pytest.approx([950, 950], abs=25)


@given(st.lists(st.floats(1e-9, 1.0), min_size=2, max_size=12))
def test_nothing_is_below_zero(times: list[float]) -> None:
    found = fit_line(DOUBLINGS[: len(times)], times)
    assert found.alpha >= 0
    assert found.beta >= 0
    assert all(piece.alpha >= 0 and piece.beta >= 0 for piece in fit_pieces(DOUBLINGS[: len(times)], times))


@given(LATENCY, SPEED, st.integers(0, 1 << 32))
def test_one_protocol_is_one_line(alpha: float, speed: float, seed: int) -> None:
    noise = np.random.default_rng(seed).uniform(0.98, 1.02, len(DOUBLINGS))
    times = [(alpha + size / speed) * factor for size, factor in zip(DOUBLINGS, noise, strict=True)]
    (piece,) = fit_pieces(DOUBLINGS, times)
    assert (piece.first, piece.before) == (0, 0)


@pytest.mark.slow
@given(
    starts=st.lists(st.integers(3, 19), min_size=1, max_size=3, unique=True).map(sorted),
    alpha=LATENCY,
    speed=SPEED,
    jump=st.floats(1.7, 10),
    seed=st.integers(0, 1 << 32),
)
def test_switches_are_found_where_they_are(
    starts: list[int], alpha: float, speed: float, jump: float, seed: int
) -> None:
    """Each protocol takes `jump` times the time of the previous one, at any size."""
    if any(later - earlier < 3 for earlier, later in zip(starts, [*starts[1:], 23], strict=True)):
        starts = starts[:1]
    noise = np.random.default_rng(seed).uniform(0.99, 1.01, len(DOUBLINGS))
    times = [
        (alpha + size / speed) * jump ** sum(index >= start for start in starts) * noise[index]
        for index, size in enumerate(DOUBLINGS)
    ]
    found = fit_pieces(DOUBLINGS, times)
    assert [piece.first for piece in found] == [0, *(DOUBLINGS[start] for start in starts)]
    assert [piece.before for piece in found[1:]] == [DOUBLINGS[start - 1] for start in starts]


def test_the_order_of_sizes_does_not_matter() -> None:
    times = [1e-6 if size < 4096 else 3e-6 + size * 1e-10 for size in DOUBLINGS]
    assert fit_pieces(DOUBLINGS[::-1], times[::-1]) == fit_pieces(DOUBLINGS, times)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_sizes_are_one_line(count: int) -> None:
    assert len(fit_pieces(DOUBLINGS[:count], [1e-6, 5e-6, 1e-6][:count])) == 1
