"""All policies of the overlap library with all distributions of the injector, in virtual time.

The library runs on the clock of benchmarks/overlap/virtual.cpp. Expected values are computed here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from support.mpi import CHECKOUT, Mpi
from support.programs import Compiler

Floats = NDArray[np.float64]
CHEAP, EXPENSIVE = 2e-4, 1e-2  # time of a poll; the work takes 1
# The longest chunk between two polls, plus an item. `test`: 1/64; `adaptive`: polls take 0.005 of the time.
CHUNKS = {"test": 16e-3, "adaptive": CHEAP / 0.005 + 2e-3}
LAWS = ("none", "constant", "normal", "lognormal", "gamma", "empirical", "model")
EVERYWHERE = pytest.mark.parametrize("late", ["both", "output"])


@pytest.fixture
def virtual(script: Callable[..., Any]) -> Any:
    return script("virtual", "benchmarks/overlap")


@pytest.fixture
def simulate(virtual: Any, any_mpi: Mpi, compiler: Compiler) -> Callable[..., Any]:
    first, *others = virtual.SOURCES
    flags = ["-g0", "-O2", "-std=c++20", f"-I{CHECKOUT / 'src'}", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    return virtual.Simulation(compiler(any_mpi, first, [*flags, *map(str, others)]), 600)  # type: ignore[no-any-return]


def fixed(alpha: float | Floats, latencies: Floats) -> Floats:
    """Return the times of steps whose first part is α of the work."""
    first, second = latencies.T
    found: Floats = np.maximum(alpha, first) + np.maximum(1 - alpha, second)
    return found


def test_the_distributions_are_those_of_the_injector(virtual: Any) -> None:
    assert tuple(virtual.LAWS) == LAWS
    described = (CHECKOUT / "docs/reference/inject.md").read_text()
    assert all(f"| `{law}" in described for law in LAWS)


@EVERYWHERE
@pytest.mark.parametrize("law", LAWS)
def test_all_policies_with_a_distribution(
    virtual: Any, simulate: Callable[..., Any], law: str, late: str
) -> None:
    """Policies that split take the sum of two maxima. Policies that poll take at most a chunk and the cost of
    polls longer than a perfect schedule. All get the same latencies.
    """
    steps = {name: simulate(law, late, name, CHEAP) for name in virtual.POLICIES}
    latencies = steps["fixed"].latencies
    assert (latencies >= 0).all()
    for name, found in steps.items():
        assert np.array_equal(found.latencies, latencies), name
        assert (found.took >= found.perfect - 1e-9).all(), name
    np.testing.assert_allclose(steps["fixed"].took, fixed(0.5, latencies), atol=1e-9)
    for name in ("dynamic", "regimes"):
        exact = fixed(np.floor(1000 * steps[name].alpha + 1e-3) / 1000, latencies)
        np.testing.assert_allclose(steps[name].took, exact, atol=2e-3)
    for name, chunk in CHUNKS.items():
        late_at_most = chunk + CHEAP * (steps[name].polls + 2)
        assert (steps[name].took <= steps[name].perfect + late_at_most).all(), name


@EVERYWHERE
def test_documented_excess_of_policies(virtual: Any, simulate: Callable[..., Any], late: str) -> None:
    """The excess over a perfect schedule is as documented."""
    for law in LAWS:
        excess = {name: simulate(law, late, name, CHEAP).excess for name in virtual.POLICIES}
        # Cheap polls are always nearly perfect.
        assert max(excess["test"], excess["adaptive"]) < 0.03, (law, excess)
        # Only contributions are late, by more than half of the work: dynamic α adapts to that.
        if late == "output":
            assert excess["dynamic"] < 0.01, (law, excess)
            assert excess["fixed"] > 0.05 or law == "none", (law, excess)
        # If both are late, ½ is right, and dynamic α loses a little by following the noise.
        elif law != "model":
            assert excess["dynamic"] < excess["fixed"] + 0.03, (law, excess)


@EVERYWHERE
def test_expensive_polls(simulate: Callable[..., Any], late: str) -> None:
    """A poll takes 1 % of the work: too much for `test`, which polls often. `adaptive` polls once per
    exchange. That is right if the input comes at once, but wrong if it is late, as all work precedes it.
    """
    split = simulate("gamma", late, "dynamic", EXPENSIVE).excess
    assert simulate("gamma", late, "test", EXPENSIVE).excess > split + 0.1
    found = simulate("gamma", late, "adaptive", EXPENSIVE)
    assert found.polls.max() <= 2
    assert (found.excess > split + 0.1) == (late == "both")


def test_an_alpha_per_regime_is_better(simulate: Callable[..., Any]) -> None:
    names = ("fixed", "dynamic", "regimes")
    excess = {name: simulate("model", "both", name, EXPENSIVE).excess for name in names}
    assert excess["regimes"] < 0.85 * min(excess["fixed"], excess["dynamic"]), excess
