"""Hosts on which programs compute more slowly than on others.

What is compared is the time outside MPI that a host's ranks needed on average, as a logarithm, and like with
like only. Runs of one host are compared with runs of the same command on as many ranks in the same partition
within 30 days; the hosts of one run with each other, after what the place among them makes of it (rank 0 may
have more to do). Runs of one day on one host are one observation, as what was wrong with one may have been
wrong with all.

Within each such group, observations become normal scores of their ranks, so that neither outliers nor groups
that scatter differently count for more; a host's scores add up to a normal variable if nothing is wrong with
it. Its variance is enlarged by what days have in common. Probabilities are corrected for the number of hosts
by Holm's method.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri

from haloscope.base.arrays import Floats, Integers

SUSPECT_LEVEL = 0.05
_LEAST_SLOWDOWN = 0.02  # hosts that are alike differ by one in a hundred
_LEAST_OBSERVATIONS = 6  # with fewer, an interval of 95 % is none
_DAY = 86400.0
_WINDOW = 30 * _DAY
_LIKE = ["program", "command", "ranks", "hosts", "partition", "version_of_mpi"]
_COLUMNS = {
    "host": pl.String,
    "observations": pl.Int64,
    "runs": pl.Int64,
    "programs": pl.Int64,
    "slowdown": pl.Float64,
    "slowdown_low": pl.Float64,
    "slowdown_high": pl.Float64,
    "p_value": pl.Float64,
    "suspect": pl.Boolean,
}


def suspect_hosts(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a row a host that has something to compare, the most suspect first.

    `frame` is what `history` returns; runs that did not end are left out. `slowdown` is how much longer
    the host computes than others on median (0.08: 8 %), with an interval of 95 %. `p_value`, corrected,
    is the probability of such an order if the host is like the others. `suspect` where it is at most 0.05 and
    `slowdown` at least 0.02.
    """
    cells = _cells(frame)
    scored = cells if cells.is_empty() else _scored(cells)
    if scored.is_empty():
        return pl.DataFrame(schema=_COLUMNS)
    others = pl.col("size") - pl.col("own")
    hosts = scored.group_by("host").agg(
        pl.len().alias("observations"),
        pl.col("runs").sum(),
        pl.col("program").n_unique().alias("programs"),
        (pl.col("score").sum() / pl.col("variance").sum().sqrt()).alias("z"),
        pl.col("excess"),
        ((1 + pl.col("own") / others).sum() / (1 + 1 / others).sum()).sqrt().alias("wider"),
    )
    hosts = hosts.filter(pl.col("observations") >= _LEAST_OBSERVATIONS)
    if hosts.is_empty():
        return pl.DataFrame(schema=_COLUMNS)
    days = np.sqrt(_dispersion(scored))
    pairs = zip(hosts["excess"].to_list(), (hosts["wider"] * days).to_list(), strict=True)
    intervals = np.array([_median(np.asarray(values), wider) for values, wider in pairs])
    low, middle, high = np.expm1(intervals).T
    p_values = _corrected(ndtr(-hosts["z"].to_numpy() / days))
    suspect = (p_values <= SUSPECT_LEVEL) & (middle >= _LEAST_SLOWDOWN)
    return (
        hosts.with_columns(
            pl.Series("slowdown", middle),
            pl.Series("slowdown_low", low),
            pl.Series("slowdown_high", high),
            pl.Series("p_value", p_values),
            pl.Series("suspect", suspect),
            pl.col("observations", "runs", "programs").cast(pl.Int64),
        )
        .sort(["p_value", "slowdown", "host"], descending=[False, True, False])
        .select(list(_COLUMNS))
    )


def suspect_sentences(hosts: pl.DataFrame) -> list[str]:
    """Return one sentence for each suspect host of `suspect_hosts`, or one that there is none."""
    found = hosts.filter(pl.col("suspect")).to_dicts()
    if not found:
        return [f"no host is suspect; {len(hosts) or 'none'} could be compared"]
    return [_sentence(row, len(hosts)) for row in found]


def _sentence(row: dict[str, Any], hosts: int) -> str:
    slowdown, low, high = (100 * row[f"slowdown{end}"] for end in ("", "_low", "_high"))
    programs = "1 program" if row["programs"] == 1 else f"{row['programs']} programs"
    return (
        f"{row['host']} computes {slowdown:.1f} % [{low:.1f}, {high:.1f}] longer than other hosts: "
        f"{row['runs']} runs of {programs}, p = {row['p_value']:.2g} among {hosts} hosts"
    )


def _cells(frame: pl.DataFrame) -> pl.DataFrame:
    """Return `block`, `host`, `day`, `program`, `runs` and `value`, the logarithm of the time."""
    runs = frame.filter(
        ~pl.col("partial").fill_null(value=True) & pl.col("host_names").is_not_null()
    ).with_columns(pl.col("mpi_library").alias("version_of_mpi"), pl.int_range(pl.len()).alias("run"))
    columns = ["run", *_LIKE, "start", "host_names", "host_compute"]
    each = (
        runs.select(columns)
        .with_columns(pl.col("host_names").list.sort().list.join("\n").alias("together"))
        .explode("host_names", "host_compute")
        .filter(pl.col("host_compute") > 0)
        .with_columns(
            pl.col("host_compute").log().alias("value"),
            pl.col("host_names").alias("host"),
            pl.int_range(pl.len()).over("run").alias("place"),
            (pl.col("start") / _DAY).floor().alias("day"),
            (pl.col("start") / _WINDOW).floor().alias("window"),
        )
    )
    parts = [
        _compare_days(each.filter(pl.col("hosts") == 1)),
        _compare_hosts(each.filter(pl.col("hosts") > 1)),
    ]
    return pl.concat(parts).with_columns(pl.len().over("block").alias("size")).filter(pl.col("size") > 1)


