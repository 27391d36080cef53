"""Laws beyond the measured points: exact or uncertain as theory requires, compared with stored data."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from haloscope import UsageError, predict
from haloscope.predict import CollectiveLaws, Estimate, Way
from haloscope.predict.tune import Candidate, Point, choose_by_model

KEPT = Path(__file__).resolve().parents[2] / "benchmarks" / "predict" / "kept"
RANKS = (2, 4, 8, 16, 32, 64)
SIZES = tuple(8 * 16**step for step in range(6))
RING, TREE, OWN = (Way("allreduce", name) for name in ("ring", "tree", "default"))


def machine(levels: int = 3) -> predict.Machine:
    """Nodes of 16 cores, leaves of 16 nodes, and 16 of those, whose links upwards are shared."""
    made = [
        {"name": "node", "cores": 16, "latency": "0.5 us", "bandwidth": "10 GB/s"},
        {"name": "leaf", "cores": 256, "latency": "2 us", "bandwidth": "10 GB/s", "shared": "80 GB/s"},
        {"name": "spine", "cores": 4096, "latency": "3 us", "bandwidth": "10 GB/s", "shared": "640 GB/s"},
    ]
    return predict.Machine.model_validate({"name": "three levels", "levels": made[:levels]})


LATENCY = (0.5e-6, 2e-6, 3e-6)


def byte_times(ranks: int) -> tuple[float, float, float]:
    """Seconds for a byte on each level while all ranks send: shared links carry those of 16 and 256 ranks."""
    return 1e-10, max(1e-10, min(ranks, 16) / 80e9), max(1e-10, min(ranks, 256) / 640e9)


def level(distance: int) -> int:
    """The level that a message to a rank so far away crosses."""
    return int(distance >= 16) + int(distance >= 256)


def ring(ranks: int, size: int) -> float:
    """Every rank passes parts on, around twice."""
    last = ranks - 1
    crossed = (last - last // 16, last // 16 - last // 256, last // 256)
    latency = sum(number * each for number, each in zip(crossed, LATENCY, strict=True))
    return 2 * latency + 2 * (ranks - 1) / ranks * size * 1e-10 + 1e-6


def tree(ranks: int, size: int) -> float:
    """Exchanges of the whole buffer with partners at distance 1, 2, 4 …"""
    levels = [level(1 << step) for step in range((ranks - 1).bit_length())]
    return sum(LATENCY[each] + size * byte_times(ranks)[each] for each in levels)


class Law:
    """The law of the times of one algorithm."""

    def __init__(self, points: dict[tuple[int, int], float], machine: predict.Machine) -> None:
        self.laws = CollectiveLaws({TREE: points}, machine)

    def estimate(self, ranks: int, size: int) -> Estimate:
        return self.laws.estimate(TREE, ranks, size)


def times(law: object, ranks: tuple[int, ...] = RANKS) -> dict[tuple[int, int], float]:
    return {(count, size): law(count, size) for count, size in itertools.product(ranks, SIZES)}  # type: ignore[operator]


def laws(slow: float = 4.0) -> CollectiveLaws:
    """A ring, a tree, and a choice of the library's own that is worse than the tree."""
    own = {place: slow * time for place, time in times(tree).items()}
    return CollectiveLaws({RING: times(ring), TREE: times(tree), OWN: own}, machine())


# Seconds by the textbooks on one level of 1 µs and 1 GB/s, of ranks, their logarithm and bytes.
TEXTBOOKS: dict[str, Callable[[int, float, int], float]] = {
    "binomial tree": lambda p, rounds, size: rounds * (1e-6 + size * 1e-9),
    "pipeline": lambda p, rounds, size: (p - 1) * 1e-6 + size * 1e-9,
    "ring of parts": lambda p, rounds, size: (p - 1) * 1e-6 + (1 - 1 / p) * size * 1e-9,
    "all to all": lambda p, rounds, size: (p - 1) * (1e-6 + size * 1e-9),
    "halving": lambda p, rounds, size: rounds * 1e-6 + (1 - 1 / p) * size * 1e-9,
    "doubling": lambda p, rounds, size: rounds * 1e-6 + (p - 1) * size * 1e-9,
    "blocks": lambda p, rounds, size: rounds * (1e-6 + p / 2 * size * 1e-9),
}


@pytest.mark.parametrize("name", TEXTBOOKS)
def test_on_one_level_times_grow_as_in_textbooks(name: str) -> None:
    flat = predict.Machine.model_validate(
        {"name": "flat", "levels": [{"name": "all", "cores": 64, "latency": "1 us", "bandwidth": "1 GB/s"}]}
    )

    def true(ranks: int, size: int) -> float:
        return TEXTBOOKS[name](ranks, math.log2(ranks), size)

    law = Law(times(true), flat)
    for ranks, size in itertools.product((128, 256), SIZES):  # beyond its cores as if there were more of them
        assert law.estimate(ranks, size).time == pytest.approx(true(ranks, size), rel=0.05), (ranks, size)


