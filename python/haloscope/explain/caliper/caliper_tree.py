"""A profile in Caliper's form: a tree of regions with times over ranks, and traffic by instance.

Iterations of loops, regions named `iteration#LOOP`, belong to their loop: Caliper does not treat them as
regions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from haloscope.base.arrays import Integers
from haloscope.profile import Profile
from haloscope.profile.store import Scope, reductions
from haloscope.profile.tables import rank_rows

_ITERATION = "iteration#"
_TRAFFIC = ("sends", "recvs", "bytes_sent", "bytes_recv")
_INSTANCES = (*_TRAFFIC, "dest_ranks", "src_ranks", "colls")
# Statistics of a quantity over the ranks that entered the region.
STATISTICS = ("min", "mean", "max", "total")


@dataclass(frozen=True)
class CaliperTree:
    """A tree of regions. Node 0 is the program; parents come before children.

    `names`, `parents` and `communication` have one entry per node. `regions` has one row per `node` that a
    rank entered: `ranks`; `time`, `own_time` (without nested regions, s) and `calls` with the suffixes of
    `STATISTICS`; and for communication `QUANTITY_instance_min` and `_max` over single instances,
    `QUANTITY_total`, and `_mean` for partners. `calls` has one row per MPI function in a node, without nested
    regions: `node`, `call`, `calls`, `bytes` and `time_total`. `by_rank` has one row per node and rank:
    `time`, `own_time`, `calls`, messages of the rank, and values of single instances.
    """

    names: list[str]
    parents: list[int]
    communication: list[bool]
    regions: pl.DataFrame
    calls: pl.DataFrame
    by_rank: pl.DataFrame


def make_caliper_tree(profile: Profile, functions: bool = False) -> CaliperTree:
    """Return the tree of a profile; with `functions`, a region's own time excludes its MPI calls."""
    tree = profile.regions
    names, parents, nodes = _fold_iterations(tree.names, tree.parents)
    communication = [False] * len(names)
    for path, node in enumerate(nodes.tolist()):
        communication[node] |= bool(tree.communication[path]) and not _is_iteration(tree.names[path])
    by_rank = _read_ranks(profile, nodes)
    if functions:
        by_rank = _add_call_times(profile, by_rank, nodes)
    own = pl.Series("parent", parents, dtype=pl.Int64)
    inside = (
        by_rank.select(own.gather(by_rank["node"]).alias("node"), "rank", "time")
        .group_by("node", "rank")
        .agg(pl.col("time").sum().alias("inside"))
    )
    by_rank = by_rank.join(inside, on=["node", "rank"], how="left").with_columns(
        (pl.col("time") - pl.col("inside").fill_null(0.0) - pl.col("in_calls")).alias("own_time")
    )
    return CaliperTree(
        names,
        parents,
        communication,
        _reduce_ranks(by_rank),
        _read_calls(profile, nodes),
        by_rank.sort("node", "rank"),
    )


def _is_iteration(name: str) -> bool:
    return name.startswith(_ITERATION)


def _fold_iterations(names: list[str], parents: Integers) -> tuple[list[str], list[int], Integers]:
    """Return names and parents of the nodes, and the node of each path."""
    nodes = np.zeros(len(names), dtype=np.int64)
    known: dict[tuple[int, str], int] = {}
    node_names, node_parents = [names[0]], [-1]
    for path in range(1, len(names)):
        around = int(nodes[parents[path]])
        if _is_iteration(names[path]):
            nodes[path] = around
            continue
        key = (around, names[path])
        if key not in known:
            known[key] = len(node_names)
            node_names.append(names[path])
            node_parents.append(around)
        nodes[path] = known[key]
    return node_names, node_parents, nodes


def _read_ranks(profile: Profile, nodes: Integers) -> pl.DataFrame:
    """Return node × rank, inclusive. Equal names inside and outside of iterations are one node."""
    rows = rank_rows(profile.data, Scope(profile.regions))
    iterations = np.array([_is_iteration(name) for name in profile.regions.names])
    rows = rows.filter(~iterations[rows["path"].to_numpy()])
    node = pl.Series("node", nodes, dtype=pl.Int64)
    return (
        rows.with_columns(node.gather(rows["path"]).alias("node"), pl.lit(0.0).alias("in_calls"))
        .group_by("node", "rank", maintain_order=True)
        .agg(
            pl.col("time", "in_calls").sum(),
            pl.col("instances").sum().alias("calls"),
            pl.col(_TRAFFIC).sum(),
            pl.col("dest_ranks", "src_ranks", "largest_message").max(),
            *(pl.col(f"{name}_instance_min").min() for name in _INSTANCES),
            *(pl.col(f"{name}_instance_max").max() for name in _INSTANCES),
        )
    )


def _add_call_times(profile: Profile, by_rank: pl.DataFrame, nodes: Integers) -> pl.DataFrame:
    """Return the rows with the time in MPI calls outside nested regions."""
    own = rank_rows(profile.data, Scope(profile.regions, exclusive=True))
    node = pl.Series("node", nodes, dtype=pl.Int64)
    spent = (
        own.select(node.gather(own["path"]).alias("node"), "rank", "mpi_time")
        .group_by("node", "rank")
        .agg(pl.col("mpi_time").sum())
    )
    joined = by_rank.join(spent, on=["node", "rank"], how="left")
    return joined.with_columns(pl.col("mpi_time").fill_null(0.0).alias("in_calls")).drop("mpi_time")


def _reduce_ranks(by_rank: pl.DataFrame) -> pl.DataFrame:
    reduced = [
        expression
        for name in ("time", "own_time", "calls")
        for expression in (
            pl.col(name).min().alias(f"{name}_min"),
            pl.col(name).mean().alias(f"{name}_mean"),
            pl.col(name).max().alias(f"{name}_max"),
            pl.col(name).sum().alias(f"{name}_total"),
        )
    ]
    return (
        by_rank.group_by("node")
        .agg(
            pl.len().cast(pl.Int64).alias("ranks"),
            *reduced,
            *(pl.col(name).sum().alias(f"{name}_total") for name in _TRAFFIC),
            *(pl.col(name).mean().alias(f"{name}_mean") for name in ("dest_ranks", "src_ranks")),
            pl.col("largest_message").max(),
            *(pl.col(f"{name}_instance_min").min() for name in _INSTANCES),
            *(pl.col(f"{name}_instance_max").max() for name in _INSTANCES),
        )
        .sort("node")
    )


def _read_calls(profile: Profile, nodes: Integers) -> pl.DataFrame:
    scope = Scope(profile.regions, exclusive=True)
    rows = scope.reduce(profile.frame("calls"), ["call"], reductions("calls"))
    node = pl.Series("node", nodes, dtype=pl.Int64)
    return (
        rows.with_columns(node.gather(rows["path"]).alias("node"))
        .group_by("node", "call")
        .agg(pl.col("calls", "bytes", "time_total").sum())
        .sort(["node", "time_total", "call"], descending=[False, True, False])
    )
