"""The models after Open MPI's code, against every message executed on the same machine."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial

import numpy as np
import pytest

from haloscope import predict
from haloscope.base.errors import MachineError, UsageError
from haloscope.predict._observation import Observation, Theta
from haloscope.predict.schedule import Schedule, _trees
from support.collectives import Job, executed, met, open_mpi_children, rabenseifner_program

# Latency and bandwidth out of proportion, so that every path is the critical one for some size.
SHAPES = {3: ("0.2 us", "8 GB/s"), 6: ("0.5 us", "2 GB/s"), 24: ("0.3 us", "16 GB/s"), 72: ("2 us", "1 GB/s")}
GAMMA = 1 / 3e9
ALPHA_BETA = {
    cores: (float(Decimal(alpha.split()[0])) * 1e-6, 1e-9 / float(beta.split()[0]))
    for cores, (alpha, beta) in SHAPES.items()
}
CASES = [(n, 1000, 0) for n in (2, 3, 4, 5, 7, 8, 13, 24, 25, 64, 72)] + [
    (n, size, segment)
    for n in (2, 5, 9, 16, 30)
    for size, segment in [(1, 7), (700, 100), (701, 100), (20_000, 1024)]
]


def machine(**changes: object) -> predict.Machine:
    levels = [
        {"name": f"{cores}", "cores": cores, "latency": alpha, "bandwidth": beta}
        for cores, (alpha, beta) in SHAPES.items()
    ]
    return predict.Machine.model_validate(
        {"name": "odd", "levels": levels, "arithmetic": "3 GB/s", **changes}
    )


def cost(i: int, j: int, size: float) -> float:
    alpha, beta = next(ab for cores, ab in ALPHA_BETA.items() if i // cores == j // cores)
    return alpha + beta * size


def segments(size: int, segment: int) -> list[int]:
    parts = []
    while size > 0:
        parts.append(min(segment or size, size))
        size -= parts[-1]
    return parts


def broadcast_jobs(children: list[list[int]], sizes: list[int]) -> list[Job]:
    sent: dict[tuple[int, int], Job] = {}
    for rank, own in enumerate(children):
        for part, size in enumerate(sizes):
            for child in own:
                after = [sent[rank, part]] if rank else []
                queues = [f"out of {rank}", f"into {child}"]
                sent[child, part] = Job(queues, after, cost(rank, child, size))
    return list(sent.values())


def reduction_jobs(children: list[list[int]], sizes: list[int]) -> list[Job]:
    jobs, complete = [], dict[tuple[int, int], Job]()
    sent, adding = dict[tuple[int, int], Job](), list[tuple[int, int, Job]]()
    for rank in reversed(range(len(children))):
        for part, size in enumerate(sizes):
            for child in children[rank]:
                after = [complete[child, part]] if (child, part) in complete else []
                message = Job([f"out of {child}", f"into {rank}"], after, cost(child, rank, size))
                complete[rank, part] = Job([f"adding in {rank}"], [message], GAMMA * size)
                jobs += [message, complete[rank, part]]
                sent[child, part] = message
                adding.append((rank, part, complete[rank, part]))
    for rank, part, job in adding:  # after the segment before has been sent, in a blocking call
        if rank and part:
            job.after = [*job.after, sent[rank, part - 1]]
    return jobs


def modelled(collective: str, algorithm: str, ranks: int, size: int, segment: int = 0) -> float:
    rows = predict.model(
        machine(), collective, [algorithm], [ranks], [size], formula="hockney", segment=segment
    )
    return float(rows["time"][0])


@pytest.mark.parametrize(("ranks", "size", "segment"), CASES)
@pytest.mark.parametrize("algorithm", ["pipeline", "binomial", "chain"])
def test_broadcasts_take_what_their_messages_take(
    algorithm: str, ranks: int, size: int, segment: int
) -> None:
    children = [open_mpi_children(algorithm, rank, ranks) for rank in range(ranks)]
    expected = executed(broadcast_jobs(children, segments(size, segment)))
    assert modelled("bcast", algorithm, ranks, size, segment) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("ranks", "size", "segment"), CASES)
@pytest.mark.parametrize("algorithm", ["binary", "binomial"])
def test_reductions_take_what_their_messages_and_sums_take(
    algorithm: str, ranks: int, size: int, segment: int
) -> None:
    tree = "in_order_binomial" if algorithm == "binomial" else "binary"
    children = [open_mpi_children(tree, rank, ranks) for rank in range(ranks)]
    expected = executed(reduction_jobs(children, segments(size, segment)))
    assert modelled("reduce", algorithm, ranks, size, segment) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("size", [64, 1000, 1023, 1 << 16])
@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 7, 8, 13, 24, 25, 63, 64, 72])
def test_rabenseifner_takes_what_its_programs_take(ranks: int, size: int) -> None:
    programs = [rabenseifner_program(rank, ranks, size) for rank in range(ranks)]
    expected = met(programs, cost, GAMMA)
    assert modelled("reduce", "rabenseifner", ranks, size) == pytest.approx(expected, rel=1e-9)


def test_rabenseifner_of_few_elements_is_linear() -> None:
    expected = sum(cost(rank, 0, 7) for rank in range(1, 8)) + 7 * GAMMA * 7
    assert modelled("reduce", "rabenseifner", 8, 7) == pytest.approx(expected)
    programs = [rabenseifner_program(rank, 8, 8) for rank in range(8)]
    assert modelled("reduce", "rabenseifner", 8, 8) == pytest.approx(met(programs, cost, GAMMA))


@pytest.mark.parametrize("ranks", range(2, 140))
def test_the_trees_are_open_mpis(ranks: int) -> None:
    built = {
        "pipeline": _trees.pipeline(ranks),
        "chain": _trees.chain(ranks, 4),
        "binomial": _trees.binomial(ranks),
        "in_order_binomial": _trees.in_order_binomial(ranks),
        "binary": _trees.binary(ranks),
    }
    for name, tree in built.items():
        children = [tree.children[tree.parents == rank].tolist() for rank in range(ranks)]
        assert children == [open_mpi_children(name, rank, ranks) for rank in range(ranks)]
        assert sorted(tree.children) == list(range(1, ranks))


@pytest.mark.parametrize("ranks", [2, 3, 10, 100])
@pytest.mark.parametrize(
    "build", [_trees.in_order_binary, _trees.in_order_binomial, partial(_trees.knomial, radix=3)]
)
def test_ranks_come_after_their_parents_and_before_them_on_the_way_up(
    build: Callable[[int], _trees.Tree], ranks: int
) -> None:
    tree = build(ranks)
    assert sorted([tree.parents[0], *tree.children]) == list(range(ranks))
    reached = {int(tree.parents[0])}
    for parent, child in zip(*tree, strict=True):
        assert parent in reached
        reached.add(child)
    for edge, child in enumerate(tree.upwards.children):
        assert child not in tree.upwards.parents[edge:]


def test_uniform_pipeline_is_the_textbooks() -> None:
    """(P - 2 + segments) (α + β segment), from Pješivac-Grbović and others."""
    level = {"name": "all", "cores": 64, "latency": "1 us", "bandwidth": "1 GB/s"}
    uniform = machine(levels=[level])
    rows = predict.model(uniform, "bcast", ["pipeline"], [10], [8192], formula="hockney", segment=1024)
    assert rows["time"][0] == pytest.approx((10 - 2 + 8) * (1e-6 + 1024e-9))


def test_without_bandwidth_trees_of_one_path_are_the_papers() -> None:
    """A check of the paper: pipeline and the binomials are exact for one port, at every size."""
    levels = [
        {**level.model_dump(), "bandwidth": "1e21 B/s"} for level in predict.load_machine("orfeo").levels
    ]
    fast = machine(levels=levels, arithmetic="1e21 B/s")
    for collective, algorithm, same in [
        ("bcast", "pipeline", True),
        ("bcast", "binomial", True),
        ("reduce", "binomial", True),
        ("bcast", "chain", False),
        ("reduce", "binary", False),
        ("reduce", "rabenseifner", False),
    ]:
        paper = predict.model(fast, collective, [algorithm])["time"].to_list()
        port = predict.model(fast, collective, [algorithm], sizes=[1024], formula="hockney")
        assert (port["time"].to_list() == pytest.approx(paper, rel=1e-6)) is same


def test_what_the_machine_lacks_is_named() -> None:
    orfeo = predict.load_machine("orfeo")
    with pytest.raises(MachineError, match=r"orfeo: has no bandwidth of level 'CCX'.*hockney"):
        predict.model(orfeo, "bcast", ranks=[2], formula="hockney")
    with pytest.raises(MachineError, match="odd: has no arithmetic"):
        predict.model(machine(arithmetic=None), "reduce", ranks=[2], formula="hockney")
    with pytest.raises(UsageError, match="16384 segments"):
        predict.model(machine(), "bcast", ranks=[2], sizes=[20_000], formula="hockney", segment=1)


@pytest.mark.parametrize(
    ("sources", "targets", "turns"),
    [
        ([0, 1], [2, 4], 2),  # out of one node
        ([2, 4], [0, 1], 2),  # into one node
        ([2, 4], [0, 6], 1),
        ([2, 0], [0, 2], 1),  # there and back
        ([2, 8], [0, 16], 1),  # of the second node and of the second island
        ([8, 10], [16, 24], 2),  # out of one island
    ],
)
def test_messages_take_turns_on_what_their_nodes_share(
    sources: list[int], targets: list[int], turns: int
) -> None:
    """Nodes of 2 cores, islands of 4 nodes: a message takes a link of either for 1 ms."""
    rest = {"latency": "1 us", "bandwidth": "8 GB/s"}
    levels = [
        {"name": "node", "cores": 2, **rest},
        {"name": "island", "cores": 8, "shared": "1 GB/s", **rest},
        {"name": "all", "cores": 32, "shared": "1 GB/s", **rest},
    ]
    schedule = Schedule(32)
    schedule.send(sources, targets, 1_000_000)
    one = np.ones(1)
    theta = Theta(np.zeros(1, np.int64), 0 * one, 0 * one, one, whole=True)
    observed = Observation(machine(levels=levels), schedule)
    assert observed.last(theta) == pytest.approx(turns * 1e-3)
