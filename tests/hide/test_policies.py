"""All policies of the overlap library under all laws of the injector, in virtual time.

The library itself runs on the clock of benchmarks/overlap/virtual.cpp; what is expected is computed here.
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
CHEAP, DEAR = 2e-4, 1e-2  # a poll, where the work takes 1
# The longest chunk between two polls, and an item: a 64th; as long as polls take 0.005 of the time.
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
    """What a step takes whose first part is α of the work."""
    first, second = latencies.T
    found: Floats = np.maximum(alpha, first) + np.maximum(1 - alpha, second)
    return found


def test_the_laws_are_those_of_the_injector(virtual: Any) -> None:
    assert tuple(virtual.LAWS) == LAWS
    described = (CHECKOUT / "docs/reference/inject.md").read_text()
    assert all(f"| `{law}" in described for law in LAWS)


@EVERYWHERE
@pytest.mark.parametrize("law", LAWS)
def test_all_policies_under_a_law(virtual: Any, simulate: Callable[..., Any], law: str, late: str) -> None:
    """Whatever the law: fixed ½ and each run of the others that split take what two maxima say, polls a chunk
    and their own price more than a perfect schedule, and all meet the same latencies."""
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
def test_what_the_page_says_of_policies(virtual: Any, simulate: Callable[..., Any], late: str) -> None:
    """By how much steps are longer than they must be."""
    for law in LAWS:
        excess = {name: simulate(law, late, name, CHEAP).excess for name in virtual.POLICIES}
        # Polls that are cheap are never far from perfect.
        assert max(excess["test"], excess["adaptive"]) < 0.03, (law, excess)
        # Contributions alone are late, by more than half of the work: dynamic α finds that.
        if late == "output":
            assert excess["dynamic"] < 0.01, (law, excess)
            assert excess["fixed"] > 0.05 or law == "none", (law, excess)
        # Where both are late half and half is right, and following each step's noise costs a little.
        elif law != "model":
            assert excess["dynamic"] < excess["fixed"] + 0.03, (law, excess)


@EVERYWHERE
def test_dear_polls(simulate: Callable[..., Any], late: str) -> None:
    """Where a poll takes a hundredth of the work `test` pays for all. `adaptive` makes one an exchange: right
    where the input is there at once, and wrong where it is late, too, as all work stands before it."""
    split = simulate("gamma", late, "dynamic", DEAR).excess
    assert simulate("gamma", late, "test", DEAR).excess > split + 0.1
    found = simulate("gamma", late, "adaptive", DEAR)
    assert found.polls.max() <= 2
    assert (found.excess > split + 0.1) == (late == "both")


def test_regimes_are_worth_an_alpha_each(simulate: Callable[..., Any]) -> None:
    excess = {name: simulate("model", "both", name, DEAR).excess for name in ("fixed", "dynamic", "regimes")}
    assert excess["regimes"] < 0.85 * min(excess["fixed"], excess["dynamic"]), excess
