"""Self-contained pages for any browser, without network: how one is made, and the report."""

from __future__ import annotations

import html
import json
import re
from importlib.metadata import version
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import plotly.offline

from haloscope.base.errors import UsageError, printable
from haloscope.base.files import write_whole
from haloscope.explain._profile import Profile
from haloscope.explain._report_data import page_data

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    File = str | PathLike[str]

__all__ = ["page", "report", "write_page"]


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
    # In one pass, so that text which was put in is never searched for places.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], whole)


def _part(room: str, name: str) -> str:
    return (files(f"haloscope.{room}") / "page" / name).read_text("utf-8")


def _script_safe(text: str) -> str:
    """Return JSON that no HTML parser takes for the end of its script, or for a comment."""
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def write_page(text: str, output: Path) -> None:
    """Replace `output` when the page is whole. Raises `OutputError`."""
    write_whole(output, text, "page")


_SCRIPTS = (
    "units.js",
    "data.js",
    "tables.js",
    "draw.js",
    "figures.js",
    "sizes.js",
    "history.js",
    "sites.js",
    "sections.js",
    "main.js",
)


def report(profiles: File | Sequence[File], output: File) -> None:
    """Write one page about the profiles to `output`, which is replaced when the page is whole.

    Every byte of the profiles is checked first. Raises `UsageError` without profiles, `ProfileError`
    for one that cannot be read or is damaged, and `OutputError` if the page cannot be written.

    >>> haloscope.report(["app-8.halo", "app-16.halo"], "scaling.html")
    """
    paths = [profiles] if isinstance(profiles, (str, PathLike)) else list(profiles)
    if not paths:
        raise UsageError("a report needs at least one profile")
    runs = []
    for path in paths:
        with Profile(path) as profile:
            profile.verify()
            runs.append(_run_data(profile, len(paths)))
    write_page(_report_page(runs), Path(output))


def _run_data(profile: Profile, runs: int) -> dict[str, Any]:
    return profile.guarded(lambda: page_data(profile, runs))


def _report_page(runs: Sequence[Mapping[str, Any]]) -> str:
    programs = dict.fromkeys(run["program"] for run in runs)
    many = f" ({len(runs)} runs)" if len(runs) > 1 else ""
    title = f"{', '.join(programs)}{many} – Haloscope"
    return page("report.html", title, _SCRIPTS, {"runs": runs})
