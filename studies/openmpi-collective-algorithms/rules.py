"""Open MPI's fixed rules for the algorithm of a broadcast or reduction, from `rules.csv`.

The first row applies whose bounds all hold: fewer ranks, fewer bytes, and the number of ranks below or
above the line `slope * bytes + constant`. Operations are commutative. The rules are those of
ompi/mca/coll/tuned/coll_tuned_decision_fixed.c: 4.0 (with segments) and 4.1 (4.1.0 to 4.1.8 are equal; no
segments, and a chain with a fan-out of 0, which is a pipeline).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import polars as pl

VERSIONS = ("4.1", "4.0")


class Choice(NamedTuple):
    """An algorithm, its bytes per segment (0: not cut), and its fan-out (0: the library's default)."""

    algorithm: str
    segment: int
    fanout: int


@cache
def _rules(version: str, collective: str) -> list[dict[str, object]]:
    rows = pl.read_csv(Path(__file__).with_name("rules.csv"), schema_overrides={"version": pl.String})
    return rows.filter(pl.col("version") == version, pl.col("collective") == collective).to_dicts()


def choose(version: str, collective: str, ranks: int, size: int) -> Choice:
    """Return the choice of the rules of a version for a number of ranks and bytes."""
    for rule in _rules(version, collective):
        if _applies(rule, ranks, size):
            return Choice(str(rule["algorithm"]), int(str(rule["segment"])), int(str(rule["fanout"])))
    raise ValueError(f"no rule of Open MPI {version} for {collective} on {ranks} ranks")


def _applies(rule: dict[str, object], ranks: int, size: int) -> bool:
    for bound, value in (("ranks_below", ranks), ("bytes_below", size)):
        if rule[bound] is not None and value >= int(str(rule[bound])):
            return False
    if rule["side"] is None:
        return True
    line = float(str(rule["slope"])) * size + float(str(rule["constant"]))
    return ranks < line if rule["side"] == "below" else ranks > line
