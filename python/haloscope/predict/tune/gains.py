"""The gains of tuning: as a table, a line, a file, and a page."""

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
from haloscope.base.palette import INK, ORANGE, PALE, SHARES
from haloscope.base.texts import parse_json
from haloscope.base.units import noun_text, time_text
from haloscope.markov.figures import Figure, Section, axis, margin
from haloscope.predict.bench.workload import Workload
from haloscope.predict.model_page import escape_markup
from haloscope.predict.tune.formats import make_usage
from haloscope.predict.tune.trial import gain_interval, mean_gain
from haloscope.predict.tune.tuner import Tuning
from haloscope.predict.tune.tuning_table import list_column_types, make_table
from haloscope.profile.page import page
from haloscope.profile.page import write_page as write


def summarise_gains(tuning: Tuning) -> str:
    """Return a line about the gain of the rules."""
    count = f"{len(tuning.tuned)} of {noun_text(len(tuning.chosen), 'point')} have a rule"
    trials = {point: tuning.trials[point] for point in tuning.tuned if point in tuning.trials}
    if not trials:
        return count
    gain, low, high = mean_gain(trials, tuning.level)
    return f"{count}; their geometric mean gain: {gain:.3f} ({low:.3f} to {high:.3f})"


def estimate_program_gain(tuning: Tuning, work: Workload) -> tuple[float, float, float, float] | None:
    """Return the default time (s, all ranks) of a program's collectives, and the share that the rules save.

    The share has an interval over the rounds. The result is None if there are no rules."""
    if not tuning.trials:
        return None
    points = [point for point in tuning.trials if point in work.calls]
    calls = np.array([work.calls[point] for point in points], dtype=np.float64)
    default = calls @ np.array([tuning.trials[point].default for point in points])
    tuned = calls @ np.array([tuning.trials[point].tuned for point in points])
    ratio, low, high = gain_interval(np.log(default / tuned), tuning.level)
    return float(np.median(default)), 1 - 1 / ratio, 1 - _invert(low), 1 - _invert(high)


def _invert(value: float) -> float:
    return 0.0 if math.isinf(value) else 1 / value if value else math.inf


def percent_share_text(value: float) -> str:
    """Return a share as a percentage."""
    return f"{100 * value:.1f} %"


def describe_program_gain(gain: tuple[float, float, float, float] | None, work: Workload) -> str:
    """Return a line about the gain of the program."""
    if gain is None:
        return "the program gains nothing: no rule applies to its collectives"
    total, share, low, high = gain
    excluded = work.omitted + sum(work.other.values())
    others = f"; {time_text(excluded)} of its collectives' time is not included" if excluded else ""
    return (
        f"the program's calls of these collectives take {time_text(total)} over all ranks in "
        f"these measurements; the rules save {percent_share_text(share)} of it ({percent_share_text(low)} to "
        f"{percent_share_text(high)}){others}"
    )


# Okabe and Ito's vermilion (slower) and blue (faster), for colour-blind readers.
_MAP_NOTE = (
    "Default time over time with the rules: blue is faster. Cells without a number have "
    "no rule; grey cells were not measured again. Numbers in brackets are not significant."
)
_CURVE_NOTE = "Median over the rounds of the slowest rank's median time; both measured alternately."


