"""The program's own time per instance, and the time that slow regimes add: amount, interval, place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from haloscope.base.arrays import Flags, Floats

if TYPE_CHECKING:
    import polars as pl

# Consecutive instances form a block, so that a long slowdown counts as one case.
_BLOCKS = 20
_SURE = 0.95


@dataclass(frozen=True)
class Added:
    """Means over all ranks and instances, with intervals that hold in 95 % of cases.

    `program` (s) is the mean time of an instance that is not slow; `added` (s) is the mean excess over it,
    and `share` its part of all time. `parts` divides `share` into time added while all ranks (`machine`), one
    host or one rank were slow, and the rest, which is scattered. `most` names the host and the rank with the
    largest share, each with this share, or None. `slow` is the share of the instances that were in a slow
    regime. `waiting` is the part of the excess that is waiting in MPI, None if unknown: a machine does not
    add it.
    """

    program: float
    program_low: float
    program_high: float
    added: float
    share: float
    share_low: float
    share_high: float
    slow: float
    parts: dict[str, float]
    most: dict[str, tuple[str, float]]
    waiting: float | None = None

    @property
    def sure(self) -> bool:
        """Whether slow regimes add time significantly."""
        return self.share_low > 0


def measure_added_time(
    durations: Floats,
    is_slow: Flags,
    found: pl.DataFrame,
    ranks: Sequence[int],
    hosts: Sequence[str | None],
    waits: Floats | None = None,
) -> Added | None:
    """Return the time that slow instances add; None if all instances are slow.

    `durations` (s) and `is_slow` are (ranks, instances), NaN where a rank has no such instance; `found` are
    the `episodes` of the same, `waits` the seconds of waiting in MPI in each instance. A rank is compared
    with its own mean time, so that more work does not count as slowness.
    """
    exists = ~np.isnan(durations)
    calm = exists & ~is_slow
    if not calm.any():
        return None
    usual = _compute_usual(durations, calm)
    expected = np.where(exists, usual[:, None], 0.0)
    excess = np.where(exists, durations, 0.0) - expected
    count, total = int(exists.sum()), float(np.nansum(durations))
    where = _places(durations.shape, found, ranks, hosts)
    parts, most = _parts(excess / total, where, ranks, hosts)
    blocks = np.linspace(0, durations.shape[1], min(_BLOCKS, durations.shape[1]) + 1).astype(np.int64)[:-1]
    sums = [np.add.reduceat(part.sum(axis=0), blocks) for part in (excess, expected, exists.astype(float))]
    share = excess.sum() / total
    half = _half_width(sums[0], sums[0] + sums[1])
    calm_sums = [
        np.add.reduceat(part.sum(axis=0), blocks)
        for part in (np.where(calm, durations, 0), calm.astype(float))
    ]
    program, width = expected.sum() / count, _half_width(*calm_sums)
    return Added(
        program=float(program),
        program_low=float(program - width),
        program_high=float(program + width),
        added=float(excess.sum() / count),
        share=float(share),
        share_low=float(share - half),
        share_high=float(share + half),
        slow=float((is_slow & exists).sum() / count),
        parts=parts,
        most=most,
        waiting=None if waits is None else _measure_waiting(excess, waits, calm, is_slow & exists),
    )


def _measure_waiting(excess: Floats, waits: Floats, calm: Flags, slow: Flags) -> float | None:
    """Return the part of the excess of slow instances that is waiting in MPI; None if it is unknown."""
    longer = np.clip(excess, 0, None)[slow]
    total = float(longer.sum())
    if not total or not np.isfinite(waits[slow | calm]).all():
        return None
    waited = (waits - _compute_usual(waits, calm)[:, None])[slow]
    return float(np.clip(waited, 0, longer).sum()) / total


def _compute_usual(durations: Floats, calm: Flags) -> Floats:
    """Return each rank's mean over calm instances; for a rank without any, the mean over ranks."""
    sums = np.where(calm, durations, 0).sum(axis=1)
    counts = calm.sum(axis=1)
    usual: Floats = np.where(counts > 0, sums / np.maximum(counts, 1), sums.sum() / counts.sum())
    return usual


def _places(
    shape: tuple[int, ...], found: pl.DataFrame, ranks: Sequence[int], hosts: Sequence[str | None]
) -> NDArray[np.int8]:
    """Return the episode of each instance: 3 the machine's, 2 its host's, 1 its own, 0 none."""
    where = np.zeros(shape, dtype=np.int8)
    rows_of_host = {name: [row for row, host in enumerate(hosts) if host == name] for name in set(hosts)}
    row_of_rank = {str(rank): row for row, rank in enumerate(ranks)}
    for kind, who, first, last in found.select("kind", "who", "first", "last").iter_rows():
        inside = slice(first, last + 1)
        if kind == "machine":
            where[:, inside] = 3
        elif kind == "host":
            rows = rows_of_host.get(who, [])
            where[rows, inside] = np.maximum(where[rows, inside], 2)
        else:
            row = row_of_rank[who]
            where[row, inside] = np.maximum(where[row, inside], 1)
    return where


def _parts(
    share: Floats, where: NDArray[np.int8], ranks: Sequence[int], hosts: Sequence[str | None]
) -> tuple[dict[str, float], dict[str, tuple[str, float]]]:
    names = ("scattered", "rank", "host", "machine")
    parts = {name: float(share[where == level].sum()) for level, name in enumerate(names)}
    by_rank = np.where(where == 1, share, 0).sum(axis=1)
    by_row = np.where(where == 2, share, 0).sum(axis=1)
    by_host: dict[str, float] = {}
    for host, part in zip(hosts, by_row.tolist(), strict=True):
        if host is not None:
            by_host[host] = by_host.get(host, 0.0) + part
    most: dict[str, tuple[str, float]] = {}
    if (where == 2).any():
        host = max(by_host, key=lambda name: by_host[name])
        most["host"] = (host, by_host[host])
    if (where == 1).any():
        row = int(by_rank.argmax())
        most["rank"] = (str(ranks[row]), float(by_rank[row]))
    return parts, most


def _half_width(parts: Floats, wholes: Floats) -> float:
    """Return half the interval of Σ parts / Σ wholes, by the jackknife over blocks."""
    kept = wholes.sum() - wholes
    blocks = len(parts)
    if blocks < 2 or not (kept > 0).all():
        return float("inf")
    ratios = (parts.sum() - parts) / kept
    deviation = np.sqrt((blocks - 1) / blocks * ((ratios - ratios.mean()) ** 2).sum())
    return float(stdtrit(blocks - 1, (1 + _SURE) / 2) * deviation)
