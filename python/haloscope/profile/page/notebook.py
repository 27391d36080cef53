"""Profiles in notebooks, as HTML. Names are untrusted text, so each is escaped."""

from __future__ import annotations

import html
from collections.abc import Sequence

import polars as pl

from haloscope.base.errors import printable
from haloscope.base.units import noun_text, time_text
from haloscope.profile.shown.cells import Row
from haloscope.profile.shown.profile_tables import SHOWN
from haloscope.profile.shown.renderer import region_indents
from haloscope.profile.shown.shown_table import ColumnView
from haloscope.profile.store.profile_data import ProfileData

_MOST_ROWS = 1000


def profile_html(data: ProfileData, regions: pl.DataFrame) -> str:
    """Return the run in a line, and its table `regions`."""
    info = data.info
    facts = [f"{noun_text(info.get('ranks'), 'rank')} on {noun_text(len(data.hosts.names), 'node')}"]
    facts += [printable(str(info["mpi_library"]))] if info.get("mpi_library") else []
    facts += [time_text(info["duration"])] if info.get("duration") is not None else []
    name = html.escape(printable(str(info.get("program") or data.path.name)))
    return f"<p><b>{name}</b>: {html.escape(', '.join(facts))}</p>{_table(regions)}"


def _table(regions: pl.DataFrame) -> str:
    shown = SHOWN["regions"].views(regions.columns)
    rows = regions.head(_MOST_ROWS).to_dicts()
    head = "".join(_cell("th", view.title, view) for view in shown)
    indented = zip(rows, region_indents(rows), strict=True)
    body = "".join(f"<tr>{_cells(row, shown, indent)}</tr>" for row, indent in indented)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cells(row: Row, shown: Sequence[ColumnView], indent: str) -> str:
    texts = [view.get_text(row) for view in shown]
    texts[0] = indent.replace(" ", "\u00a0") + texts[0]
    return "".join(_cell("td", text, view) for text, view in zip(texts, shown, strict=True))


def _cell(kind: str, text: str, view: ColumnView) -> str:
    side = "left" if view.form.left else "right"
    return f'<{kind} style="text-align: {side}">{html.escape(text)}</{kind}>'
