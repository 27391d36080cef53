"""Detection of suspect hosts, on which programs compute more slowly than on others.

The test compares the logarithm of the mean time outside MPI of a host's ranks, between similar runs only.
Runs on one host are compared with runs of the same command with the same number of ranks in the same
partition within 30 days. The hosts of one run are compared with each other, after correction for their
position (rank 0 may have more work). All runs of one day on one host are one observation, because they may
share a cause.

Within each group, observations are replaced by normal scores of their ranks, so that outliers and groups with
more scatter have no more weight. Under the null hypothesis the sum of a host's scores is normal. Its variance
is enlarged by the correlation within days. P-values are corrected for the number of hosts by Holm's method.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri

from haloscope.base.arrays import Floats, Integers
from haloscope.base.units import noun_text

SUSPECT_LEVEL = 0.05
_LEAST_SLOWDOWN = 0.02  # equal hosts differ by about 1 %
_LEAST_OBSERVATIONS = 6  # with fewer there is no 95 % interval of the median
_DAY = 86400.0
_WINDOW = 30 * _DAY
_LIKE = ["program", "command", "ranks", "hosts", "partition", "version_of_mpi"]
_COLUMNS = {
    "host": pl.String,
    **dict.fromkeys(("observations", "runs", "programs"), pl.Int64),
    **dict.fromkeys(("slowdown", "slowdown_low", "slowdown_high", "p_value"), pl.Float64),
    "suspect": pl.Boolean,
}


def find_suspect_hosts(frame: pl.DataFrame) -> pl.DataFrame:
    """Return one row per comparable host, the most suspect first.

    `slowdown` is the median excess of the host's computing time over others (0.08: 8 %), with a 95 %
    interval. `p_value` is the corrected p-value of the null hypothesis that the host is equal to the others.
    `suspect` is true if `p_value` is at most 0.05 and `slowdown` at least 0.02.

    Args:
        frame: The result of `history`. Runs that did not end are left out.
    """
    cells = _make_cells(frame)
    scored = cells if cells.is_empty() else _score_cells(cells)
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
    days = np.sqrt(_estimate_dispersion(scored))
    pairs = zip(hosts["excess"].to_list(), (hosts["wider"] * days).to_list(), strict=True)
    intervals = np.array([_median_interval(np.asarray(values), wider) for values, wider in pairs])
    low, middle, high = np.expm1(intervals).T
    p_values = _correct_p_values(ndtr(-hosts["z"].to_numpy() / days))
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


def describe_suspect_hosts(hosts: pl.DataFrame) -> list[str]:
    """Return one sentence per suspect host of `suspect_hosts`, or one sentence if there is none."""
    found = hosts.filter(pl.col("suspect")).to_dicts()
    if not found:
        return [f"no host is suspect; {len(hosts) or 'none'} could be compared"]
    return [_describe_host(row, len(hosts)) for row in found]


def _describe_host(row: dict[str, Any], hosts: int) -> str:
    slowdown, low, high = (100 * row[f"slowdown{end}"] for end in ("", "_low", "_high"))
    programs = noun_text(row["programs"], "program")
    return (
        f"{row['host']} computes {slowdown:.1f} % [{low:.1f}, {high:.1f}] longer than other hosts: "
        f"{noun_text(row['runs'], 'run')} of {programs}, p = {row['p_value']:.2g} among"
        f" {noun_text(hosts, 'host')}"
    )


def _make_cells(frame: pl.DataFrame) -> pl.DataFrame:
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
    """Return runs on one host. A block is one command in one window, a cell one day of a host."""
    block = pl.struct(*_LIKE, "window").rank("dense").alias("block")
    return _take_medians(each.with_columns(block.cast(pl.Int64)))


def _compare_hosts(each: pl.DataFrame) -> pl.DataFrame:
    """Return runs on several hosts. A block is one day of the same hosts; position effects are removed."""
    own = pl.col("value") - pl.col("value").mean().over("run")
    placed = each.with_columns(own).with_columns(
        (pl.col("value") - pl.col("value").median().over([*_LIKE, "place"])).alias("value"),
        pl.len().over([*_LIKE, "place"]).alias("repeats"),
    )
    # With one or two runs, a slow host cannot be distinguished from a position with more work.
    block = -pl.struct(*_LIKE, "together", "day").rank("dense").cast(pl.Int64)
    return _take_medians(placed.filter(pl.col("repeats") > 2).with_columns(block.alias("block")))


def _take_medians(each: pl.DataFrame) -> pl.DataFrame:
    cells = each.group_by("block", "host", "day", maintain_order=True).agg(
        pl.col("program").first(), pl.len().alias("runs"), pl.col("value").median()
    )
    return cells.select("block", "host", "day", "program", "runs", "value")


def _score_cells(cells: pl.DataFrame) -> pl.DataFrame:
    """Return cells with `score`, its `variance`, and `excess` over the median of the block's other hosts.

    Scores of one host in one block are drawn without replacement: the variance of their sum is smaller than
    the sum of the single variances (`alone`).
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
    excess = np.concatenate([own - _median_of_others(own, of) for own, of in parts])
    return compared.with_columns(pl.Series("excess", excess))


def _median_of_others(values: Floats, hosts: Integers) -> Floats:
    """Return for each value the median of the values of other hosts."""
    if len(values) == 2:
        return values[::-1]
    medians = {host: np.median(values[hosts != host]) for host in set(hosts.tolist())}
    return np.array([medians[host] for host in hosts.tolist()])


def _estimate_dispersion(scored: pl.DataFrame) -> float:
    """Return the variance ratio of scores of one host on one day to independent scores, at least 1.

    A disturbance on one day may affect several programs. Days are compared with other days of their host, so
    a host that is always slow does not increase the ratio.
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


def _correct_p_values(p_values: Floats) -> Floats:
    """Return p-values after Holm's correction."""
    order = np.argsort(p_values)
    scaled = np.maximum.accumulate(p_values[order] * np.arange(len(order), 0, -1))
    corrected = np.empty(len(order))
    corrected[order] = np.minimum(scaled, 1)
    return corrected


def _median_interval(values: Floats, wider: float) -> tuple[float, float, float]:
    """Return the lower bound, the median and the upper bound of its 95 % interval.

    The bounds are order statistics, moved away from the median by the factor `wider`: values of one block
    are correlated, because they are compared with the same runs of other hosts, and so are days.
    """
    from scipy.stats import binom  # slow to import, and seldom needed

    ordered = np.sort(values)
    below = max(int(binom.ppf(0.025, len(values), 0.5)) - 1, 0)
    low, middle, high = ordered[below], np.median(ordered), ordered[-1 - below]
    return float(middle - wider * (middle - low)), float(middle), float(middle + wider * (high - middle))
