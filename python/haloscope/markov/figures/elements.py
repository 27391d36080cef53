"""Parts of a page about regimes: figures and tables, for Plotly and for people."""

from __future__ import annotations

import base64
import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from haloscope.base.arrays import Floats
from haloscope.base.errors import printable
from haloscope.base.palette import FAST_TO_SLOW, GRID

Trace = dict[str, Any]
Cell = tuple[float | str | None, str]  # the sort key, and the text

_CHOSEN = {1: "0", 2: "05", 3: "024", 4: "0245", 5: "02456", 6: "012456"}
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


@dataclass(frozen=True)
class TimeUnit:
    """A unit of time: `scale` seconds."""

    scale: float
    name: str

    def convert(self, seconds: ArrayLike) -> Floats:
        """Return seconds in this unit."""
        return np.asarray(seconds, dtype=np.float64) / self.scale


@dataclass(frozen=True)
class Figure:
    """One plot: `caption` explains it in one line, `paper` is the figure of a paper that it is like."""

    caption: str
    traces: Sequence[Trace]
    layout: Mapping[str, Any]
    title: str = ""
    paper: str = ""

    def as_json(self, in_study: bool = False) -> dict[str, Any]:
        """Return the figure for the page's script."""
        return {
            "title": self.title,
            "caption": _add_source(self.caption, self.paper if in_study else ""),
            "traces": list(self.traces),
            "layout": dict(self.layout),
        }


@dataclass(frozen=True)
class Table:
    """Rows of cells; `columns` are (title, explanation), `paper` is the table of a paper that it is like."""

    caption: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[Cell]]
    paper: str = ""

    def as_json(self, in_study: bool = False) -> dict[str, Any]:
        """Return what the page shows."""
        caption = _add_source(self.caption, self.paper if in_study else "")
        return {"caption": caption, "columns": self.columns, "rows": self.rows}


def _add_source(caption: str, paper: str) -> str:
    return f"{caption} Paper: {paper}.".lstrip() if paper else caption


# Title, explanation, the value's name in a row, and its text; without a text, the value is a cell.
Column = tuple[str, str, str, Callable[..., str] | None]


def fill_table(
    caption: str, columns: Sequence[Column], rows: Iterable[Mapping[str, Any]], paper: str = ""
) -> Table:
    """Return a table of these rows."""
    cells = [
        [row[name] if text is None else (row[name], text(row[name])) for _, _, name, text in columns]
        for row in rows
    ]
    return Table(caption, [(title, meaning) for title, meaning, _, _ in columns], cells, paper)


@dataclass(frozen=True)
class Section:
    """Plots and tables under one heading, with `columns` plots side by side; `code` are lines to copy."""

    name: str
    title: str
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    text: Sequence[str] = ()
    columns: int = 1
    pictures: Sequence[tuple[str, str]] = ()  # data addresses of images, and their descriptions
    code: Sequence[str] = ()

    def as_json(self, in_study: bool = False) -> dict[str, Any]:
        """Return what the page shows. Captions name figures of the paper only in its study."""
        return {
            "name": self.name,
            "title": self.title,
            "columns": self.columns,
            "text": list(self.text),
            "figures": [figure.as_json(in_study) for figure in self.figures],
            "tables": [table.as_json(in_study) for table in self.tables],
            "pictures": list(self.pictures),
            "code": "\n".join(self.code),
        }


_BETWEEN = 56  # pixels from a panel to the one below: for numbers, upright on narrow pages, and a title


@dataclass(frozen=True)
class Panel:
    """One of several plots in a figure, with the range of its x axis if that is its own."""

    title: str
    traces: Sequence[Trace]
    span: Sequence[float] | None = None


