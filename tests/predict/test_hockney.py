"""The models after Open MPI's code, against every message executed on the same machine."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from haloscope import MachineError, UsageError, predict
from haloscope.predict.schedule import CollectivePlan, Durations, execute, schedule
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
    for size, segment in [(1, 0), (1, 7), (700, 100), (701, 100), (20_000, 1024)]
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


def edges(collective: str, algorithm: str, ranks: int) -> list[tuple[int, int]]:
    """Return parents and children in the order of the schedule's messages."""
    made = schedule(collective, algorithm, CollectivePlan(ranks, 1000))
    assert made is not None
    pairs = [(int(m["source"]), int(m["target"])) for m in made.messages if m["source"] != m["target"]]
    return pairs if collective == "bcast" else [(parent, child) for child, parent in pairs]


@pytest.mark.parametrize("ranks", [*range(2, 40), 64, 65, 127, 128, 139])
def test_the_trees_are_open_mpis(ranks: int) -> None:
    for name, collective, tree in (
        ("pipeline", "bcast", "pipeline"),
        ("chain", "bcast", "chain"),
        ("binomial", "bcast", "binomial"),
        ("binomial", "reduce", "in_order_binomial"),
        ("binary", "reduce", "binary"),
    ):
        found = edges(collective, name, ranks)
        for rank in range(ranks):
            children = [child for parent, child in found if parent == rank]
            assert children == open_mpi_children(tree, rank, ranks)
        assert sorted(child for _, child in found) == list(range(1, ranks))


@pytest.mark.parametrize("ranks", [2, 3, 10, 100])
@pytest.mark.parametrize(
    ("collective", "name"), [("reduce", "in_order_binary"), ("bcast", "knomial"), ("reduce", "binomial")]
)
def test_all_ranks_are_in_a_tree(collective: str, name: str, ranks: int) -> None:
    found = edges(collective, name, ranks)
    if name == "in_order_binary":  # its root is the last rank, which sends the result on
        assert found.pop() == (0, ranks - 1)
    (root,) = set(range(ranks)) - {child for _, child in found}
    children: dict[int, list[int]] = {}
    for parent, child in found:
        children.setdefault(parent, []).append(child)
    reached, left = {root}, [root]
    while left:
        for child in children.get(left.pop(), []):
            assert child not in reached
            reached.add(child)
            left.append(child)
    assert reached == set(range(ranks))


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
    ("collective", "algorithm", "ranks"),
    [
        ("bcast", "binomial", 32),
        ("alltoall", "pairwise", 16),
        ("allgather", "ring", 24),
        ("alltoall", "linear", 8),
    ],
)
def test_messages_take_turns_on_what_their_nodes_share(collective: str, algorithm: str, ranks: int) -> None:
    """Nodes of 2 cores, islands of 4 nodes, with a link each: out of it and into it, one after the other."""
    rest = {"latency": "1 us", "bandwidth": "8 GB/s"}
    levels = [
        {"name": "node", "cores": 2, **rest},
        {"name": "island", "cores": 8, "shared": "1 GB/s", **rest},
        {"name": "all", "cores": 32, "shared": "1 GB/s", **rest},
    ]
    nothing, once = [0.0] * 3, [1.0] * 3
    ranges = [{"from": 0, "overhead": nothing, "alpha": once, "beta": once}]
    fitted = {"collective": collective, "algorithm": algorithm, "call": nothing, "gamma": nothing}
    described = machine(levels=levels, fitted=[{**fitted, "ranges": ranges}])
    made = schedule(collective, algorithm, CollectivePlan(ranks, 100_000))
    assert made is not None
    source, target, size = (made.messages[name].astype(np.int64) for name in ("source", "target", "bytes"))
    same_node, same_island = source // 2 == target // 2, source // 8 == target // 8

    def link(core: Any) -> Any:
        """The node's within an island, the island's beyond it; none within a node."""
        return np.where(same_node, -1, np.where(same_island, core // 2, 16 + core // 8)).astype(np.int32)

    real = source != target
    durations = Durations(
        np.where(real, size / 8e9, 0),
        np.where(real, 1e-6, 0),
        np.zeros(len(size)),
        np.where(same_node, 0, size / 1e9),
        link(source),
        link(target),
    )
    ends = execute(made, durations).ends
    shared = predict.predict(described, collective, algorithm, ranks, 100_000)
    assert shared == pytest.approx(float(ends.mean()))
    alone = Durations(durations.occupied, durations.latency, durations.work)
    assert shared > 1.5 * float(execute(made, alone).ends.mean())
