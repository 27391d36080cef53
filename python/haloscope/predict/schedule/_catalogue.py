"""Algorithms of Open MPI's `tuned` component and of MPICH, by the names that the libraries use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from haloscope.predict.schedule import _rooted, _rootless, _trees
from haloscope.predict.schedule._schedule import Plan, Schedule

if TYPE_CHECKING:
    from haloscope.predict.schedule._trees import Tree

__all__ = ["algorithms", "collectives", "schedule", "uses"]

Build = Callable[[Schedule, Plan], None]


def _one(build: Callable[[int], Tree]) -> Callable[[int, int], Tree]:
    return lambda ranks, _fanout: build(ranks)


_CHAIN, _PIPELINE = _trees.chain, _one(_trees.pipeline)
_BINARY, _BINOMIAL = _one(_trees.binary), _one(_trees.binomial)
_IN_ORDER = _one(_trees.in_order_binomial)
_ALLGATHER: dict[str, Build] = {
    "linear": _rootless.allgather_linear,
    "bruck": _rootless.allgather_bruck,
    "recursive_doubling": _rootless.allgather_doubling_or_bruck,
    "ring": _rootless.allgather_ring,
    "neighbor": _rootless.allgather_neighbor,
    "two_proc": _rootless.allgather_ring,
    "brucks": _rootless.allgather_bruck,
}
_ALLTOALL: dict[str, Build] = {
    "linear": _rootless.alltoall_linear,
    "pairwise": _rootless.alltoall_pairwise,
    "linear_sync": _rootless.alltoall_linear,
    "two_proc": _rootless.alltoall_linear,
    "basic_linear": _rootless.alltoall_linear,
    "scattered": _rootless.alltoall_linear,
    "pairwise_sendrecv_replace": _rootless.alltoall_pairwise,
}
_REDUCE_SCATTER: dict[str, Build] = {
    "non_overlapping": _rooted.reduce_then_scatter,
    "recursive_halving": _rooted.recursive_halving,
    "ring": _rooted.ring_of_sums,
    "butterfly": _rooted.butterfly,
    "basic_linear": _rooted.reduce_then_scatter_tree,
    "recursive_doubling": _rooted.recursive_doubling,
    "pairwise": _rooted.pairwise,
    "noncommutative": _rooted.butterfly,
}
_CATALOGUE: dict[str, dict[str, Build]] = {
    "bcast": {
        "basic_linear": _rooted.broadcast_linear,
        "chain": _rooted.down(_CHAIN),
        "pipeline": _rooted.down(_PIPELINE),
        "split_binary_tree": _rooted.broadcast_split,
        "binary_tree": _rooted.down(_BINARY),
        "binomial": _rooted.down(_BINOMIAL),
        "knomial": _rooted.down(_trees.knomial),
        "scatter_allgather": _rooted.broadcast_scatter_doubling,
        "scatter_allgather_ring": _rooted.broadcast_scatter_ring,
        "scatter_recursive_doubling_allgather": _rooted.broadcast_scatter_doubling,
        "scatter_ring_allgather": _rooted.broadcast_scatter_ring,
        "tree": _rooted.down(_BINARY),
        "pipelined_tree": _rooted.down(_BINARY),
    },
    "reduce": {
        "linear": _rooted.reduce_linear,
        "chain": _rooted.up(_CHAIN),
        "pipeline": _rooted.up(_PIPELINE),
        "binary": _rooted.up(_BINARY),
        "binomial": _rooted.up(_IN_ORDER),
        "in_order_binary": _rooted.reduce_in_order,
        "rabenseifner": _rooted.reduce_rabenseifner,
        "reduce_scatter_gather": _rooted.reduce_scatter_gather,
    },
    "allreduce": {
        "basic_linear": _rootless.allreduce_linear,
        "nonoverlapping": _rootless.allreduce_trees,
        "recursive_doubling": _rootless.allreduce_doubling,
        "ring": _rootless.allreduce_ring,
        "segmented_ring": _rootless.allreduce_segmented_ring,
        "rabenseifner": _rootless.allreduce_rabenseifner,
        "reduce_scatter_allgather": _rootless.allreduce_reduce_scatter_allgather,
        "tree": _rootless.allreduce_trees,
    },
    "allgather": _ALLGATHER,
    "allgatherv": {**_ALLGATHER, "default_1": _rootless.allgather_linear},
    "alltoall": {**_ALLTOALL, "modified_bruck": _rootless.alltoall_bruck, "brucks": _rootless.alltoall_bruck},
    "alltoallv": _ALLTOALL,
    "barrier": {
        "linear": _rootless.barrier_linear,
        "double_ring": _rootless.barrier_double_ring,
        "recursive_doubling": _rootless.barrier_recursive_doubling,
        "bruck": _rootless.barrier_dissemination,
        "two_proc": _rootless.barrier_dissemination,
        "tree": _rootless.barrier_tree,
        "dissemination": _rootless.barrier_dissemination,
        "k_dissemination": _rootless.barrier_dissemination,
    },
    "gather": {
        "basic_linear": _rooted.gather_linear,
        "binomial": _rooted.gather_tree,
        "linear_sync": _rooted.gather_linear_sync,
    },
    "gatherv": {"default": _rooted.gather_linear, "linear": _rooted.gather_linear},
    "scatter": {
        "basic_linear": _rooted.scatter_linear,
        "binomial": _rooted.scatter_tree,
        "linear_nb": _rooted.scatter_linear_nb,
    },
    "scatterv": {"default": _rooted.scatter_linear, "linear": _rooted.scatter_linear},
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
    """Return those of which there are schedules."""
    return tuple(_CATALOGUE)


def algorithms(collective: str) -> tuple[str, ...]:
    """Return those of a collective of which there are schedules; none of one that is not known."""
    return tuple(_CATALOGUE.get(collective, {}))


def schedule(collective: str, algorithm: str, plan: Plan) -> Schedule | None:
    """Return the messages of an algorithm; None if nobody has written them down here."""
    build = _CATALOGUE.get(collective, {}).get(_name(algorithm))
    if build is None:
        return None
    made = Schedule(plan.ranks)
    if plan.ranks > 1:
        build(made, Plan(plan.ranks, plan.bytes, plan.segment, plan.fanout or 4))
    return made


def uses(collective: str, algorithm: str) -> tuple[bool, bool]:
    """Return whether the algorithm goes by segments, and by a fan-out."""
    key = collective, _name(algorithm)
    return key in _SEGMENTS, key in _FANOUTS


def _name(algorithm: str) -> str:
    return algorithm.lower().replace("-", "_")
