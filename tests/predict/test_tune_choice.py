"""Choosing from sweeps whose truth is known, without a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haloscope import TimingsError, UsageError
from haloscope.predict.bench import Sweep
from haloscope.predict.tune import Candidate, Point, choose_from, write_rules
from support.emulated_tuning import emulated_bench, read_text

SIZES = tuple(1 << n for n in range(3, 15))
NAMES = {"default": None, "linear": 1, "chain": 2, "pipeline": 3}
Truth = Callable[[str, int], float]


def sweep(
    path: Path, truth: Truth, noise: float = 0.1, seed: int = 0, wild: str = "", **fields: Any
) -> Sweep:
    """A file with times in µs of `truth`, and noise that has memory, as machines' has.

    Of `wild` there are few iterations, with ten times the noise.
    """
    random = np.random.default_rng(seed)
    lines: list[Mapping[str, Any]] = [{"record": "environment"}]
    for size in SIZES:
        for name, number in NAMES.items():
            count, spread = (9, 10 * noise) if name == wild else (400, noise)
            wander = np.convolve(random.normal(size=count + 3), np.ones(4) / 2, "valid")
            times = truth(name, size) * np.exp(spread * wander) * 1000
            samples = np.array([times, times * 0.9]).astype(int).tolist()
            lines.append(
                {
                    "record": "point",
                    "collective": "bcast",
                    "algorithm": name,
                    "number": number,
                    "segment": 0,
                    "fanout": 0,
                    "ranks": 4,
                    "nodes": 1,
                    "mapping": None,
                    "bytes": size,
                    "iterations": count,
                    "status": "ok",
                    "samples_ns": samples,
                    **fields,
                }
            )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Sweep.read(path)


def names(chosen: Mapping[Point, Candidate]) -> list[str]:
    return [chosen[point].name for point in sorted(chosen)]


def base(size: int) -> float:
    return 5 + size / 1000


def test_what_is_faster_is_chosen_and_only_there(tmp_path: Path) -> None:
    def truth(name: str, size: int) -> float:
        if name == "chain":
            return base(size) * (0.7 if size >= 1024 else 1.4)
        return base(size) * (1.0 if name == "default" else 1.2)

    made = sweep(tmp_path / "s", truth)
    assert names(choose_from(made)) == ["default"] * 7 + ["chain"] * 5


def test_noise_alone_makes_no_rule(tmp_path: Path) -> None:
    for seed in range(4):
        made = sweep(tmp_path / "s", lambda _, size: base(size), 0.3, seed)
        assert set(names(choose_from(made))) == {"default"}


def test_significant_but_tiny_is_not_worth_a_rule(tmp_path: Path) -> None:
    made = sweep(tmp_path / "s", lambda n, s: base(s) * (0.98 if n == "chain" else 1), 0.01)
    assert set(names(choose_from(made))) == {"default"}
    assert set(names(choose_from(made, margin=0.01))) == {"chain"}


@pytest.mark.filterwarnings("error")
def test_times_without_scatter_are_compared_exactly(tmp_path: Path) -> None:
    made = sweep(tmp_path / "s", lambda n, s: base(s) * (0.7 if n == "chain" else 1), 0.0)
    assert set(names(choose_from(made))) == {"chain"}
    made = sweep(tmp_path / "s", lambda _, size: base(size), 0.0)
    assert set(names(choose_from(made))) == {"default"}


def test_two_that_are_alike_do_not_alternate(tmp_path: Path) -> None:
    def truth(name: str, size: int) -> float:
        turn = 0.01 if size.bit_length() % 2 else -0.01
        return base(size) * {"chain": 0.6 + turn, "pipeline": 0.6 - turn}.get(name, 1.0)

    assert len(set(names(choose_from(sweep(tmp_path / "s", truth, 0.02))))) == 1


@pytest.mark.slow
def test_false_alarms_stay_rare(tmp_path: Path) -> None:
    """Of 20 sweeps of 36 comparisons without a difference at most a few may have one."""
    alarms = 0
    for seed in range(20):
        made = sweep(tmp_path / "s", lambda _, size: base(size), 0.05, seed)
        alarms += any(name != "default" for name in names(choose_from(made, margin=0.0)))
    assert alarms <= 4  # 1 expected; 5 or more by chance: 0.3 %


def test_few_wild_times_prove_nothing(tmp_path: Path) -> None:
    """The rate of false alarms does not rise, though the many times of the default hardly differ."""
    alarms = 0
    for seed in range(20):
        made = sweep(tmp_path / "s", lambda _, size: base(size), 0.03, seed, wild="chain")
        alarms += "chain" in names(choose_from(made, margin=0.0))
    assert alarms <= 4


@pytest.mark.parametrize(("other", "chosen"), [(6, "chain"), (10, "default")])
def test_a_call_takes_as_long_as_its_slowest_rank(other: int, chosen: str) -> None:
    """The default takes 9 µs on one rank and 1 µs on the other, alternately: 9 per call, not 5."""
    default = np.tile([[9000, 1000], [1000, 9000]], 60)
    noise = np.random.default_rng(3).integers(-50, 50, default.shape)
    records = [
        {
            "record": "point",
            "collective": "bcast",
            "algorithm": name,
            "number": number,
            "ranks": 2,
            "bytes": 8,
            "status": "ok",
            "samples_ns": (times + noise).tolist(),
        }
        for name, number, times in (("default", None, default), ("chain", 2, np.full((2, 120), 1000 * other)))
    ]
    (found,) = choose_from(Sweep.of({"record": "environment"}, records)).values()
    assert found.name == chosen


def test_failed_points_are_left_out(tmp_path: Path) -> None:
    with pytest.raises(TimingsError, match="nothing to choose from"):
        choose_from(sweep(tmp_path / "s", lambda *_: 1.0, status="timeout"))
    with pytest.raises(TimingsError, match="2 ranks"):
        choose_from(sweep(tmp_path / "s", lambda *_: 1.0, ranks=1))


def test_several_mappings_are_refused(tmp_path: Path) -> None:
    made = sweep(tmp_path / "s", lambda *_: 1.0)
    text = (tmp_path / "s").read_text()
    other = text.replace('"mapping": null', '"mapping": "node"').split("\n", 1)[1]
    (tmp_path / "s").write_text(text + other)
    assert made.points["mapping"].null_count() == len(made.points)
    with pytest.raises(UsageError, match="several mappings"):
        choose_from(Sweep.read(tmp_path / "s"))


def test_rules_reach_from_the_first_to_the_last_measured_size(tmp_path: Path) -> None:
    one, other = Candidate("way2", 2, 4096, 3), Candidate("way4", 4)
    chosen = {Point("bcast", 4, size): one for size in (64, 128)}
    chosen |= {Point("bcast", 4, 256): Candidate(), Point("bcast", 4, 512): other}
    chosen |= {Point("allgather", 4, 1): other, Point("allgather", 4, 2): Candidate()}
    chosen |= {Point("barrier", 2, 0): other}
    write_rules(emulated_bench(tmp_path), chosen, tmp_path / "rules.conf", None)
    rules = read_text((tmp_path / "rules.conf").read_text())
    # Bytes as the library counts them, of all ranks for allgather; 0 is the library's own choice.
    found = [(rule.collective, rule.ranks, rule.bytes, rule.number, rule.segment) for rule in rules]
    assert found == [
        ("allgather", 4, 0, 0, 0),
        ("allgather", 4, 4, 4, 0),
        ("allgather", 4, 5, 0, 0),
        ("allgather", 5, 0, 0, 0),
        ("barrier", 2, 0, 4, 0),
        ("barrier", 3, 0, 0, 0),
        ("bcast", 4, 0, 0, 0),
        ("bcast", 4, 64, 2, 4096),
        ("bcast", 4, 129, 0, 0),
        ("bcast", 4, 512, 4, 0),
        ("bcast", 4, 513, 0, 0),
        ("bcast", 5, 0, 0, 0),
    ]
