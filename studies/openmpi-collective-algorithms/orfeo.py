"""Times on the simulated ORFEO by the paper's names, from `simulated/points.csv`, and those of our model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import points
import polars as pl
import rules
import sweep
from together import KEYS

from haloscope import predict

DEFAULT, OLD, SIMGRID = "default", "default of 4.0", "default, SimGrid's code"
# Names of the paper's curves: the library's choice in 4.1, then the named algorithms.
NAMES = {collective: (DEFAULT, *names) for collective, names in points.PAPERS.items()}
MACHINE = sweep.HERE / "orfeo.yaml"
_VERSIONS = {DEFAULT: "4.1", OLD: "4.0"}


@cache
def kept() -> pl.DataFrame:
    """Return the simulated points."""
    return pl.read_csv(points.KEPT)


def choices(version: str) -> pl.DataFrame:
    """Return the algorithm, segment and fan-out that the rules choose for each simulated point."""
    grid = kept().select("collective", "ranks", "bytes").unique(maintain_order=True)
    rows = [
        dict(
            zip(
                points.KEYS,
                (collective, *rules.choose(version, collective, ranks, size), ranks, size),
                strict=True,
            )
        )
        for collective, ranks, size in grid.iter_rows()
    ]
    return pl.DataFrame(rows)


@cache
def named() -> pl.DataFrame:
    """Return the times of the named algorithms, not cut, and of the defaults.

    `time` is OSU's mean over ranks, and `last` the time of the last rank.
    """
    plain = kept().filter(pl.col("segment") == 0, pl.col("fanout") == 0)
    papers = [
        plain.filter(pl.col("collective") == collective, pl.col("algorithm").is_in(names))
        for collective, names in points.PAPERS.items()
    ]
    own = plain.filter(pl.col("algorithm") == sweep.SELECTOR).with_columns(algorithm=pl.lit(SIMGRID))
    rules_of = [
        choices(version).join(kept(), on=points.KEYS).with_columns(algorithm=pl.lit(name))
        for name, version in _VERSIONS.items()
    ]
    return pl.concat([rows.select(*KEYS, "time", "last") for rows in (*papers, *rules_of, own)])


def last(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the times of the last rank, as in the other sources."""
    return rows.select(*KEYS, time="last")


def modelled(
    machine: predict.Machine, collective: str, ranks: Sequence[int], sizes: Sequence[int]
) -> pl.DataFrame:
    """Return our model's times: latency and bytes of each message, one message at a time per port."""
    chosen = choices("4.1").filter(
        pl.col("collective") == collective, pl.col("ranks").is_in(ranks), pl.col("bytes").is_in(sizes)
    )
    # A chain with a fan-out of 1 is a pipeline.
    one = pl.when(pl.col("fanout") == 1).then(pl.lit("pipeline")).otherwise("algorithm")
    chosen = chosen.with_columns(algorithm=one)
    names = list(dict.fromkeys([*points.PAPERS[collective], *chosen["algorithm"].unique().sort()]))
    rows = predict.model(machine, collective, names, ranks, sizes, formula="hockney").select(*KEYS, "time")
    default = chosen.join(rows, on=KEYS).with_columns(algorithm=pl.lit(DEFAULT)).select(*KEYS, "time")
    return pl.concat([rows.filter(pl.col("algorithm").is_in(points.PAPERS[collective])), default])
