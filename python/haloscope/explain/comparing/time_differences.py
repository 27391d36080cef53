"""Tests whether times differ significantly: the program, its larger regions, and their series."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from haloscope.base.errors import TimingsError, UsageError
from haloscope.explain.comparing.sides import Side, list_times
from haloscope.markov import Claim, ClaimMethod, RegimeOptions, analyse, claims, read_timings
from haloscope.markov.statistics import faster_by_medians, sentence
from haloscope.profile.store import PROGRAM, region_text

_MOST_PERCENT = (
    1000  # largest percentage that is printed exactly: intervals of few runs may be arbitrarily wide
)
_WRONG = 0.05  # family-wise error rate: share of comparisons in which any significant sentence may be wrong
_MATTERS = 0.01  # smallest share of the time of a tested region
_MOST_SERIES = 4  # number of regions whose instances are decoded

TIMES = {
    "region": pl.String,
    "what": pl.String,
    **dict.fromkeys(("first_time", "second_time", "faster", "faster_low", "faster_high"), pl.Float64),
    "sure": pl.Boolean,
    "sentence": pl.String,
}


@dataclass(frozen=True)
class TimeClaim:
    """A statement about a region's time, with its numbers.

    `what` is `time` (with nested regions), `own time` (without) or begins with `series`. `times` are the
    medians over the runs of A and B in seconds. `faster` is the percentage by which B is faster, with its
    interval; None if unknown.
    """

    region: str
    what: str
    times: tuple[float | None, float | None]
    faster: tuple[float | None, float | None, float | None]
    sure: bool
    text: str


def compare_times(first: Side, second: Side) -> list[TimeClaim]:
    """Compare the program's time, the own times of all larger regions, and series of instances.

    With several runs per side, the sampling unit is the run. With one run on a side only series are tested,
    and the result holds for these runs only. All intervals hold simultaneously in 95 % of the comparisons:
    half of the error rate is for the program, the other half for all regions and series together.
    """
    series = find_shared_series(first, second)
    several = min(len(first.runs), len(second.runs)) > 1
    regions = _find_larger_regions(first, second)
    tested = (len(regions) if several else 0) + len(series)
    each = 1 - _WRONG / (2 if several else 1) / max(tested, 1)
    found = [_compare_region(first, second, PROGRAM, "inclusive", 1 - _WRONG / (2 if tested else 1))]
    found += [_compare_region(first, second, region, "time", each) for region in regions]
    for region in series:
        found += _compare_series(first, second, region, 1 - each)
    return found


def _find_larger_regions(first: Side, second: Side) -> list[str]:
    """Return the regions of both sides that take 1 % of the time or more on at least one side."""
    shares = [_average_times(side, "time") for side in (first, second)]
    totals = [sum(values.values()) or 1.0 for values in shares]
    both = [region for region in shares[0] if region in shares[1]]
    return [
        region
        for region in both
        if max(own[region] / total for own, total in zip(shares, totals, strict=True)) >= _MATTERS
    ]


def _average_times(side: Side, column: str) -> dict[str, float]:
    rows = pl.concat([run.times for run in side.runs])
    means = rows.group_by("region", maintain_order=True).agg(pl.col(column).sum() / len(side.runs))
    return {region: time or 0.0 for region, time in means.iter_rows()}


def _compare_region(first: Side, second: Side, region: str, column: str, level: float) -> TimeClaim:
    peer, own = (list_times(side.runs, region, column) for side in (first, second))
    known = [None if np.isnan(values).any() else float(np.median(values)) for values in (peer, own)]
    row = faster_by_medians(own, peer, level)
    what = "time" if column == "inclusive" else "own time"
    name = "the program" if region == PROGRAM and what == "time" else f"{region_text(region)}, {what}"
    if row["faster"] is not None and row["faster_low"] is None:
        text = f"{name}: {_change_text(row['faster'])}; its significance is unknown with one run per side"
    else:
        text = f"{name}: {sentence(row | {'regime': None, 'name': 'B'}, 'A', (len(own), len(peer)))}"
    faster = (row["faster"], row["faster_low"], row["faster_high"])
    sure = _is_sure(faster)
    if faster[1] is not None and not sure:  # the sentence of regimes reports how much faster B is
        begin = text.rpartition(": ")[0]
        bounds = f"[{longer_text(faster[2])}, {longer_text(faster[1])}]"
        text = f"{begin}: takes {longer_text(faster[0])} {bounds}"
    return TimeClaim(region, what, (known[0], known[1]), faster, sure, text)


def longer_text(faster: float | None) -> str:
    """Return the percentage by which B takes longer, as text; very large values as a lower bound."""
    if faster is None:
        return "–"
    longer = round(-faster, 1) + 0.0  # not -0.0
    return f"over +{_MOST_PERCENT} %" if longer > _MOST_PERCENT else f"{longer:+.1f} %"


def _change_text(faster: float) -> str:
    return f"B took {abs(faster):.1f} % {'less' if faster >= 0 else 'more'} time than A"


def _is_sure(faster: tuple[float | None, float | None, float | None]) -> bool:
    _, low, high = faster
    return low is not None and high is not None and not low <= 0 <= high


def find_shared_series(first: Side, second: Side) -> list[str]:
    """Return the first regions with series in all runs; none if only one side has several runs."""
    counts = {len(side.runs) for side in (first, second)}
    if 1 in counts and counts != {1}:
        return []
    every = [run.series for side in (first, second) for run in side.runs]
    return [region for region in every[0] if all(region in own for own in every)][:_MOST_SERIES]


def _compare_series(first: Side, second: Side, region: str, wrong: float) -> list[TimeClaim]:
    """Return the claims of `haloscope regimes` about the instances: fast regime, all times, and T^max."""

    name = f"{region_text(region)}, an instance"
    try:
        methods = [
            ClaimMethod(
                side.name,
                # One family for all runs, so that their regimes can be compared.
                [analyse(read_timings(run.path, region), RegimeOptions(), "gaussian") for run in side.runs],
            )
            for side in (first, second)
        ]
        found = claims(methods, wrong)
    except (TimingsError, UsageError) as error:
        text = f"{name}: not compared: {error}"
        return [TimeClaim(region, "series", (None, None), (None, None, None), False, text)]
    return [
        TimeClaim(
            region,
            _claim_subject(claim),
            (None, None),
            claim.faster,
            claim.sure,
            f"{region_text(region)}, an instance: {claim.text}",
        )
        for claim in found
    ]


def _claim_subject(claim: Claim) -> str:
    """Return the quantity of the instances that a claim is about."""
    if claim.text.startswith("T^max"):
        return "series, T^max when fast"
    return "series" if claim.regime is None else "series, fast regime"


def make_time_frame(claims: Iterable[TimeClaim] | Sequence[TimeClaim]) -> pl.DataFrame:
    """Return one row per claim, with the columns `TIMES`."""
    rows: list[dict[str, Any]] = []
    for claim in claims:
        values = (claim.region, claim.what, *claim.times, *claim.faster, claim.sure, claim.text)
        rows.append(dict(zip(TIMES, values, strict=True)))
    return pl.DataFrame(rows, schema=TIMES)
