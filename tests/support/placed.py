"""Profiles of halo exchanges on grids of ranks, for tests of placement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from support.profiles import Draft, draft, path_rows, process_rows

Dims = tuple[int, int, int]


def halo(dims: Dims, zones: Dims, hosts: Sequence[str]) -> Draft:
    """A 7-point exchange of faces of doubles on a grid that does not wrap, its first axis fastest.

    `hosts` are those of the ranks.
    """
    return messages_between(list(_faces(dims, zones)), hosts)


def messages_between(messages: Sequence[tuple[int, int, int]], hosts: Sequence[str]) -> Draft:
    """A profile of messages: sender, receiver, bytes."""
    ranks = len(hosts)
    rows = [
        {"path": 1, "rank": rank, "partner": partner, "sends": 1, "bytes_sent": size}
        for rank, partner, size in messages
    ]
    received = [
        {"path": 1, "rank": rank, "partner": partner, "recvs": 1, "bytes_recv": size}
        for partner, rank, size in messages
    ]
    pairs: dict[tuple[int, int], dict[str, int]] = {}
    for row in [*rows, *received]:
        pairs.setdefault((row["rank"], row["partner"]), {}).update(row)
    return draft(
        {"ranks": ranks},
        paths=path_rows("halo"),
        processes=process_rows(*hosts),
        partners=list(pairs.values()),
    )


def _faces(dims: Dims, zones: Dims) -> Iterator[tuple[int, int, int]]:
    for coordinates in product(*map(range, dims)):
        for axis, step in product(range(3), (-1, 1)):
            other = [*coordinates]
            other[axis] += step
            if 0 <= other[axis] < dims[axis]:
                face = 8 * zones[0] * zones[1] * zones[2] // zones[axis]
                yield _number(coordinates, dims), _number(other, dims), face


def _number(position: Sequence[int], dims: Dims) -> int:
    return position[0] + dims[0] * (position[1] + dims[1] * position[2])
