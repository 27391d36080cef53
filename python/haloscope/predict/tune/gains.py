"""What tuning gains: as a table, in a line, as a file, and as a page."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from haloscope.base.errors import MachineError, printable
from haloscope.base.files import write_whole
from haloscope.base.palette import GRID, INK, ORANGE, PALE, SHARES
from haloscope.base.units import time_text
from haloscope.predict.bench.workload import Workload
from haloscope.predict.model_page import escape_markup
from haloscope.predict.tune.formats import usage
from haloscope.predict.tune.trial import gain_interval, mean_gain
from haloscope.predict.tune.tuner import Tuning
from haloscope.predict.tune.tuning_table import row_types, table
from haloscope.profile.page import page
from haloscope.profile.page import write_page as write


def summary(made: Tuning) -> str:
    """Return the gain of the rules that were kept, in a line."""
    count = f"{len(made.tuned)} of {len(made.chosen)} points have a rule"
    kept = {point: made.trials[point] for point in made.tuned if point in made.trials}
    if not kept:
        return count
    gain, low, high = mean_gain(kept, made.level)
    return f"{count}; their geometric mean gain: {gain:.3f} ({low:.3f} to {high:.3f})"


def program_gain(made: Tuning, work: Workload) -> tuple[float, float, float, float] | None:
    """Return the seconds, of all ranks, that a program's collectives take by default, and which share of
    them the rules save, with its interval over the rounds; None where there are no rules."""
    if not made.trials:
        return None
    points = [point for point in made.trials if point in work.calls]
    calls = np.array([work.calls[point] for point in points], dtype=np.float64)
    default = calls @ np.array([made.trials[point].default for point in points])
    tuned = calls @ np.array([made.trials[point].tuned for point in points])
    ratio, low, high = gain_interval(np.log(default / tuned), made.level)
    return float(np.median(default)), 1 - 1 / ratio, 1 - _inverse(low), 1 - _inverse(high)


def _inverse(value: float) -> float:
    return 0.0 if math.isinf(value) else 1 / value if value else math.inf


def percent(value: float) -> str:
    """Return a share as people say it."""
    return f"{100 * value:.1f} %"


def program_text(gain: tuple[float, float, float, float] | None, work: Workload) -> str:
    """Return what the program gains, in a line."""
    if gain is None:
        return "the program gains nothing: there is no rule for what it calls"
    total, share, low, high = gain
    apart = work.left_out + sum(work.other.values())
    others = f"; {time_text(apart)} of its collectives' time was not looked at" if apart else ""
    return (
        f"the program's calls of these collectives take {time_text(total)} of all ranks' time by "
        f"these measurements; the rules save {percent(share)} of it ({percent(low)} to "
        f"{percent(high)}){others}"
    )


# Okabe and Ito's vermilion (slower) and blue (faster), which colour-blind people can tell apart.
_MAP_NOTE = (
    "Time by default over time with the rules: blue is faster. Where nothing is written there is "
    "no rule; grey was not measured again. In brackets what is not certain."
)
_CURVE_NOTE = "Median over the rounds of the slowest rank's median time; both measured in turn."


@dataclass(frozen=True)
class Gains:
    """What came of a tuning, as its page shows it; the file holds it as one JSON object."""

    library: str
    summary: str
    about: Mapping[str, str]
    rows: Sequence[Mapping[str, Any]]
    """Those of `table`."""

    @classmethod
    def of(cls, made: Tuning) -> Gains:
        """Return the gains of a tuning."""
        collectives = sorted({point.collective for point in made.tuned})
        about = {
            "Rules": str(made.output) if made.rules else "none was worth it; no file is written",
            "Program": program_text(program_gain(made, made.work), made.work) if made.work else "",
            "Use": " | ".join(usage(made.bench.form, made.output, collectives)) if made.rules else "",
            "Dropped": "; ".join(made.problems),
        }
        return cls(made.bench.library.name, summary(made), about, table(made).to_dicts())

    @classmethod
    def read(cls, path: str | Path) -> Gains:
        """Read the file that `save` writes. Raises `MachineError` for any other file."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            assert content.pop("record") == "gains"
            return cls(**content)
        except OSError as error:
            raise MachineError(f"{path}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, AttributeError, AssertionError):
            raise MachineError(f"{path}: not the gains of haloscope tune") from None

    def save(self, path: str | Path) -> None:
        """Write the file, for `haloscope report`. Raises `OutputError`."""
        text = json.dumps({"record": "gains", **asdict(self)}, ensure_ascii=False)
        write_whole(Path(path), text + "\n", "gains")

    def frame(self) -> pl.DataFrame:
        """Return the rows as a table."""
        return pl.DataFrame(self.rows, schema=row_types())


def write_page(gains: Gains, output: str | Path) -> None:
    """Write the page about a tuning. Raises `OutputError` if it cannot be written."""
    library = printable(gains.library)
    data = {
        "library": library,
        "summary": printable(gains.summary),
        "about": [[key, printable(value)] for key, value in gains.about.items() if value],
        "figures": list(_figures(gains.frame())),
    }
    text = page("tune.html", f"{library} – Haloscope tune", ["tune.js"], data, "predict")
    write(text, Path(output))


def _figures(rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
    for (collective,), part in rows.group_by("collective", maintain_order=True):
        yield _map(str(collective), part)
        measured = part.drop_nulls("tuned_time")
        for (ranks,), line in measured.group_by("ranks", maintain_order=True):
            if len(line) > 1:
                yield _curves(f"{collective} on {ranks} processes", line)


def _map(collective: str, part: pl.DataFrame) -> dict[str, Any]:
    sizes = part["bytes"].unique().sort().to_list()
    ranks = part["ranks"].unique().sort().to_list()
    cells = {(row["ranks"], row["bytes"]): row for row in part.iter_rows(named=True)}
    grid = [[cells.get((count, size)) for size in sizes] for count in ranks]
    widest = max([0.1, *(abs(_log(row) or 0.0) for line in grid for row in line)])
    return {
        "title": f"{collective}: gain",
        "note": _MAP_NOTE,
        "height": 130 + 34 * len(ranks),
        "data": [
            {
                "type": "heatmap",
                "x": [_bytes(size) for size in sizes],
                "y": [str(count) for count in ranks],
                "z": [[_log(row) for row in line] for line in grid],
                "text": [[_cell(row) for row in line] for line in grid],
                "texttemplate": "%{text}",
                "customdata": [[_hover(row) for row in line] for line in grid],
                "hovertemplate": "%{x} on %{y} processes<br>%{customdata}<extra></extra>",
                "hoverongaps": False,
                "zmin": -widest,
                "zmax": widest,
                "xgap": 1,
                "ygap": 1,
                "colorscale": SHARES,
                "showscale": False,
            }
        ],
        "layout": {
            "plot_bgcolor": PALE,
            "margin": {"l": 64, "r": 16, "t": 16, "b": 72},
            "xaxis": {"title": {"text": "bytes"}, "type": "category", "showgrid": False},
            "yaxis": {"title": {"text": "processes"}, "type": "category", "showgrid": False},
        },
    }


def _log(row: dict[str, Any] | None) -> float | None:
    return math.log2(row["gain"]) if row and row["gain"] else None


def _cell(row: dict[str, Any] | None) -> str:
    """Return the gain where there is a rule; in brackets where the interval holds 1."""
    if row is None or row["gain"] is None or row["algorithm"] == "default":
        return ""
    gain = f"{row['gain']:.2f}"
    return gain if row["gain_low"] > 1 else f"({gain})"


def _hover(row: dict[str, Any] | None) -> str:
    if row is None or row["gain"] is None:
        return ""
    names = f"{row['default_algorithm']} → {row['algorithm']}"
    times = f"{time_text(row['default_time'])} → {time_text(row['tuned_time'])}"
    gain = f"gain {row['gain']:.2f} ({row['gain_low']:.2f} to {row['gain_high']:.2f})"
    return "<br>".join(escape_markup(text) for text in (names, times, gain))


def _bytes(size: int) -> str:
    for least, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= least and size % (least // 4) == 0:
            return f"{size / least:g} {unit}"
    return f"{size} B"


def _curves(title: str, line: pl.DataFrame) -> dict[str, Any]:
    line = line.sort("bytes")
    sizes = line["bytes"].to_list()
    steps = sizes[:: max(1, math.ceil(len(sizes) / 10))]
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": name,
            "x": sizes,
            "y": line[column].to_list(),
            "line": {"color": colour, "width": 2},
            "text": [escape_markup(str(one)) for one in line[said]],
            "hovertemplate": "%{x} B: %{y:.4s}s, %{text}<extra></extra>",
        }
        for name, column, said, colour in (
            ("default", "default_time", "default_algorithm", INK),
            ("with the rules", "tuned_time", "algorithm", ORANGE),
        )
    ]
    axis = {"type": "log", "gridcolor": GRID, "zeroline": False, "automargin": True}
    ticks = {"tickvals": steps, "ticktext": [_bytes(size) for size in steps]}
    return {
        "title": title,
        "note": _CURVE_NOTE,
        "height": 380,
        "data": traces,
        "layout": {
            "margin": {"l": 64, "r": 16, "t": 40, "b": 48},
            "xaxis": {**axis, **ticks, "title": {"text": "bytes"}},
            "yaxis": {**axis, "title": {"text": "time"}, "tickformat": "~s", "ticksuffix": "s"},
        },
    }
