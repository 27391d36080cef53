"""Time added by slow regimes: parts add up, a planted share is found, intervals cover it, two sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from haloscope.markov import RegimeOptions, regimes
from haloscope.markov.statistics import episodes, measure_added_time
from support.profiles import draft, path_rows, process_rows

RANKS, INSTANCES, USUAL = 16, 600, 1e-3
HOSTS = tuple(f"node{rank // 4}" for rank in range(RANKS))
# The episodes of a run without slowdowns.
NONE = episodes(np.ones((1, 8)), np.zeros((1, 8), dtype=np.uint8), 1, ranks=np.arange(1), hosts=(None,))


def planted(random: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return times and the truth: 1 % is slow; the machine for 60 instances, node2 for 90, rank 5 for 120."""
    extra: NDArray[np.float64] = 1e-3 * (random.random((RANKS, INSTANCES)) < 0.01).astype(np.float64)
    extra[:, 100:160] += 1e-3
    extra[8:12, 300:390] += 2e-3
    extra[5, 450:570] += 3e-3
    work = USUAL * (1 + 0.2 * np.arange(RANKS) / RANKS)[:, None]  # ranks with more work are not slow
    times: NDArray[np.float64] = work * random.normal(1, 0.02, extra.shape) + extra
    return times, extra


def test_planted_slowdowns_are_found_by_place(tmp_path: Path) -> None:
    times, extra = planted(np.random.default_rng(1))
    np.savez(tmp_path / "run.npz", duration=times, rank=np.arange(RANKS), host=np.array(HOSTS))
    results = regimes([tmp_path / "run.npz"], RegimeOptions(starts=4))
    found = results.analyses[0].added
    assert found is not None
    truth = extra.sum() / times.sum()
    assert found.share == pytest.approx(truth, rel=0.02)
    assert found.share_low < truth < found.share_high
    assert sum(found.parts.values()) == pytest.approx(found.share, rel=1e-12)
    where: dict[str, Any] = {
        "machine": (slice(None), slice(100, 160)),
        "host": (slice(8, 12), slice(300, 390)),
        "rank": (5, slice(450, 570)),
    }
    for kind, place in where.items():
        assert found.parts[kind] == pytest.approx(extra[place].sum() / times.sum(), rel=0.1), kind
    assert [who for who, _ in found.most.values()] == ["node2", "5"]
    assert found.program == pytest.approx((times - extra).mean(), rel=0.01)
    first, second, *_ = results.describe()
    assert first.startswith("The program itself takes 1.")
    assert "while the ranks of one host were (the most host node2" in second
    assert "while one rank was (the most rank 5" in second
    assert "worst in the instances 100 to 159" in second
    # Times alone do not show whether ranks waited.
    assert "do not separate waiting for other ranks" in results.describe()[2]
    assert not any("machine" in line for line in results.describe()[:3])


def test_a_program_alone_has_a_machine_that_adds_nothing(tmp_path: Path) -> None:
    np.save(tmp_path / "calm.npy", np.random.default_rng(2).normal(1e-3, 1e-5, (8, 400)))
    results = regimes([tmp_path / "calm.npy"], RegimeOptions(starts=3))
    found = results.analyses[0].added
    assert found is not None
    assert found.slow == 0
    assert found.share == pytest.approx(0, abs=1e-12)
    assert results.describe()[1].startswith("Slow regimes add no detectable time")
    assert not any("waiting" in line for line in results.describe())


@pytest.mark.parametrize("waited", [1.0, 0.75, 0.0])
def test_waiting_is_never_called_the_machine_s(tmp_path: Path, waited: float) -> None:
    """An exchange in which ranks wait for a late rank: `waited` of the excess is waiting in MPI."""
    random = np.random.default_rng(4)
    extra = np.zeros((4, 300))
    extra[:, 100:160] = 2e-3
    durations = random.normal(1e-3, 1e-5, extra.shape) + extra
    rows = [
        {
            "path": 1,
            "rank": rank,
            "instance": at,
            "start": 0.01 * at,
            "duration": float(durations[rank, at]),
            "wait": float(waited * extra[rank, at]),
        }
        for rank in range(4)
        for at in range(300)
    ]
    made = draft({"ranks": 4}, paths=path_rows("halo"), processes=process_rows(*"aaaa"), series=rows)
    results = regimes(made.write(tmp_path / "run.halo"), RegimeOptions(starts=2))
    found = results.analyses[0].added
    assert found is not None
    assert found.waiting == pytest.approx(waited, abs=0.01)
    cause = results.describe()[2]
    assert " % is waiting in MPI, which belongs to the program; at most " in cause
    bound = float(cause.partition("at most ")[2].partition(" %")[0])
    assert bound == pytest.approx(100 * (1 - waited) * found.share, abs=0.5)
    assert not any("machine adds" in line for line in results.describe())


def test_intervals_cover_the_truth_if_instances_are_correlated() -> None:
    """All ranks are slow for 20 instances at a time. In 88 % of 200 runs the interval covers the truth."""
    random = np.random.default_rng(3)
    begins, ends = 0.01, 0.05
    truth = 1e-3 * begins / (begins + ends)
    truth /= USUAL + truth
    inside = 0
    for _ in range(200):
        draws = random.random(3000)
        slow = np.zeros(3000, dtype=bool)
        for index in range(1, 3000):
            slow[index] = draws[index] < (1 - ends if slow[index - 1] else begins)
        times = random.normal(USUAL, 2e-5, (4, 3000)) + 1e-3 * slow
        found = measure_added_time(times, np.tile(slow, (4, 1)), NONE, range(4), ("a",) * 4)
        assert found is not None
        inside += found.share_low < truth < found.share_high
    assert inside >= 176


def test_missing_instances_and_nothing_calm() -> None:
    times = np.full((2, 10), 1e-3)
    times[1, 5:] = np.nan
    slow = np.zeros(times.shape, dtype=bool)
    slow[0, 8:] = True
    times[0, 8:] = 3e-3
    found = measure_added_time(times, slow, NONE, [0, 1], [None, None])
    assert found is not None
    assert found.added * 15 == pytest.approx(4e-3)
    assert found.slow == pytest.approx(2 / 15)
    assert measure_added_time(times, ~np.isnan(times), NONE, [0, 1], [None, None]) is None
