"""The host of each rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from haloscope.base.arrays import Integers
from haloscope.profile.store.framing import DamageError

_UNKNOWN = -1


class Hosts:
    """The hosts of the profile's ranks; those of other ranks and of outside partners are unknown."""

    def __init__(self, ranks: Integers, hosts: Sequence[str]) -> None:
        """Take ranks and their hosts, one each. Raises `DamageError` if a rank is there twice."""
        order = np.argsort(ranks, kind="stable")
        self.ranks = ranks[order]
        if bool(np.any(self.ranks[1:] == self.ranks[:-1])):
            raise DamageError("its table processes has a rank twice")
        # In the order of the ranks, so that the first host is that of rank 0.
        self.names = list(dict.fromkeys(hosts[index] for index in order.tolist()))
        codes = {name: code for code, name in enumerate(self.names)}
        self._codes = np.array([codes[hosts[index]] for index in order.tolist()], dtype=np.int64)

    def codes(self, ranks: Integers) -> Integers:
        """Return an index into `names` for each rank, −1 where unknown; same shape."""
        if not len(self.ranks):
            return np.full(len(ranks), _UNKNOWN, dtype=np.int64)
        last = len(self.ranks) - 1
        # Nearly always no rank is missing; then no search is needed.
        if self.ranks[0] == 0 and self.ranks[last] == last:
            found = self._codes.take(ranks, mode="clip")
            if len(ranks) and (ranks.min() < 0 or ranks.max() > last):
                found[(ranks < 0) | (ranks > last)] = _UNKNOWN
            return found
        index = np.minimum(np.searchsorted(self.ranks, ranks), last)
        return np.where(self.ranks[index] == ranks, self._codes[index], _UNKNOWN)

    def find_names(self, ranks: pl.Series) -> pl.Series:
        """Return the host's name for each rank, null if unknown."""
        codes = self.codes(ranks.to_numpy())
        known: Any = pl.Series(codes).set(pl.Series(codes < 0), None)
        return pl.Series("host", self.names, dtype=pl.String).gather(known)

    def compare_nodes(self, ranks: pl.Series, partners: pl.Series) -> pl.Series:
        """Return whether both are on one node: true, false, or null where one is unknown."""
        ours, theirs = self.codes(ranks.to_numpy()), self.codes(partners.to_numpy())
        same = pl.Series("same_node", ours == theirs)
        if not len(ours) or min(ours.min(), theirs.min()) >= 0:
            return same
        return same.set(pl.Series((ours < 0) | (theirs < 0)), None)