@dataclass(frozen=True)
class Gains:
    """The result of a tuning, for its page; the file has it as one JSON object."""

    library: str
    summary: str
    about: Mapping[str, str]
    rows: Sequence[Mapping[str, Any]]
    """The rows of `table`."""

    @classmethod
    def of(cls, tuning: Tuning) -> Gains:
        """Return the gains of a tuning."""
        collectives = sorted({point.collective for point in tuning.tuned})
        about = {
            "Rules": str(tuning.output) if tuning.rules else "none; no file is written",
            "Program": describe_program_gain(estimate_program_gain(tuning, tuning.work), tuning.work)
            if tuning.work
            else "",
            "Use": " | ".join(make_usage(tuning.bench.form, tuning.output, collectives))
            if tuning.rules
            else "",
            "Dropped": "; ".join(tuning.problems),
        }
        return cls(tuning.bench.library.name, summarise_gains(tuning), about, make_table(tuning).to_dicts())

    @classmethod
    def read(cls, path: str | Path) -> Gains:
        """Read a file written by `save`. Raises `MachineError` for any other file."""
        try:
            content = parse_json(Path(path).read_text(encoding="utf-8"))
            is_gains = content.pop("record") == "gains"
            made = cls(**content)
            made.frame()  # rows that are no rows of the table are refused here
            texts = (made.library, made.summary, *made.about, *made.about.values())
            if not is_gains or not all(isinstance(text, str) for text in texts):
                raise ValueError
            return made
        except OSError as error:
            raise MachineError(f"{path}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, pl.exceptions.PolarsError):
            raise MachineError(f"{path}: not a file of gains from haloscope tune") from None

    def save(self, path: str | Path) -> None:
        """Write the file, for `haloscope report`. Raises `OutputError`."""
        text = json.dumps({"record": "gains", **asdict(self)}, ensure_ascii=False)
        write_whole(Path(path), text + "\n", "gains")

    def frame(self) -> pl.DataFrame:
        """Return the rows as a table."""
        return pl.DataFrame(self.rows, schema=list_column_types())


def write_page(gains: Gains, output: str | Path) -> None:
    """Write the page of a tuning. Raises `OutputError` if it cannot be written."""
    title = f"{printable(gains.library)}: gain by rules"
    about = [f"{key}: {printable(value)}" for key, value in gains.about.items() if value]
    answer = Section("answer", "Result", text=[printable(gains.summary), *about])
    sections = [answer, *_make_sections(gains.frame())]
    data = {
        "verb": "tune",
        "title": title,
        "about": "",
        "notes": [],
        "figures": [],
        "sections": [section.as_json() for section in sections],
    }
    write(page("sections.html", f"{title} – Haloscope", ("sections.js", "regimes.js"), data), Path(output))


def _make_sections(rows: pl.DataFrame) -> Iterator[Section]:
    for (collective,), part in rows.group_by("collective", maintain_order=True):
        measured = part.drop_nulls("tuned_time").group_by("ranks", maintain_order=True)
        curves = [
            _draw_curves(f"{collective} on {noun_text(int(str(ranks)), 'process', 'processes')}", line)
            for (ranks,), line in measured
            if len(line) > 1
        ]
        yield Section(f"gain-{collective}", f"{collective}: gain", [_draw_map(part), *curves])


def _draw_map(part: pl.DataFrame) -> Figure:
    sizes = part["bytes"].unique().sort().to_list()
    ranks = part["ranks"].unique().sort().to_list()
    cells = {(row["ranks"], row["bytes"]): row for row in part.iter_rows(named=True)}
    grid = [[cells.get((count, size)) for size in sizes] for count in ranks]
    widest = max([0.1, *(abs(_log_gain(row) or 0.0) for line in grid for row in line)])
    trace = {
        "type": "heatmap",
        "x": [_size_text(size) for size in sizes],
        "y": [str(count) for count in ranks],
        "z": [[_log_gain(row) for row in line] for line in grid],
        "text": [[_cell_text(row) for row in line] for line in grid],
        "texttemplate": "%{text}",
        "customdata": [[_hover_text(row) for row in line] for line in grid],
        "hovertemplate": "%{x} on %{y} processes<br>%{customdata}<extra></extra>",
        "hoverongaps": False,
        "zmin": -widest,
        "zmax": widest,
        "xgap": 1,
        "ygap": 1,
        "colorscale": SHARES,
        "showscale": False,
    }
    layout = {
        "height": 130 + 34 * len(ranks),
        "hovermode": "closest",
        "plot_bgcolor": PALE,
        "margin": margin(16) | {"b": 72},
        "xaxis": axis("bytes", type="category", showgrid=False),
        "yaxis": axis("processes", type="category", showgrid=False),
    }
    return Figure(_MAP_NOTE, [trace], layout)


def _log_gain(row: dict[str, Any] | None) -> float | None:
    return math.log2(row["gain"]) if row and row["gain"] else None


def _cell_text(row: dict[str, Any] | None) -> str:
    """Return the gain if there is a rule; in brackets if its interval contains 1."""
    if row is None or row["gain"] is None or row["algorithm"] == "default":
        return ""
    gain = f"{row['gain']:.2f}"
    return gain if row["gain_low"] > 1 else f"({gain})"


def _hover_text(row: dict[str, Any] | None) -> str:
    if row is None or row["gain"] is None:
        return ""
    names = f"{row['default_algorithm']} → {row['algorithm']}"
    times = f"{time_text(row['default_time'])} → {time_text(row['tuned_time'])}"
    gain = f"gain {row['gain']:.2f} ({row['gain_low']:.2f} to {row['gain_high']:.2f})"
    return "<br>".join(escape_markup(text) for text in (names, times, gain))


def _size_text(size: int) -> str:
    for least, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= least and size % (least // 4) == 0:
            return f"{size / least:g} {unit}"
    return f"{size} B"


def _draw_curves(title: str, line: pl.DataFrame) -> Figure:
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
            "text": [escape_markup(str(algorithm)) for algorithm in line[algorithm_column]],
            "hovertemplate": "%{x} B: %{y:.4s}s, %{text}<extra></extra>",
        }
        for name, column, algorithm_column, colour in (
            ("default", "default_time", "default_algorithm", INK),
            ("with the rules", "tuned_time", "algorithm", ORANGE),
        )
    ]
    ticks = {"tickvals": steps, "ticktext": [_size_text(size) for size in steps]}
    layout = {
        "height": 380,
        "hovermode": "closest",
        "margin": margin(40),
        "xaxis": axis("bytes", type="log", **ticks),
        "yaxis": axis("time", type="log", tickformat="~s", ticksuffix="s"),
    }
    return Figure(_CURVE_NOTE, traces, layout, title)
