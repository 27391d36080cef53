"""Whether times differ by more than noise: the program, the regions that matter, and their series."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from haloscope.base.errors import TimingsError, UsageError
from haloscope.explain.comparing.sides import Side, times_of_runs
from haloscope.markov import Claim, ClaimMethod, RegimeOptions, analyse, claims, read_timings
from haloscope.markov.statistics import faster_by_runs, sentence
from haloscope.profile.store import PROGRAM, region_text

_MOST_PERCENT = 1000  # that are told exactly: intervals of few runs may be anything
_WRONG = 0.05  # the share of comparisons in which any sentence may be wrong that is called sure
_MATTERS = 0.01  # of the time: regions with less are not tested
_MOST_SERIES = 4  # of regions whose instances are decoded

TIMES = {
    "region": pl.String,
    "what": pl.String,
    "first_time": pl.Float64,
    "second_time": pl.Float64,
    "faster": pl.Float64,
    "faster_low": pl.Float64,
    "faster_high": pl.Float64,
    "sure": pl.Boolean,
    "sentence": pl.String,
}


@dataclass(frozen=True)
class TimeClaim:
    """A sentence about a region's time, and what it rests on.

    `what` is `time` (with nested regions), `own time` (without) or begins with `series`; `times` are the
    means of A and B in seconds, `faster` by how many percent B's is less, with its interval; None where
    nothing is known.
    """

    region: str
    what: str
    times: tuple[float | None, float | None]
    faster: tuple[float | None, float | None, float | None]
    sure: bool
    text: str


def time_claims(first: Side, second: Side) -> list[TimeClaim]:
    """Compare the program's time, the own times of all regions that matter, and series of instances.

    With several runs a side a run is the unit. With one run on a side only series can say anything, and of
    these runs only. All intervals together hold in 95 % of the comparisons: half of the errors are allowed to
    the program as a whole, the others to all regions and series together.
    """
    series = shared_series(first, second)
    several = min(len(first.runs), len(second.runs)) > 1
    regions = _that_matter(first, second)
    tested = (len(regions) if several else 0) + len(series)
    each = 1 - _WRONG / (2 if several else 1) / max(tested, 1)
    found = [_claim(first, second, PROGRAM, "inclusive", 1 - _WRONG / (2 if tested else 1))]
    found += [_claim(first, second, region, "time", each) for region in regions]
    for region in series:
        found += _of_series(first, second, region, 1 - each)
    return found


def _that_matter(first: Side, second: Side) -> list[str]:
    """Return the regions on both sides that have a good part of the time on one of them."""
    shares = [_mean_times(side, "time") for side in (first, second)]
    totals = [sum(values.values()) or 1.0 for values in shares]
    both = [region for region in shares[0] if region in shares[1]]
    return [
        region
        for region in both
        if max(own[region] / total for own, total in zip(shares, totals, strict=True)) >= _MATTERS
    ]


def _mean_times(side: Side, column: str) -> dict[str, float]:
    rows = pl.concat([run.times for run in side.runs])
    means = rows.group_by("region", maintain_order=True).agg(pl.col(column).sum() / len(side.runs))
    return {region: time or 0.0 for region, time in means.iter_rows()}


def _claim(first: Side, second: Side, region: str, column: str, level: float) -> TimeClaim:
    peer, own = (times_of_runs(side.runs, region, column) for side in (first, second))
    known = [None if np.isnan(values).any() else float(np.mean(values)) for values in (peer, own)]
    row = faster_by_runs(own, peer, level)
    what = "time" if column == "inclusive" else "own time"
    name = "the program" if region == PROGRAM and what == "time" else f"{region_text(region)}, {what}"
    if row["faster"] is not None and row["faster_low"] is None:
        text = f"{name}: {_word(row['faster'])}; one run cannot tell that from noise"
    else:
        text = f"{name}: {sentence(row | {'regime': None, 'name': 'B'}, 'A', (len(own), len(peer)))}"
    faster = (row["faster"], row["faster_low"], row["faster_high"])
    sure = _is_sure(faster)
    if faster[1] is not None and not sure:  # that of regimes counts what is faster
        begin = text.rpartition(": ")[0]
        bounds = f"[{longer_text(faster[2])}, {longer_text(faster[1])}]"
        text = f"{begin}: takes {longer_text(faster[0])} {bounds}"
    return TimeClaim(region, what, (known[0], known[1]), faster, sure, text)


def longer_text(faster: float | None) -> str:
    """Return by how many percent B takes longer, in words where that is more than a number says."""
    if faster is None:
        return "–"
    longer = round(-faster, 1) + 0.0  # not -0.0
    return f"over +{_MOST_PERCENT} %" if longer > _MOST_PERCENT else f"{longer:+.1f} %"


def _word(faster: float) -> str:
    return f"B took {abs(faster):.1f} % {'less' if faster >= 0 else 'more'} time than A"


def _is_sure(faster: tuple[float | None, float | None, float | None]) -> bool:
    _, low, high = faster
    return low is not None and high is not None and not low <= 0 <= high


def shared_series(first: Side, second: Side) -> list[str]:
    """Return the first regions whose instances all runs kept; none if only one side has several runs."""
    counts = {len(side.runs) for side in (first, second)}
    if 1 in counts and counts != {1}:
        return []
    every = [run.series for side in (first, second) for run in side.runs]
    return [region for region in every[0] if all(region in own for own in every)][:_MOST_SERIES]


def _of_series(first: Side, second: Side, region: str, wrong: float) -> list[TimeClaim]:
    """Return what `haloscope regimes` says of the instances: fast regime, all times, and T^max."""

    name = f"{region_text(region)}, an instance"
    try:
        methods = [
            ClaimMethod(
                side.name, [analyse(read_timings(run.path, region), RegimeOptions()) for run in side.runs]
            )
            for side in (first, second)
        ]
        found = claims(methods, wrong)
    except (TimingsError, UsageError) as error:
        text = f"{name}: nothing can be said: {error}"
        return [TimeClaim(region, "series", (None, None), (None, None, None), False, text)]
    return [
        TimeClaim(
            region,
            _what(one),
            (None, None),
            one.faster,
            one.sure,
            f"{region_text(region)}, an instance: {one.text}",
        )
        for one in found
    ]


def _what(claim: Claim) -> str:
    """Return what of the instances a claim is about."""
    if claim.text.startswith("T^max"):
        return "series, T^max when fast"
    return "series" if claim.regime is None else "series, fast regime"


def time_frame(claims: Iterable[TimeClaim] | Sequence[TimeClaim]) -> pl.DataFrame:
    """Return a row a claim, with the columns `TIMES`."""
    rows: list[dict[str, Any]] = []
    for claim in claims:
        values = (claim.region, claim.what, *claim.times, *claim.faster, claim.sure, claim.text)
        rows.append(dict(zip(TIMES, values, strict=True)))
    return pl.DataFrame(rows, schema=TIMES)
