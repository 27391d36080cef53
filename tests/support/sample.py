"""Synthetic profiles of a halo exchange on a process grid of any size, by arithmetic alone."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from support.profiles import INFO, INSTANCE, RANK_COUNTS, RANK_TIMES, Draft, columns_of, path_rows
from support.series import TICK

Grid = tuple[int, int, int]
_OFFSETS = np.array([o for o in product((-1, 0, 1), repeat=3) if o != (0, 0, 0)])
# What a message to a neighbour across a face, an edge, a corner holds.
_BYTES = np.array([0, 86528, 832, 8])
_STEPS = 50
_LEVELS = 8  # messages of each are a quarter of those before


def halo_profile(grid: Grid, regions: int = 3, ranks_a_host: int = 64, seed: int = 0) -> Draft:
    """A 27-point halo exchange in each of `regions` leaves of a tree of depth three."""
    random = np.random.default_rng(seed)
    names = ["solve"] + [f"solve/level {i}" for i in range(regions)]
    names += [f"solve/level {i}/halo" for i in range(regions)]
    paths = path_rows(*names)
    leaves = [row["path"] for row in paths if row["name"] == "halo"]
    ranks = int(np.prod(grid))
    partners = _partners(grid, leaves, random)
    return Draft(
        {
            "paths": columns_of("paths", paths),
            "processes": _processes(ranks, ranks_a_host),
            "ranks": _ranks(paths, ranks, partners, random),
            "calls": columns_of("calls", _calls(leaves, ranks)),
            "sizes": columns_of("sizes", _sizes(leaves, ranks)),
            "partners": partners,
            "collectives": columns_of("collectives", [_reduction(ranks)]),
            "communicators": columns_of("communicators", [_world(ranks)]),
            "unaccounted": columns_of("unaccounted", []),
        },
        {**INFO, "command": f"mpiexec -n {ranks} ./cg", "ranks": ranks, "duration": 10.0},
        chunk_rows=1 << 18,
    )


def _partners(grid: Grid, leaves: list[int], random: np.random.Generator) -> dict[str, Any]:
    places = np.stack(np.unravel_index(np.arange(np.prod(grid)), grid), axis=1)
    near = places[:, None, :] + _OFFSETS[None, :, :]
    inside = ((near >= 0) & (near < np.array(grid))).all(axis=2)
    rank, which = np.nonzero(inside)
    partner = np.ravel_multi_index(tuple(near[rank, which].T), grid)
    size = _BYTES[np.abs(_OFFSETS[which]).sum(axis=1)]
    count, many = len(rank), len(leaves)
    shrink = np.repeat(4 ** (np.arange(many) % _LEVELS), count)
    sent = np.tile(size, many) // shrink * _STEPS
    return {
        "path": np.repeat(leaves, count),
        "rank": np.tile(rank, many),
        "partner": np.tile(partner, many),
        "sends": np.full(count * many, _STEPS),
        "bytes_sent": sent,
        "recvs": np.full(count * many, _STEPS),
        "bytes_recv": sent,
        "time": random.gamma(2.0, 1e-3, count * many) / shrink,
    }


def _processes(ranks: int, ranks_a_host: int) -> dict[str, Any]:
    zero = np.zeros(ranks, dtype=np.int64)
    return {
        "rank": np.arange(ranks),
        "host": [f"node{rank // ranks_a_host:03}" for rank in range(ranks)],
        "pid": np.arange(ranks) + 1000,
        "start": np.full(ranks, 1767225600.0),
        "duration": np.full(ranks, 10.0),
        "tick": np.full(ranks, TICK),
        "threads": zero + 1,
        "unmatched_begins": zero,
        "unmatched_ends": zero,
        "dropped": zero,
        "finalized": zero + 1,
    }


def _ranks(
    paths: list[dict[str, Any]], ranks: int, partners: dict[str, Any], random: np.random.Generator
) -> dict[str, Any]:
    count = len(paths) * ranks
    rows: dict[str, Any] = {name: np.zeros(count, dtype=np.int64) for name in RANK_COUNTS}
    rows |= {name: np.zeros(count) for name in RANK_TIMES}
    rows["path"] = np.repeat(np.arange(len(paths)), ranks)
    rows["rank"] = np.tile(np.arange(ranks), len(paths))
    rows["instances"][:] = _STEPS
    rows["skew_time"][:] = np.nan
    row_of = partners["path"] * ranks + partners["rank"]
    for name in ("sends", "recvs", "bytes_sent", "bytes_recv"):
        np.add.at(rows[name], row_of, partners[name])
        _instance(rows, name, rows[name] // _STEPS)
    np.add.at(rows["p2p_time"], row_of, partners["time"])
    np.maximum.at(rows["largest_message"], row_of, partners["bytes_sent"] // _STEPS)
    distinct = np.bincount(row_of, minlength=count)
    for name in ("dest_ranks", "src_ranks"):
        rows[name][:] = rows[f"{name}_exclusive"][:] = distinct
        _instance(rows, name, distinct)
    solve = rows["path"] == 1
    rows["colls"][solve] = 2 * _STEPS
    rows["coll_bytes"][solve] = 16 * _STEPS
    rows["coll_time"][solve] = random.gamma(9.0, 0.05, ranks)
    rows["wait_time"][:] = rows["p2p_time"] * 0.8 + rows["coll_time"]
    _add_times(rows, paths, ranks, random)
    return rows


def _instance(rows: dict[str, Any], name: str, amount: np.ndarray[Any, Any]) -> None:
    for end, suffix in product(("min", "max"), ("", "_exclusive")):
        assert name in INSTANCE
        rows[f"{name}_instance_{end}{suffix}"][:] = amount


def _add_times(
    rows: dict[str, Any], paths: list[dict[str, Any]], ranks: int, random: np.random.Generator
) -> None:
    """Fills the inclusive `time` and partners: work, what MPI took, and all regions inside."""
    work = random.gamma(50.0, 0.001, len(paths) * ranks)
    rows["time"][:] = work + rows["p2p_time"] + rows["coll_time"]
    for row in reversed(paths[1:]):
        mine, above = (slice(p * ranks, (p + 1) * ranks) for p in (row["path"], row["parent"]))
        rows["time"][above] += rows["time"][mine]
        for name in ("dest_ranks", "src_ranks"):
            np.maximum(rows[name][above], rows[name][mine], out=rows[name][above])


def _calls(leaves: list[int], ranks: int) -> list[dict[str, Any]]:
    calls = [("MPI_Isend", 0.02), ("MPI_Irecv", 0.01), ("MPI_Waitall", 0.6)]
    rows = [
        {"path": path, "call": call, "calls": 26 * ranks, "time_total": cost, "time_max": cost / 9}
        for path in leaves
        for call, cost in calls
    ]
    return [*rows, {"path": 1, "call": "MPI_Allreduce", "calls": 100 * ranks, "time_total": 2.0}]


def _sizes(leaves: list[int], ranks: int) -> list[dict[str, Any]]:
    return [
        {
            "path": path,
            "kind": "p2p",
            "bytes": int(size) // 4 ** (level % _LEVELS),
            "bytes_upper": int(size) // 4 ** (level % _LEVELS),
            "messages": ranks * _STEPS * many,
            "time_total": 1e-6 * ranks * many,
        }
        for level, path in enumerate(leaves)
        for size, many in zip(_BYTES[1:], (6, 12, 8), strict=True)
    ] + [
        {"path": 1, "kind": "coll", "bytes": 8, "bytes_upper": 8, "messages": 100 * ranks, "time_total": 2.0}
    ]


def _reduction(ranks: int) -> dict[str, Any]:
    return {
        "path": 1,
        "operation": "Allreduce",
        "comm_size": ranks,
        "bytes": 8,
        "calls": 100 * ranks,
        "time_total": 2.0,
        "time_max": 0.1,
    }


def _world(ranks: int) -> dict[str, Any]:
    return {"name": "MPI_COMM_WORLD", "size": ranks, "ranks": ranks, "calls": 1000, "bytes": 800}
