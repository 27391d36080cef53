"""A page and a badge about the performance of programs over commits."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from haloscope.base.errors import printable
from haloscope.base.palette import SERIES
from haloscope.base.units import moment_text, noun_text, percent_text, time_text
from haloscope.explain.reporting.run_efficiency import grade_efficiency
from haloscope.explain.runs.commits import COMMITS_TABLE
from haloscope.markov.figures import Figure, Section, Table, axis, margin, plain, unit_of
from haloscope.profile.page import page

_SCRIPTS = ("sections.js", "regimes.js")
_COLOURS = {"good": "#2e7d32", "fair": "#b26a00", "poor": "#b3261e"}
_CHARACTER = 7  # pixels of a badge
_PAD = 10


def make_commit_page(rows: pl.DataFrame) -> str:
    """Return the page of the table that `commits` returns."""
    series = rows.partition_by("program", "ranks", maintain_order=True)
    title = "History of performance"
    counted = (noun_text(rows["commit"].n_unique(), "commit"), noun_text(int(rows["runs"].sum()), "run"))
    data = {
        "verb": "history",
        "title": title,
        "about": ", ".join(counted),
        "notes": [],
        "figures": _list_key_figures(rows),
        "sections": [
            section.as_json() for number, one in enumerate(series) for section in _make_sections(number, one)
        ],
    }
    return page("sections.html", f"{title} – Haloscope", _SCRIPTS, data)


def make_badge(rows: pl.DataFrame) -> str:
    """Return an SVG image with the parallel efficiency of the newest commit."""
    newest = _newest(rows)
    efficiency = float(newest["efficiency"])
    words = ("parallel efficiency", f"{100 * efficiency:.0f} %")
    left, right = (_CHARACTER * len(word) + 2 * _PAD for word in words)
    label = html.escape(
        f"{printable(newest['program'] or 'program')} {printable(newest['commit'])}: {': '.join(words)}"
    )
    colour = _COLOURS[grade_efficiency(efficiency)]
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{label}">
<title>{label}</title>
<rect width="{left}" height="20" fill="#444"/><rect x="{left}" width="{right}" height="20" fill="{colour}"/>
<g fill="#fff" font-family="DejaVu Sans,Verdana,sans-serif" font-size="11">
<text x="{_PAD}" y="14">{words[0]}</text><text x="{left + _PAD}" y="14">{words[1]}</text>
</g></svg>
"""


def _newest(rows: pl.DataFrame) -> dict[str, Any]:
    return rows.sort("start", maintain_order=True).row(-1, named=True)


def _list_key_figures(rows: pl.DataFrame) -> list[tuple[str, str, str]]:
    newest = _newest(rows)
    changed = rows.filter(pl.col("change").is_not_null())
    grade = grade_efficiency(newest["efficiency"])
    return [
        ("newest commit", printable(newest["commit"]), moment_text(newest["start"])),
        ("parallel efficiency", percent_text(newest["efficiency"], 1.0), grade),
        ("time", time_text(newest["duration"]), f"median of {noun_text(newest['runs'], 'run')}"),
        ("communication", percent_text(newest["mpi_share"], 1.0), "of the ranks' time"),
        ("changed", noun_text(len(changed), "commit"), "significantly, at 5 % for all together"),
    ]


def _make_sections(number: int, rows: pl.DataFrame) -> Iterator[Section]:
    first = rows.row(0, named=True)
    title = f"{printable(first['program'] or 'program')} on {noun_text(first['ranks'] or 0, 'rank')}"
    changes = [
        f"{printable(row['commit'])}: {row['change']}"
        for row in rows.filter(pl.col("change").is_not_null()).to_dicts()
    ]
    single = rows.filter(pl.col("runs") < 2)
    if not changes:
        changes = ["No significant change between commits."]
    if len(single):
        changes.append(f"{noun_text(len(single), 'commit')} with a single run: changes are not tested there.")
    figures = [_draw_times(rows), _draw_shares(rows)]
    yield Section(f"series-{number}", title, figures, text=changes, columns=2)
    shown = [name for name in rows.columns if name not in ("program", "ranks", "change")]
    views = COMMITS_TABLE.views(shown)
    cells = [[(row[view.name], view.get_text(row)) for view in views] for row in rows.to_dicts()]
    table = Table("Source: haloscope history --by commit.", [(view.title, "") for view in views], cells)
    yield Section(f"commits-{number}", f"Commits of {title}", tables=[table])


def _draw_times(rows: pl.DataFrame) -> Figure:
    """Return median times with the range of the runs of each commit; changed commits have a mark."""
    unit = unit_of(float(rows["duration"].to_numpy().max()))
    names = _names(rows)
    low, middle, high = (
        unit.convert(rows[name]).tolist() for name in ("duration_low", "duration", "duration_high")
    )
    band = {"x": names, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    marks = ["diamond" if changed else "circle" for changed in rows["change"].is_not_null()]
    sizes = [12 if mark == "diamond" else 7 for mark in marks]
    line = {"color": SERIES[0]}
    return Figure(
        "Median, and range of the runs of a commit. Diamond: a significant change from the commit before.",
        [
            {**band, "y": low},
            {**band, "y": high, "fill": "tonexty", "fillcolor": "rgba(128,128,128,0.3)"},
            {
                "x": names,
                "y": middle,
                "mode": "lines+markers",
                "line": line,
                "marker": {"symbol": marks, "size": sizes},
                "showlegend": False,
            },
        ],
        _layout(f"time ({unit.name})"),
        "Time",
    )


def _draw_shares(rows: pl.DataFrame) -> Figure:
    names = _names(rows)
    drawn = {"efficiency": "parallel efficiency", "mpi_share": "communication"}
    return Figure(
        "Shares of the ranks' time.",
        [
            {"x": names, "y": (100 * rows[column]).to_list(), "mode": "lines+markers", "name": name}
            for column, name in drawn.items()
        ],
        _layout("%", rangemode="tozero"),
        "Efficiency and communication",
    )


def _names(rows: pl.DataFrame) -> list[str]:
    return [plain(commit) for commit in rows["commit"]]


def _layout(title: str, **more: Any) -> Mapping[str, Any]:
    # Commits such as 1234567 or 12e4567 look like numbers.
    return {
        "xaxis": axis("commit", type="category"),
        "yaxis": axis(title, **more),
        "height": 320,
        "margin": margin(16),
        "legend": {"orientation": "h", "y": 1.1},
    }