def panels(
    drawn: Sequence[Panel],
    xaxis: Mapping[str, Any],
    yaxis: Mapping[str, Any],
    columns: int,
    height: int,
    **layout: Any,
) -> tuple[list[Trace], dict[str, Any]]:
    """Return traces and layout of a grid of panels with the same axes, each under its title."""
    rows = -(-len(drawn) // columns)
    gap = max(0.2, _BETWEEN / height)
    traces: list[Trace] = []
    whole: dict[str, Any] = {
        "grid": {"rows": rows, "columns": columns, "pattern": "independent", "xgap": 0.2, "ygap": gap},
        "annotations": [],
        "height": 90 + height * rows,
        "margin": margin(36),
        **layout,
    }
    for number, panel in enumerate(drawn):
        at = "" if number == 0 else str(number + 1)
        traces += [{**trace, "xaxis": f"x{at}", "yaxis": f"y{at}"} for trace in panel.traces]
        span = {"range": list(panel.span)} if panel.span else {"matches": "x"} if number else {}
        whole[f"xaxis{at}"] = _add_title(xaxis, number + columns >= len(drawn)) | span
        whole[f"yaxis{at}"] = _add_title(yaxis, number % columns == 0) | ({"matches": "y"} if number else {})
        whole["annotations"].append(_title_above(panel.title, at))
    return traces, whole


def _title_above(title: str, at: str) -> dict[str, Any]:
    """Return the title of the panel whose axis names end in `at`."""
    return {
        "text": f"<b>{plain(title)}</b>",
        "showarrow": False,
        "xref": f"x{at} domain",
        "yref": f"y{at} domain",
        "x": 0,
        "y": 1.01,
        "xanchor": "left",
        "yanchor": "bottom",
    }


def _add_title(axis: Mapping[str, Any], shown: bool) -> dict[str, Any]:
    return dict(axis) if shown else {**axis, "title": {"text": ""}}


def axis(title: str, **more: Any) -> dict[str, Any]:
    """Return an axis in the style of all our pages."""
    return {
        "title": {"text": title, "standoff": 8},  # else it lies on long numbers
        "exponentformat": "SI",  # else 10^9 is B, as bytes are
        "gridcolor": GRID,
        "zeroline": False,
        "automargin": True,
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": "#fff",
        **more,
    }


def margin(top: int) -> dict[str, int]:
    """Return the margins of a plot; `top` is the height of the text above it."""
    return {"l": 64, "r": 16, "t": top, "b": 48}


def array(values: ArrayLike, kind: str = "f4") -> dict[str, str]:
    """Return numbers as Plotly reads them fastest; NaN are gaps. `kind` is f4, f8, u1, i4 …"""
    packed = np.ascontiguousarray(values, dtype=f"<{kind}")
    made = {"dtype": kind, "bdata": base64.b64encode(packed.tobytes()).decode("ascii")}
    if packed.ndim > 1:
        made["shape"] = ", ".join(map(str, packed.shape))
    return made


def plain(text: str) -> str:
    """Return untrusted text for Plotly, without markup."""
    return html.escape(printable(text), quote=False)


def unit_of(seconds: float) -> TimeUnit:
    """Return the unit in which a time has one to three digits before the point."""
    found = next((pair for pair in _UNITS if seconds >= pair[0]), _UNITS[-1])
    return TimeUnit(*found)


def regime_name(state: int, regimes: int) -> str:
    """Return the name of state 0, 1, … of a model with this number of regimes."""
    suffix = {0: ", fastest", regimes - 1: ", slowest"}.get(state, "") if regimes > 1 else ""
    return f"regime {state + 1}{suffix}"


def regime_colours(regimes: int) -> list[str]:
    """Return a colour for each regime, fastest first; two are as in the paper's Figure 12."""
    if regimes in _CHOSEN:
        return [FAST_TO_SLOW[int(number)] for number in _CHOSEN[regimes]]
    # For more regimes than colours: even steps between the colours, so that none is used twice.
    steps = np.linspace(0, len(FAST_TO_SLOW) - 1, regimes)
    chosen = [[int(colour[at : at + 2], 16) for colour in FAST_TO_SLOW] for at in (1, 3, 5)]
    parts = [np.interp(steps, range(len(FAST_TO_SLOW)), part).round().astype(int) for part in chosen]
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in zip(*parts, strict=True)]
