"""How much each region's time depends on the network's latency."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from haloscope import explain
from haloscope.predict.simulate._running import Options
from haloscope.predict.simulate._works import Work, what_if

__all__ = ["sensitivity"]


def sensitivity(
    work: Work,
    options: Options,
    factors: Sequence[float],
    step: Callable[[str], None] = lambda _: None,
) -> pl.DataFrame:
    """Return a row for each region: its mean time with latencies times each factor, and the slope.

    `slope` is the least-squares line's: seconds more for one more of the platform's latency;
    `share` is the slope over the time with the least factor from 1 on, else the largest one.
    """
    parts = []
    with tempfile.TemporaryDirectory(prefix="haloscope-sensitivity-") as name:
        for number, factor in enumerate(factors):
            step(f"latency × {factor:g}")
            output = Path(name) / f"{number}.halo"
            change = replace(options.change, latency=options.change.latency * factor)
            what_if(work, replace(options, change=change), output)
            with explain.open(output) as profile:
                rows = profile.table("regions").select("region", "path", "time_mean")
            parts.append(rows.rename({"time_mean": f"time_x{factor:g}"}))
    table = parts[0]
    for part in parts[1:]:
        table = table.join(part.drop("region"), on="path", how="left", maintain_order="left")
    times = table.select(f"time_x{factor:g}" for factor in factors).to_numpy()
    slopes = np.polyfit(np.asarray(factors), times.T, 1)[0]
    base = next((i for i, factor in enumerate(factors) if factor >= 1), len(factors) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(times[:, base] > 0, slopes / times[:, base], 0.0)
    return table.with_columns(slope=pl.Series(slopes), share=pl.Series(shares))
