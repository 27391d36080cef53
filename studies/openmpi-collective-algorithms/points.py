"""The paper's figures on a simulated ORFEO: writes `simulated/points.csv`.

    python points.py [RANKS,RANKS…]

Open MPI's messages of the named algorithms and of those that the rules of 4.0 and 4.1 choose, at all of the
paper's sizes; some algorithms in segments; and SimGrid's own broadcast and reduction with its selector for
Open MPI. A message between two cores takes the paper's latency. It includes 0.1 µs for which a send occupies
its rank, and 0.05 µs for a receive: their sum is the smallest latency of the paper, which has no other data.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "simulated"))

import polars as pl
import rules
import sweep

KEPT = sweep.HERE / "points.csv"
PAPERS = {
    "bcast": ("basic_linear", "pipeline", "binomial", "chain"),
    "reduce": ("linear", "binary", "binomial", "rabenseifner"),
}
SIZES = tuple(1 << power for power in range(1, 21))
RANKS = tuple(1 << power for power in range(1, 9))
SMALL = 2  # bytes of Figures 6 and 7
SMALL_RANKS = (2, 3, 4, 5, 6, 8, 9, 12, 16, 17, 24, 32, 33, 48, 64, 65, 96, 128, 129, 160, 192, 224, 256)
# Larger messages on the most ranks take SimGrid too long.
MOST_BYTES = {256: 32768}
# Segments of the rules of 4.0. On more ranks, SimGrid needs minutes for a point.
MOST_CUT = 64
CUT_SIZE = 1048576
CUT: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
    "bcast": (("pipeline", "chain", "binomial"), (1024, 8192, 65536, 131072)),
    "reduce": (("binary", "binomial"), (32768, 65536)),
}
OCCUPIED = Decimal("0.15e-6")
SETTINGS = sweep.SETTINGS | {
    "smpi/os": "0:1e-7:0",
    "smpi/ois": "0:1e-7:0",
    "smpi/or": "0:5e-8:0",
    "smpi/wtime": 0,
    "smpi/coll-selector": "ompi",
}
KEYS = ["collective", "algorithm", "segment", "fanout", "ranks", "bytes"]


def listed(ranks: int) -> list[dict[str, object]]:
    """Return the points with a number of ranks, each once; on many ranks, none in segments."""
    rows = {tuple(row.values()): row for row in _all(ranks)}
    return [row for row in rows.values() if ranks <= MOST_CUT or not row["segment"]]


def sizes_on(ranks: int) -> tuple[int, ...]:
    """Return the sizes that are simulated on a number of ranks."""
    return tuple(size for size in SIZES if size <= MOST_BYTES.get(ranks, SIZES[-1]))


def _all(ranks: int) -> Iterator[dict[str, object]]:
    sizes = sizes_on(ranks) if ranks in RANKS else (SMALL,)
    for collective, names in PAPERS.items():
        for size in sizes:
            chosen = [rules.choose(version, collective, ranks, size) for version in rules.VERSIONS]
            named = [rules.Choice(name, 0, 0) for name in names]
            own = [rules.Choice(sweep.SELECTOR, 0, 0)]
            cut = _cut(collective, size) if ranks in RANKS else []
            for choice in (*named, *chosen, *cut, *own):
                yield dict(zip(KEYS, (collective, *choice, ranks, size), strict=True))


def _cut(collective: str, size: int) -> list[rules.Choice]:
    names, segments = CUT[collective] if size == CUT_SIZE else ((), ())
    return [rules.Choice(name, segment, 0) for name in names for segment in segments]


def simulated(rows: Sequence[dict[str, object]]) -> pl.DataFrame:
    """Return the times of points with the same number of ranks: mean over ranks, and last rank.

    Each size is a run of its own: one run of all sizes does not end on 128 ranks.
    """
    ranks = int(str(rows[0]["ranks"]))
    done: list[dict[str, object]] = []
    for size in dict.fromkeys(row["bytes"] for row in rows):
        done += sweep.simulated({ranks: [row for row in rows if row["bytes"] == size]}, SETTINGS, OCCUPIED)
    if len(done) != len(rows):
        sys.exit(f"{ranks} ranks: {len(done)} of {len(rows)} points were simulated")
    return pl.DataFrame(done).select(*KEYS, "time", last="time_max")


def main(all_ranks: Sequence[int]) -> None:
    """Simulate, and replace the points of these numbers of ranks."""
    for ranks in all_ranks:
        now = simulated(listed(ranks))
        old = [pl.read_csv(KEPT).filter(pl.col("ranks") != ranks)] if KEPT.exists() else []
        every = pl.concat([*old, now]).sort(KEYS)
        every.write_csv(KEPT, float_precision=5, float_scientific=True)


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1].split(",")] if sys.argv[1:] else SMALL_RANKS)