@pytest.mark.parametrize("true", [ring, tree])
def test_levels_that_nobody_measured_are_foreseen(true: object) -> None:
    """The third level begins at 256 ranks. Its cost comes from the machine model, not from the points."""
    law = Law(times(true), machine())
    for ranks, size in itertools.product((128, 256, 512, 1024), SIZES):
        assert law.estimate(ranks, size).time == pytest.approx(true(ranks, size), rel=0.05), (ranks, size)  # type: ignore[operator]


def test_a_million_ranks_are_only_numbers() -> None:
    """Formulas, where a simulation would have a million processes: on more cores than the machine has."""
    found = laws()
    for way, true in ((RING, ring), (TREE, tree)):
        assert found.estimate(way, 10**6, 2048).time == pytest.approx(true(10**6, 2048), rel=0.1)
    assert found.choose("allreduce", 10**6, 2048).fastest == TREE


def test_what_was_measured_is_as_it_was() -> None:
    law = Law(times(tree), machine())
    for (ranks, size), time in times(tree).items():
        one = law.estimate(ranks, size)
        assert one.time == pytest.approx(time)
        assert one.low < time < one.high


@pytest.mark.parametrize("ranks", [5, 12, 24, 48, 100])
def test_steps_between_powers_of_two_are_within_the_interval(ranks: int) -> None:
    """One before all others, and one after them: nothing of them was measured, so they may be there."""
    stepping = 1 + 2 / math.floor(math.log2(ranks))
    law = Law(times(tree), machine())
    for size in SIZES:
        one = law.estimate(ranks, size)
        assert one.low < one.time * stepping < one.high
        assert one.low < one.time < one.high
    measured = Law(times(tree, (*RANKS, 3, 6, 12, 24, 48, 96)), machine())
    assert measured.estimate(40, 8).half < law.estimate(40, 8).half / 2


def test_between_sizes_a_line_holds() -> None:
    law = Law(times(tree), machine())
    for size in (20, 1000, 30_000, 1_000_000):
        assert law.estimate(64, size).time == pytest.approx(tree(64, size), rel=1e-6)


def test_intervals_widen_and_end_in_a_refusal() -> None:
    noise = np.random.default_rng(3)
    noisy = {place: time * math.exp(noise.normal(0, 0.1)) for place, time in times(tree).items()}
    law = Law(noisy, machine())
    widths = [
        math.log(one.high / one.low) for one in (law.estimate(count, 2048) for count in (64, 128, 512, 2048))
    ]
    assert widths == sorted(widths)
    assert widths[1] > 2 * widths[0]
    assert law.estimate(64 * 33, 2048).high == math.inf
    assert law.estimate(64, SIZES[-1] * 17).high == math.inf
    assert law.estimate(64, SIZES[-1] * 2).high < math.inf


def test_two_numbers_of_ranks_tell_no_growth() -> None:
    law = Law(times(tree, (2, 64)), machine())
    assert law.estimate(256, 2048).high > 1.5 * law.estimate(256, 2048).time
    alone = Law(times(tree, (64,)), machine())
    assert alone.estimate(128, 2048).high == math.inf


def test_the_library_keeps_what_is_not_slower_for_certain() -> None:
    decided = laws(slow=4.0).choose("allreduce", 256, 8)
    assert (decided.is_significant, decided.way) == (True, TREE)
    assert decided.expected.high < decided.default.low
    kept = laws(slow=1.0).choose("allreduce", 256, 8)
    assert (kept.is_significant, kept.way, kept.fastest) == (False, OWN, TREE)
    far = laws(slow=4.0).choose("allreduce", 1 << 14, 8)
    assert not far.is_significant


def test_a_choice_of_known_algorithms_grows_as_they_do() -> None:
    """The library takes the tree below 8 KiB and the ring above; no law of its times would hold."""
    own = {
        (ranks, size): (tree if size < 8192 else ring)(ranks, size)
        for ranks, size in itertools.product(RANKS, SIZES)
    }
    made = CollectiveLaws({RING: times(ring), TREE: times(tree), OWN: own}, machine())
    for size in SIZES:
        true = tree if size < 8192 else ring
        assert made.estimate(OWN, 1024, size).time == pytest.approx(true(1024, size), rel=0.05)
    between = made.estimate(OWN, 1024, 5000)
    assert between.low < min(tree(1024, 5000), ring(1024, 5000))
    assert between.high > max(tree(1024, 5000), ring(1024, 5000))


def test_what_was_not_measured_is_refused() -> None:
    with pytest.raises(UsageError, match="bcast chain: was not measured"):
        laws().estimate(Way("bcast", "chain"), 4, 8)
    with pytest.raises(UsageError, match="no measured points"):
        CollectiveLaws.of_machine(machine())


