"""One self-contained page, for any browser, without network."""

from __future__ import annotations

import html
import json
import re
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import plotly.offline

from haloscope.base.errors import printable
from haloscope.base.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["page", "write_page"]


def page(
    template: str, title: str, scripts: Sequence[str], data: Mapping[str, Any], room: str = "explain"
) -> str:
    """Return the page `template` with its data; nothing of `title` and `data` becomes markup.

    Template, a body for `frame.html`, and scripts are in the directory `page` of the room.
    """
    parts = {
        "title": html.escape(title),
        "style": _part("explain", "report.css"),
        "version": html.escape(printable(version("haloscope"))),
        "data": _script_safe(json.dumps(data, allow_nan=False)),
        "plotly": plotly.offline.get_plotlyjs(),
        "script": "\n".join(_part(room, name) for name in scripts),
    }
    whole = _part("explain", "frame.html").replace("{{body}}", _part(room, template).rstrip())
    # In one pass: what is put in is never searched for places.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], whole)


def _part(room: str, name: str) -> str:
    return (files(f"haloscope.{room}") / "page" / name).read_text("utf-8")


def _script_safe(text: str) -> str:
    """Return JSON that no HTML parser takes for the end of its script, or for a comment."""
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def write_page(text: str, output: Path) -> None:
    """Replace `output` when the page is whole. Raises `OutputError`."""
    write_whole(output, text, "page")
