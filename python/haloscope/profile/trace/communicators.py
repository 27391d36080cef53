"""Communicators of a trace: numbers that are the same on all ranks, and their world ranks."""

from __future__ import annotations

import numpy as np
import polars as pl

from haloscope.base.arrays import AnyArray, Integers
from haloscope.profile.store.framing import DamageError

_WORLD = "MPI_COMM_WORLD"
_MOST_RANKS = 1 << 22  # of a communicator; more are damage
_MOST_MEMBERS = 1 << 25  # of all communicators together


class Communicators:
    """Translates ranks of communicators to world ranks.

    `frame` is the Trace's table. Number 0 is MPI_COMM_WORLD, whether it was used or not.
    """

    def __init__(self, stored: pl.DataFrame, size: int) -> None:
        """Take the rows of `trace_communicators` and the size of the world. Raises `DamageError`."""
        if size > _MOST_RANKS:
            raise DamageError(f"a trace of {size} ranks is damaged")
        members = _members(stored)
        groups: dict[int, list[tuple[int, str, Integers]]] = {}
        for (identity, side, name), ranks in members.items():
            groups.setdefault(identity, []).append((side, name, ranks))
        world = [i for i, of in groups.items() if of[0][1] == _WORLD and len(of[0][2]) == size]
        others = sorted(
            (i for i in groups if i not in world[:1]),
            key=lambda i: (-len(groups[i][0][2]), groups[i][0][1], groups[i][0][2].tolist(), i),
        )
        order = [*world[:1], *others]
        first = 0 if world else 1
        self.number = {identity: first + index for index, identity in enumerate(order)}
        lists = [np.arange(size)] if not world else []
        names = [_WORLD] if not world else []
        self._sides: dict[int, list[Integers]] = {}
        for identity in order:
            sides = sorted(groups[identity], key=lambda side: side[0])
            if sides[0][0] == 0:  # ranks may give one communicator different names
                sides = sides[:1]
            lists.append(np.concatenate([ranks for _, _, ranks in sides]))
            names.append(sides[0][1])
            if sides[0][0] != 0:
                self._sides[self.number[identity]] = [ranks for _, _, ranks in sides]
        self._lists = lists
        self.frame = pl.DataFrame(
            {
                "communicator": pl.Series(range(len(lists)), dtype=pl.Int32),
                "name": pl.Series(names, dtype=pl.String),
                "ranks": pl.Series([ranks.tolist() for ranks in lists], dtype=pl.List(pl.Int32)),
            }
        )
        self._starts = np.cumsum([0, *map(len, lists)])
        self._pool = np.concatenate(lists)

    def numbers(self, identities: AnyArray) -> Integers:
        """Return the numbers of communicators, −1 for none (0)."""
        distinct, which = np.unique(identities, return_inverse=True)
        found = np.array([self.number.get(int(i), -1) for i in distinct], dtype=np.int64)
        return found[which] if len(distinct) else np.zeros(len(identities), dtype=np.int64)

    def partners(self, ranks: Integers, communicators: Integers, after: Integers) -> Integers:
        """Return world ranks of partners that are `after` ranks after the own one; −1 stays −1."""
        return self._resolve(ranks, communicators, after, is_relative=True)

    def roots(self, ranks: Integers, communicators: Integers, roots: Integers) -> Integers:
        """Return world ranks of ranks of communicators; −1 stays −1."""
        return self._resolve(ranks, communicators, roots, is_relative=False)

    def _resolve(
        self, ranks: Integers, communicators: Integers, given: Integers, *, is_relative: bool
    ) -> Integers:
        result = np.full(len(given), -1, dtype=np.int64)
        known = (given >= 0) & (communicators >= 0)
        size = int(self._pool.max(initial=0)) + 2
        keys = communicators[known] * size + ranks[known]
        # Once per rank and communicator: these are few, messages are many.
        distinct, which = np.unique(keys, return_inverse=True)
        own = np.empty(len(distinct), dtype=np.int64)
        starts, lengths = np.empty_like(own), np.empty_like(own)
        pools: list[Integers] = []
        at = 0
        for index, key in enumerate(distinct.tolist()):
            communicator, rank = divmod(key, size)
            own[index], members = self._locate(rank, communicator)
            pools.append(members)
            starts[index], lengths[index] = at, len(members)
            at += len(members)
        if not pools:
            return result
        pool = np.concatenate(pools)
        wanted = given[known]
        if is_relative:
            is_inter = own[which] < 0
            wanted = np.where(is_inter, wanted, (own[which] + wanted) % np.maximum(lengths[which], 1))
        if np.any(wanted >= lengths[which]):
            raise DamageError("a communicator of its trace has no such rank")
        result[known] = pool[starts[which] + wanted]
        return result

    def _locate(self, rank: int, communicator: int) -> tuple[int, Integers]:
        """Return the rank's own index (−1: in an inter-communicator), and the ranks that it addresses."""
        sides = self._sides.get(communicator)
        if sides is not None:
            remote = [side for side in sides if rank not in side]
            return -1, remote[0] if remote else self._lists[communicator]
        members = self._lists[communicator]
        found = np.flatnonzero(members == rank)
        return int(found[0]) if len(found) else 0, members


def _members(stored: pl.DataFrame) -> dict[tuple[int, int, str], Integers]:
    """Return the world ranks of each communicator, by identity, side and name."""
    found: dict[tuple[int, int, str], Integers] = {}
    columns = ["communicator", "members", "name", "size"]
    total = 0
    for key, rows in stored.sort("position").group_by(columns, maintain_order=True):
        identity, side, name, size = key
        counts, first = rows["count"].to_numpy(), rows["world"].to_numpy()
        stride, position = rows["stride"].to_numpy(), rows["position"].to_numpy()
        ends = np.cumsum(counts)
        if np.any(counts < 1) or not np.array_equal(position, ends - counts) or ends[-1] != size:
            raise DamageError("ranks of a communicator of its trace are missing")
        total += int(ends[-1])
        if counts.max() > _MOST_RANKS or not 0 < ends[-1] <= _MOST_RANKS or total > _MOST_MEMBERS:
            raise DamageError("a communicator of its trace has too many ranks")
        step = np.arange(ends[-1]) - np.repeat(position, counts)
        ranks = np.repeat(first, counts) + step * np.repeat(stride, counts)
        if ranks.min() < -1 or ranks.max() >= 1 << 31:
            raise DamageError("a communicator of its trace has ranks that do not exist")
        found[int(identity), int(side), str(name)] = ranks
    return found