def sweep() -> pl.DataFrame:
    """The same three, as a sweep has them."""
    own = {place: 4 * time for place, time in times(tree).items()}
    rows = [
        {"algorithm": name, "number": number, "ranks": ranks, "bytes": size, "time": time}
        for name, number, points in (
            ("ring", 4, times(ring)),
            ("recursive_doubling", 3, times(tree)),
            ("default", None, own),
        )
        for (ranks, size), time in points.items()
    ]
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(
        collective=pl.lit("allreduce"),
        segment=pl.lit(0, pl.Int64),
        fanout=pl.lit(0, pl.Int64),
        status=pl.lit("ok"),
        mapping=pl.lit(None, pl.String),
    )


def test_a_machine_keeps_its_points_and_rules_come_of_them(tmp_path: Path) -> None:
    plain = tmp_path / "machine.yaml"
    predict.write_machine(machine(), plain)
    predict.save_fitted(plain, predict.fit_points(sweep(), machine()), tmp_path / "fitted.yaml")
    fitted = predict.load_machine(tmp_path / "fitted.yaml")
    rows = predict.model(fitted, "allreduce", ["all"], [64, 512], [8, 1000], formula="law")
    assert rows.columns[-2:] == ["low", "high"]
    assert (rows["low"] < rows["time"]).all()
    (known,) = rows.filter(algorithm="recursive_doubling", ranks=512, bytes=8)["time"]
    assert known == pytest.approx(tree(512, 8), rel=0.05)
    chosen = choose_by_model(fitted, [Point("allreduce", 512, 8), Point("allreduce", 1 << 14, 8)])
    assert list(chosen.values()) == [Candidate("recursive_doubling", 3), Candidate()]


@pytest.mark.parametrize("platform", ["fat-tree-full", "torus"])
def test_kept_data_that_no_law_has_seen(platform: str, script: Callable[..., Any]) -> None:
    """SimGrid's own reductions on more than 32 ranks, of laws up to 32, at sizes that they have not."""
    kept = script("extrapolation", "benchmarks/predict", "benchmarks")
    points = kept.points_of(platform).filter(pl.col("collective") == "reduce")
    seen, unseen = kept.parted(points, "ranks and sizes")
    made = CollectiveLaws.of(seen, predict.load_machine(KEPT / f"{platform}.yaml"))
    held, chosen, fastest, default = [], [], [], []
    for (ranks, size), group in unseen.group_by("ranks", "bytes"):
        truth = {Way("reduce", name): time for name, time in group.select("algorithm", "time").iter_rows()}
        held += [
            one.low <= time <= one.high
            for way, time in truth.items()
            if way != OWN and way in made.list_ways("reduce")
            for one in [made.estimate(way, int(str(ranks)), int(str(size)))]
        ]
        if Way("reduce", "default") in truth:
            decided = made.choose("reduce", int(str(ranks)), int(str(size)), among=truth)
            best = min(truth.values())
            chosen.append(truth[decided.way] / best)
            fastest.append(truth[decided.fastest] / best)
            default.append(truth[Way("reduce", "default")] / best)
    assert len(held) > 40
    assert np.mean(held) > 0.9
    assert np.mean(chosen) <= np.mean(default)
    assert np.mean(fastest) < np.mean(default)


def test_what_was_kept_later_is_apart(script: Callable[..., Any]) -> None:
    """Points that laws are judged by have no number of ranks, or size, that the laws are made of."""
    kept = script("extrapolation", "benchmarks/predict", "benchmarks")
    compared = 0
    for platform in kept.PLATFORMS:
        points = kept.points_of(platform)
        for split, file in kept.FRESH.items():
            later = kept.points_of(platform, file)
            seen, unseen = kept.fresh(points, later, split)
            assert len(later) == 0 or len(unseen) > 0 or "over" in split
            compared += len(unseen)
            assert set(seen["ranks"]).isdisjoint(unseen["ranks"])
            if "sizes" in split:
                assert set(seen["bytes"]).isdisjoint(unseen["bytes"])
    assert compared > 1000


@pytest.mark.slow
def test_real_libraries_on_nodes(script: Callable[..., Any]) -> None:
    """Laws of 2 to 16 ranks predict 24 to 64 ranks on emulated nodes. No choice called certain is slower."""
    found = script("nodes", "benchmarks/predict", "benchmarks").results()
    # The share of points within their intervals: of MPICH's less than the 95 % that these say.
    for library, held in (("Open MPI 4.1.4", 0.9), ("MPICH 5.0.2", 0.84)):
        for split in ("ranks", "sizes", "ranks and sizes"):
            said, default = found[f"{library}: {split}", "law"], found[f"{library}: {split}", "default"]
            assert len(said.losses) == len(default.losses) > 20
            assert said.slower == 0
            assert np.mean(said.held) > held
            assert np.mean(said.losses) <= np.mean(default.losses)
    ranks = "Open MPI 4.1.4: ranks"
    assert np.mean(found[ranks, "law"].losses) < np.mean(found[ranks, "default"].losses)