def _compare_days(each: pl.DataFrame) -> pl.DataFrame:
    """Return runs on one host: a block is one command in one window, a cell a host's day in it."""
    block = pl.struct(*_LIKE, "window").rank("dense").alias("block")
    return _medians(each.with_columns(block.cast(pl.Int64)))


def _compare_hosts(each: pl.DataFrame) -> pl.DataFrame:
    """Return runs on several hosts: a block is a day of the same hosts, and the places' part is gone."""
    own = pl.col("value") - pl.col("value").mean().over("run")
    placed = each.with_columns(own).with_columns(
        (pl.col("value") - pl.col("value").median().over([*_LIKE, "place"])).alias("value"),
        pl.len().over([*_LIKE, "place"]).alias("repeats"),
    )
    # Of one or two runs nobody knows whether the host was slow, or had more to do.
    block = -pl.struct(*_LIKE, "together", "day").rank("dense").cast(pl.Int64)
    return _medians(placed.filter(pl.col("repeats") > 2).with_columns(block.alias("block")))


def _medians(each: pl.DataFrame) -> pl.DataFrame:
    cells = each.group_by("block", "host", "day", maintain_order=True).agg(
        pl.col("program").first(), pl.len().alias("runs"), pl.col("value").median()
    )
    return cells.select("block", "host", "day", "program", "runs", "value")


def _scored(cells: pl.DataFrame) -> pl.DataFrame:
    """Return cells with `score`, its `variance`, and `excess` over the median of the block's other hosts.

    Scores of one host in one block are drawn without replacement: the variance of their sum is less than that
    of each `alone`.
    """
    ranked = cells.with_columns(pl.col("value").rank().over("block").alias("place"))
    score = ndtri((ranked["place"] / (ranked["size"] + 1)).to_numpy())
    scored = ranked.with_columns(pl.Series("score", score)).with_columns(
        (pl.col("score") - pl.col("score").mean().over("block")).alias("score"),
        pl.len().over("block", "host").alias("own"),
    )
    size, own = pl.col("size"), pl.col("own")
    alone = pl.col("score").pow(2).sum().over("block") / size
    variance = alone / (size - 1) * (size - own)
    columns = [alone.alias("alone"), variance.alias("variance")]
    compared = scored.with_columns(columns).filter(own < size).sort("block")
    if compared.is_empty():
        return compared
    blocks, hosts, values = (
        compared["block"].to_numpy(),
        compared["host"].rank("dense").to_numpy(),
        compared["value"].to_numpy(),
    )
    ends = np.flatnonzero(np.diff(blocks)) + 1
    parts = zip(np.split(values, ends), np.split(hosts, ends), strict=True)
    excess = np.concatenate([own - _of_others(own, of) for own, of in parts])
    return compared.with_columns(pl.Series("excess", excess))


def _of_others(values: Floats, hosts: Integers) -> Floats:
    """Return for each value the median of those of other hosts."""
    if len(values) == 2:
        return values[::-1]
    medians = {host: np.median(values[hosts != host]) for host in set(hosts.tolist())}
    return np.array([medians[host] for host in hosts.tolist()])


def _dispersion(scored: pl.DataFrame) -> float:
    """Return by how much scores of one host on one day vary more than independent ones, at least 1.

    What was wrong on a day may have been wrong with several programs. Days are compared with others of their
    host: that a host is slow on all days does not make days differ.
    """
    days = scored.group_by("host", "day").agg(pl.col("score", "alone", "variance").sum())
    score, variance = pl.col("score"), pl.col("variance")
    share = variance / variance.sum().over("host")
    found = days.select(
        ((score - share * score.sum().over("host")) ** 2).sum().alias("squares"),
        (pl.col("alone") - share * variance).sum().alias("expected"),
    )
    squares, expected = found.row(0)
    return max(squares / expected, 1.0) if expected > 0 else 1.0


def _corrected(p_values: Floats) -> Floats:
    """Return probabilities after Holm's correction."""
    order = np.argsort(p_values)
    scaled = np.maximum.accumulate(p_values[order] * np.arange(len(order), 0, -1))
    corrected = np.empty(len(order))
    corrected[order] = np.minimum(scaled, 1)
    return corrected


def _median(values: Floats, wider: float) -> tuple[float, float, float]:
    """Return the median between the bounds of its 95 % interval: two of the values, so much further away.

    They would do as they are for independent values. But those of one block are compared with the same runs
    of other hosts, which may have been slow or fast by chance, and days have something in common.
    """
    from scipy.stats import binom  # slow to import, and seldom needed

    ordered = np.sort(values)
    below = max(int(binom.ppf(0.025, len(values), 0.5)) - 1, 0)
    low, middle, high = ordered[below], np.median(ordered), ordered[-1 - below]
    return float(middle - wider * (middle - low)), float(middle), float(middle + wider * (high - middle))
