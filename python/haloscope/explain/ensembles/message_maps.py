"""Maps of the time that ranks spend in messages with each partner, one per run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from haloscope.base.arrays import Floats
from haloscope.base.errors import UsageError
from haloscope.base.palette import BLUES
from haloscope.base.units import noun_text, time_text
from haloscope.explain.ensembles.ensemble import Ensemble
from haloscope.explain.ensembles.view import EnsembleView, add_axis_columns
from haloscope.markov.figures import Figure, Panel, Trace, axis, panels
from haloscope.profile import Profile, label_table
from haloscope.profile.store import PROGRAM

_MOST_MAPS = 6
_MOST_BINS = 128
_MOST_TICKS = 8


def time_maps(ensemble: Ensemble, region: str = PROGRAM, *, by: str = "program") -> EnsembleView:
    """Return the seconds of each `rank` in point-to-point calls for messages with each `partner`.

    The first run of each number of ranks and value of `by` is used; at most six, those with the most ranks.
    The rows of a rank sum to its time in these calls. Partners outside MPI_COMM_WORLD are left out.
    """
    known = ensemble.runs.select("profile", "run_ranks")
    runs = add_axis_columns(ensemble, known, "run_ranks", by).filter(pl.col("x") > 1)
    first = runs.unique(["series", "x"], keep="first", maintain_order=True).sort("x", maintain_order=True)
    chosen = first.tail(_MOST_MAPS).select("profile", "series", "run_ranks")
    paths = [Path(profile) for profile in chosen["profile"]]
    parts = list(ensemble.each(paths, lambda profiles: _read_partners(profiles, region)))
    columns = ["profile", "series", "run_ranks", "rank", "partner", "time"]
    if not parts:
        return EnsembleView(chosen.with_columns(pl.lit(None).alias(name) for name in columns[3:]).clear())
    rows = pl.concat(parts, how="diagonal").drop("run_ranks").filter(pl.col("partner").is_not_null())
    sums = rows.group_by("profile", "rank", "partner", maintain_order=True).agg(pl.col("time").sum())
    frame = chosen.join(sums, on="profile", maintain_order="left_right").select(columns)
    return EnsembleView(frame, _draw(frame))


def _read_partners(profiles: Sequence[Profile], region: str) -> Iterator[pl.DataFrame]:
    for profile in profiles:
        try:
            yield label_table(profile, "partners", region=region)
        except UsageError:  # this run has no such region
            continue


def _draw(frame: pl.DataFrame) -> Figure | None:
    shown = frame.filter(pl.col("time") > 0)
    if not len(shown):
        return None
    many = shown["series"].n_unique() > 1
    drawn = []
    for (_, series, ranks), rows in shown.group_by(["profile", "series", "run_ranks"], maintain_order=True):
        cells, size = _bin_times(rows, int(ranks))
        title = f"{noun_text(ranks, 'rank')}, up to {time_text(float(cells.max()))}"
        drawn.append(Panel(f"{series}, {title}" if many else title, [_trace_map(cells, size)]))
    xaxis, yaxis = (axis(title, showgrid=False, tickformat="d") for title in ("to rank", "from rank"))
    bar = {"title": {"text": "of the longest, %"}, "thickness": 14}
    scale = {"colorscale": BLUES, "cmin": 0, "cmax": 100, "colorbar": bar}
    traces, layout = panels(drawn, xaxis, yaxis, min(3, len(drawn)), 300, coloraxis=scale)
    for number, panel in enumerate(drawn):
        suffix = "" if number == 0 else str(number + 1)
        trace = panel.traces[0]
        edge = len(trace["z"]) * trace["dx"]
        ticks = {"tick0": 0, "dtick": -(-edge // _MOST_TICKS), "matches": None}
        layout[f"xaxis{suffix}"] |= {"range": [-0.5, edge - 0.5], **ticks}
        layout[f"yaxis{suffix}"] |= {"range": [edge - 0.5, -0.5], **ticks}
    caption = "Time of a rank in point-to-point calls for messages with each partner; one run per map."
    return Figure(caption, traces, layout, "Time in messages by rank and partner")


def _bin_times(rows: pl.DataFrame, ranks: int) -> tuple[Floats, int]:
    """Return seconds by rank and partner, and the number of ranks per cell in each direction."""
    size = -(-ranks // _MOST_BINS)
    inside = rows.filter(pl.all_horizontal(pl.col("rank", "partner").is_between(0, ranks - 1)))
    cells = np.zeros((-(-ranks // size),) * 2)
    places = (inside["rank"].to_numpy() // size, inside["partner"].to_numpy() // size)
    np.add.at(cells, places, inside["time"].to_numpy())
    return cells, size


def _trace_map(cells: Floats, size: int) -> Trace:
    who = "rank %{y} → %{x}" if size == 1 else f"{size} ranks from %{{y}} → {size} from %{{x}}"
    most = max(float(cells.max()), 1e-300)
    return {
        "type": "heatmap",
        "z": [[100 * value / most if value else None for value in line] for line in cells.tolist()],
        "customdata": cells.tolist(),
        "dx": size,
        "dy": size,
        "coloraxis": "coloraxis",
        "hoverongaps": False,
        "hovertemplate": f"{who}: %{{customdata:.3s}}s<extra></extra>",
    }
