"""Self-contained pages for any browser, without network: how one is made, and the report."""

from __future__ import annotations

import html
import json
import re
import zlib
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from haloscope.base.errors import UsageError, printable
from haloscope.base.files import write_whole
from haloscope.base.paths import prebuilt
from haloscope.profile.facade import Profile
from haloscope.explain.reporting.report_data import page_data

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from haloscope.explain.ensembles import Speeds

    File = str | PathLike[str]

__all__ = ["page", "report", "write_page"]

_WRAPPED = re.compile(
    r"(?P<licence>/\*\*.*?\*/\n)\(.*?, \(\) => \{\n"
    r'(?P<all>"use strict";var Plotly=.*\nwindow\.Plotly = Plotly;\n)return Plotly;\n\}\)\);\s*',
    re.DOTALL,
)

# Scripts of all pages, before their own.
_SHARED = ("units.js", "csv.js", "tables.js", "draw.js")


def page(
    template: str, title: str, scripts: Sequence[str], data: Mapping[str, Any], room: str = "explain"
) -> str:
    """Return the page `template` with its data; nothing of `title` and `data` becomes markup.

    Template, a body for `frame.html`, and scripts are in the directory `page` of the room. A script finds
    its data as JSON in the element `data`, and before it come those that all pages share.
    """
    parts = {
        "title": html.escape(title),
        "style": _part("explain", "report.css"),
        "version": html.escape(printable(version("haloscope"))),
        # Data may be long, and are hardly smaller with more effort.
        "data": _packed("data", json.dumps(data, allow_nan=False), 6),
        "plotly": _plotly(),
        "frame": _part("explain", "frame.js"),
        "script": "\n".join(
            [*(_part("explain", name) for name in _SHARED), *(_part(room, name) for name in scripts)]
        ),
    }
    whole = _part("explain", "frame.html").replace("{{body}}", _part(room, template).rstrip())
    # In one pass, so that text which was put in is never searched for places.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], whole)


def _part(room: str, name: str) -> str:
    return (files(f"haloscope.{room}") / "page" / name).read_text("utf-8")


def _script() -> str:
    """Return Plotly's script: what the wheel brings, else that of its package."""
    ready = prebuilt() / "plotly.min.js"
    if ready.is_file():
        return ready.read_text(encoding="utf-8")
    import plotly.offline

    return str(plotly.offline.get_plotlyjs())


@cache
def _plotly() -> str:
    return _packed("plotly", _bare(_script()), 9)


def _bare(library: str) -> str:
    """Return Plotly without what other loaders than a page need around it.

    A browser reads a function before it runs it, and all that is in there twice: a fifth of the time that
    a page takes to open.
    """
    found = _WRAPPED.fullmatch(library)
    return library if found is None else found["licence"] + found["all"]


def _packed(name: str, text: str, level: int) -> str:
    """Return an element of the page with `text`, deflated: Plotly alone would be 4.8 MB.

    Four bytes are five digits of base 85, most significant first, a digit the character 40 and on. None is
    markup: `}` stands for `<`.
    """
    raw = zlib.compress(text.encode("utf-8"), level)
    left = np.frombuffer(raw + bytes(-len(raw) % 4), dtype=">u4").astype(np.uint32)
    digits = np.empty((len(left), 5), dtype=np.uint8)
    for place in range(4, -1, -1):
        left, digits[:, place] = np.divmod(left, np.uint32(85))
    packed = (digits + 40).tobytes().translate(bytes.maketrans(b"<", b"}")).decode("ascii")
    return f'<script type="text/plain" id="{name}" data-bytes="{len(raw)}">{packed}</script>'


def write_page(text: str, output: Path) -> None:
    """Replace `output` when the page is whole. Raises `OutputError`."""
    write_whole(output, text, "page")


_SCRIPTS = (
    "data.js",
    "figures.js",
    "calls.js",
    "findings.js",
    "waiting.js",
    "timeline.js",
    "sizes.js",
    "history.js",
    "sites.js",
    "sections.js",
    "main.js",
)


def report(
    profiles: File | Sequence[File],
    output: File,
    *,
    against: str = "run_ranks",
    by: str = "program",
    machine: Speeds | None = None,
) -> None:
    """Write one page about the profiles to `output`, which is replaced when the page is whole.

    Several profiles make a page about how regions scale against the column `against` of `Ensemble.runs`, with
    a line for each value of the column `by`, and, where `machine` is given, what messages would take alone.
    Those that cannot be read are left out by name. Of a single profile every byte is checked first.

    Raises `UsageError` without profiles and for a column that no run has, `ProfileError` if none can be read,
    and `OutputError` if the page cannot be written.

    >>> haloscope.report(["app-8.halo", "app-16.halo"], "scaling.html")
    """
    paths = [profiles] if isinstance(profiles, (str, PathLike)) else list(profiles)
    if not paths:
        raise UsageError("a report needs at least one profile")
    if len(paths) > 1:
        from haloscope.explain.ensembles import open_all, write_ensemble_page

        write_ensemble_page(open_all(paths), Path(output), against=against, by=by, machine=machine)
        return
    with Profile(paths[0]) as profile:
        profile.verify()
        data = profile.guarded(lambda: page_data(profile))
    write_page(page("report.html", f"{data['program']} – Haloscope", _SCRIPTS, data), Path(output))
