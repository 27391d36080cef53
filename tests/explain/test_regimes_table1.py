"""Table 1 of the paper: Algorithm 1 recovers it from drawn series, for all three methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

STUDY = "studies/hmm-regimes-communication-hiding"
RUNS = 20 * 8192 / 25  # of 25 instances on average


@pytest.fixture
def study(script: Callable[..., Any]) -> Any:
    return script("table1", STUDY)


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(0, id="fixed alpha"),
        pytest.param(1, id="dynamic alpha", marks=pytest.mark.long),
        pytest.param(2, id="MPI test", marks=pytest.mark.long),
    ],
)
def test_algorithm_1_recovers_table_1(study: Any, method: int) -> None:
    printed = study.TABLE[method]
    found = study.recovered(printed, seed=method)
    means, stds, shares = (np.array(getattr(printed, name)) for name in ("means", "stds", "shares"))
    count = shares * 20 * 8192
    # Regimes 1 and 2: ten standard errors of normal samples, since the two overlap (1.7 to 2.5
    # deviations apart); that is half a unit of the last printed digit of the mean.
    np.testing.assert_allclose(found.means[:2], means[:2], atol=10 * max(stds[:2] / count[:2] ** 0.5))
    np.testing.assert_allclose(found.stds[:2], stds[:2], rtol=10 / (2 * count.min()) ** 0.5)
    # Regime 3: five standard errors of a log-normal's maximum likelihood, by the delta method. It uses
    # log μ = m + v/2, log σ = m + v/2 + log(eᵛ − 1)/2, var m = v/n and var v = 2v²/n.
    v, n = np.log1p((stds[2] / means[2]) ** 2), count[2]
    of_mean = np.sqrt(v / n + v**2 / 2 / n)
    of_std = np.sqrt(v / n + (0.5 + 0.5 / (1 - np.exp(-v))) ** 2 * 2 * v**2 / n)
    assert abs(np.log(found.means[2] / means[2])) < 5 * of_mean < 0.045
    assert abs(np.log(found.stds[2] / stds[2])) < 5 * of_std < 0.075
    # The deviation of decoded times depends on the few longest ones: the kurtosis of this
    # log-normal is over 300, the standard error of σ up to 10 % of σ.
    np.testing.assert_allclose(found.decoded_stds[2], stds[2], rtol=0.3)
    np.testing.assert_allclose(found.decoded_means, means, rtol=0.05)
    # Shares: five standard errors of this number of runs, and the 1.5 % that are decoded wrong.
    np.testing.assert_allclose(found.shares, shares, atol=5 * np.sqrt(0.23 / RUNS) + 0.015)
    assert found.right > 0.98


def test_gaussian_regimes_do_not_recover_it(study: Any) -> None:
    """The paper's family splits the slow regime, and merges the two fast ones."""
    found = study.recovered(study.TABLE[0], seed=0, emission="gaussian")
    assert found.right < 0.6
