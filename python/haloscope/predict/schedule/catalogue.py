"""Algorithms of Open MPI's `tuned` component and of MPICH, by their names in the libraries."""

from __future__ import annotations

from collections.abc import Callable

from haloscope.predict.schedule import rooted, rootless, trees
from haloscope.predict.schedule.message_schedule import CollectivePlan, Schedule
from haloscope.predict.schedule.trees import Tree

Build = Callable[[Schedule, CollectivePlan], None]


def _ignore_fanout(build: Callable[[int], Tree]) -> Callable[[int, int], Tree]:
    return lambda ranks, _fanout: build(ranks)


_CHAIN, _PIPELINE = trees.chain, _ignore_fanout(trees.pipeline)
_BINARY, _BINOMIAL = _ignore_fanout(trees.binary), _ignore_fanout(trees.binomial)
_IN_ORDER = _ignore_fanout(trees.in_order_binomial)
_ALLGATHER: dict[str, Build] = {
    "linear": rootless.allgather_linear,
    "bruck": rootless.allgather_bruck,
    "recursive_doubling": rootless.allgather_doubling_or_bruck,
    "ring": rootless.allgather_ring,
    "neighbor": rootless.allgather_neighbor,
    "two_proc": rootless.allgather_ring,
    "brucks": rootless.allgather_bruck,
}
_ALLTOALL: dict[str, Build] = {
    "linear": rootless.alltoall_linear,
    "pairwise": rootless.alltoall_pairwise,
    "linear_sync": rootless.alltoall_linear,
    "two_proc": rootless.alltoall_linear,
    "basic_linear": rootless.alltoall_linear,
    "scattered": rootless.alltoall_linear,
    "pairwise_sendrecv_replace": rootless.alltoall_pairwise,
}
_REDUCE_SCATTER: dict[str, Build] = {
    "non_overlapping": rooted.reduce_then_scatter,
    "recursive_halving": rooted.recursive_halving,
    "ring": rooted.ring_of_sums,
    "butterfly": rooted.butterfly,
    "basic_linear": rooted.reduce_then_scatter_tree,
    "recursive_doubling": rooted.recursive_doubling,
    "pairwise": rooted.pairwise,
    "noncommutative": rooted.butterfly,
}
_CATALOGUE: dict[str, dict[str, Build]] = {
    "bcast": {
        "basic_linear": rooted.broadcast_linear,
        "chain": rooted.down(_CHAIN),
        "pipeline": rooted.down(_PIPELINE),
        "split_binary_tree": rooted.broadcast_split,
        "binary_tree": rooted.down(_BINARY),
        "binomial": rooted.down(_BINOMIAL),
        "knomial": rooted.down(trees.knomial),
        "scatter_allgather": rooted.broadcast_scatter_doubling,
        "scatter_allgather_ring": rooted.broadcast_scatter_ring,
        "scatter_recursive_doubling_allgather": rooted.broadcast_scatter_doubling,
        "scatter_ring_allgather": rooted.broadcast_scatter_ring,
        "tree": rooted.down(_BINARY),
        "pipelined_tree": rooted.down(_BINARY),
    },
    "reduce": {
        "linear": rooted.reduce_linear,
        "chain": rooted.up(_CHAIN),
        "pipeline": rooted.up(_PIPELINE),
        "binary": rooted.up(_BINARY),
        "binomial": rooted.up(_IN_ORDER),
        "in_order_binary": rooted.reduce_in_order,
        "rabenseifner": rooted.reduce_rabenseifner,
        "reduce_scatter_gather": rooted.reduce_scatter_gather,
    },
    "allreduce": {
        "basic_linear": rootless.allreduce_linear,
        "nonoverlapping": rootless.allreduce_trees,
        "recursive_doubling": rootless.allreduce_doubling,
        "ring": rootless.allreduce_ring,
        "segmented_ring": rootless.allreduce_segmented_ring,
        "rabenseifner": rootless.allreduce_rabenseifner,
        "reduce_scatter_allgather": rootless.allreduce_reduce_scatter_allgather,
        "tree": rootless.allreduce_trees,
    },
    "allgather": _ALLGATHER,
    "allgatherv": {**_ALLGATHER, "default_1": rootless.allgather_linear},
    "alltoall": {**_ALLTOALL, "modified_bruck": rootless.alltoall_bruck, "brucks": rootless.alltoall_bruck},
    "alltoallv": _ALLTOALL,
    "barrier": {
        "linear": rootless.barrier_linear,
        "double_ring": rootless.barrier_double_ring,
        "recursive_doubling": rootless.barrier_recursive_doubling,
        "bruck": rootless.barrier_dissemination,
        "two_proc": rootless.barrier_dissemination,
        "tree": rootless.barrier_tree,
        "dissemination": rootless.barrier_dissemination,
        "k_dissemination": rootless.barrier_dissemination,
    },
    "gather": {
        "basic_linear": rooted.gather_linear,
        "binomial": rooted.gather_tree,
        "linear_sync": rooted.gather_linear_sync,
    },
    "gatherv": {"default": rooted.gather_linear, "linear": rooted.gather_linear},
    "scatter": {
        "basic_linear": rooted.scatter_linear,
        "binomial": rooted.scatter_tree,
        "linear_nb": rooted.scatter_linear_nb,
    },
    "scatterv": {"default": rooted.scatter_linear, "linear": rooted.scatter_linear},
    "reduce_scatter": _REDUCE_SCATTER,
    "reduce_scatter_block": _REDUCE_SCATTER,
}
_SEGMENTS = (
    {
        ("bcast", name)
        for name in (
            "chain",
            "pipeline",
            "split_binary_tree",
            "binary_tree",
            "binomial",
            "knomial",
            "tree",
            "pipelined_tree",
        )
    }
    | {("reduce", name) for name in ("chain", "pipeline", "binary", "binomial", "in_order_binary")}
    | {("allreduce", "segmented_ring"), ("gather", "linear_sync")}
)
_FANOUTS = {("bcast", "chain"), ("bcast", "knomial"), ("reduce", "chain")}


def collectives() -> tuple[str, ...]:
    """Return the collectives with schedules."""
    return tuple(_CATALOGUE)


def algorithms(collective: str) -> tuple[str, ...]:
    """Return the algorithms of a collective with schedules; none for an unknown collective."""
    return tuple(_CATALOGUE.get(collective, {}))


def schedule(collective: str, algorithm: str, plan: CollectivePlan) -> Schedule | None:
    """Return the messages of an algorithm; None if there is no schedule."""
    build = _CATALOGUE.get(collective, {}).get(_normalise_name(algorithm))
    if build is None:
        return None
    messages = Schedule(plan.ranks)
    if plan.ranks > 1:
        build(messages, CollectivePlan(plan.ranks, plan.bytes, plan.segment, plan.fanout or 4))
    return messages


def uses(collective: str, algorithm: str) -> tuple[bool, bool]:
    """Return whether the algorithm uses segments, and whether it uses a fan-out."""
    key = collective, _normalise_name(algorithm)
    return key in _SEGMENTS, key in _FANOUTS


def _normalise_name(algorithm: str) -> str:
    return algorithm.lower().replace("-", "_")
