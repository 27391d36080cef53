"""The paper's formulas: every number of processes, exactly; its figures, by their shape."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from haloscope import UsageError, predict
from support.collectives import PAPER, orfeo
from support.mpi import CHECKOUT

ALL = range(2, 257)


@pytest.fixture(scope="module")
def machine() -> predict.Machine:
    return predict.load_machine("orfeo")


@pytest.fixture(scope="module")
def times(machine: predict.Machine) -> dict[tuple[str, str], dict[int, float]]:
    """`times[collective, algorithm][ranks]`, from the table."""
    found: dict[tuple[str, str], dict[int, float]] = {}
    for collective in predict.ALGORITHMS:
        for row in predict.model(machine, collective, ranks=ALL).to_dicts():
            found.setdefault((collective, row["algorithm"]), {})[row["ranks"]] = row["time"]
    return found


def test_the_shipped_latencies_are_the_papers(machine: predict.Machine) -> None:
    measured = {1: "0.15", 4: "0.32", 8: "0.35", 32: "0.43", 64: "0.69", 128: "1.82"}
    for core, us in measured.items():
        assert machine.latency(0, core) == machine.latency(core, 0) == Decimal(us) / 10**6
    for i in range(256):
        for j in range(i + 1, 256):
            assert machine.latency(i, j) == orfeo(i, j)


def test_the_matrix_is_the_latency_of_all_pairs(machine: predict.Machine) -> None:
    matrix = machine.latency_matrix(140)
    assert matrix.shape == (140, 140)
    for i in range(0, 140, 3):
        for j in range(140):
            assert matrix[i, j] == float(machine.latency(i, j))


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPER)
def test_every_number_of_processes_exactly(
    name: tuple[str, str], times: dict[tuple[str, str], dict[int, float]]
) -> None:
    """The float nearest to the exact sum."""
    assert times[name] == {ranks: float(PAPER[name](ranks)) for ranks in ALL}


@pytest.mark.parametrize(
    ("collective", "algorithm", "ranks", "us"),
    [  # by hand
        ("bcast", "pipeline", 2, "0.15"),
        ("bcast", "pipeline", 5, "0.77"),  # 3 × 0.15 + 0.32
        ("bcast", "pipeline", 256, "53"),  # 192 × 0.15 + 32 × 0.32 + 16 × 0.35 + 12 × 0.43 + …
        ("bcast", "binomial", 256, "4.34"),  # 2×0.15 + 0.32 + 0.35 + 2×0.43 + 0.69 + 1.82
        ("bcast", "chain", 4, "0.15"),
        ("bcast", "chain", 6, "0.32"),  # 0 → 5; 0 → 1 → 2 takes 0.3
        ("reduce", "binary", 5, "0.96"),  # 3 × 0.32: 3 to 4, 2 to 4, 0 to 4
        ("reduce", "binary", 256, "14.56"),  # 8 × 1.82
        ("reduce", "binomial", 3, "0.3"),
        ("reduce", "rabenseifner", 129, "29.12"),  # 16 × 1.82
    ],
)
def test_by_hand(
    collective: str, algorithm: str, ranks: int, us: str, times: dict[tuple[str, str], dict[int, float]]
) -> None:
    assert times[collective, algorithm][ranks] == float(Decimal(us) / 10**6)


def test_figure_6_has_the_papers_order(times: dict[tuple[str, str], dict[int, float]]) -> None:
    """Binomial is lowest and scales; pipeline grows linearly; chains are in between."""
    pipeline, binomial, chain = (times["bcast", name] for name in ("pipeline", "binomial", "chain"))
    for ranks in range(32, 257):
        assert binomial[ranks] < chain[ranks] < pipeline[ranks]
    assert pipeline[256] / pipeline[32] == pytest.approx(8, rel=0.15)
    assert binomial[256] / binomial[32] < pipeline[256] / pipeline[32] / 2


def test_figure_7_has_the_papers_order(times: dict[tuple[str, str], dict[int, float]]) -> None:
    """Binomial is lowest; binary jumps beyond 128 processes."""
    binary, binomial, rabenseifner = (
        times["reduce", name] for name in ("binary", "binomial", "rabenseifner")
    )
    for ranks in range(5, 257):
        assert binomial[ranks] < binary[ranks] < rabenseifner[ranks]
    assert binary[129] > 2.5 * binary[128]


@pytest.mark.parametrize("collective", predict.ALGORITHMS)
def test_the_curves_have_kinks_where_the_topology_changes(
    collective: str, machine: predict.Machine, times: dict[tuple[str, str], dict[int, float]]
) -> None:
    changes = machine.exceeded_levels(256)
    assert [level.cores for level in changes] == [4, 8, 16, 64, 128]
    for algorithm in ("pipeline", "binomial") if collective == "bcast" else ("binary", "binomial"):
        curve = times[collective, algorithm]
        for level in changes:
            step = curve[level.cores + 1] - curve[level.cores]
            assert step > max(curve[level.cores] - curve[level.cores - 1], 1.5e-7)


def test_more_chains(machine: predict.Machine) -> None:
    def time(chains: int) -> float:
        rows = predict.model(machine, "bcast", ["chain"], [4], chains=chains)
        return 1e6 * float(rows["time"][0])

    assert [time(chains) for chains in (1, 2, 3, 9)] == pytest.approx([0.45, 0.3, 0.15, 0.15])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"collective": "scan"}, "'scan'.*bcast, reduce"),
        ({"algorithms": ["binary"]}, "bcast has no algorithm 'binary'.*pipeline"),
        ({"formula": "magic"}, "'magic'.*paper"),
        ({"ranks": [1, 2]}, "a collective of 1 rank sends nothing; give 2 or more"),
        ({"ranks": [257]}, "256 cores.*257"),
        ({"sizes": [0]}, "1 byte"),
        ({"chains": 0}, "chains"),
        ({"segment": 8}, "hockney"),
    ],
)
def test_what_does_not_exist_is_named(machine: predict.Machine, wrong: dict[str, object], words: str) -> None:
    asked: dict[str, object] = {"collective": "bcast", "ranks": [2], **wrong}
    with pytest.raises(UsageError, match=words):
        predict.model(machine, **asked)  # type: ignore[arg-type]


def test_the_study_quotes_what_the_formulas_give(times: dict[tuple[str, str], dict[int, float]]) -> None:
    study = CHECKOUT / "studies" / "openmpi-collective-algorithms" / "README.md"
    quoted = re.findall(r"^\| (\d+) \|((?: \d+\.\d\d \|){6})$", study.read_text(), re.MULTILINE)
    assert len(quoted) == 10
    for ranks, values in quoted:
        exact = [f"{1e6 * curve[int(ranks)]:.2f}" for curve in times.values()]
        assert values.replace("|", "").split() == exact
