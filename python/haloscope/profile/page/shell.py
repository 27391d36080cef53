"""Self-contained pages for any browser, without network."""

from __future__ import annotations

import html
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from haloscope.base.errors import printable
from haloscope.base.files import write_whole
from haloscope.base.palette import for_scripts
from haloscope.profile.page.plotly_script import read_plotly

# Scripts of all pages, before their own.
_SHARED = ("units.js", "csv.js", "tables.js", "draw.js")


def page(
    template: str, title: str, scripts: Sequence[str], data: Mapping[str, Any], package: str = "profile"
) -> str:
    """Return the page `template` with its data; `title` and `data` never become markup.

    The template, a body for `frame.html`, and scripts are in the directory `page` of the package, or in that
    of `profile` if several pages use them. A script finds its data as JSON in the element `data`. Scripts
    that all pages share come first.
    """
    parts = {
        "title": html.escape(title),
        "style": _part("profile", "report.css"),
        "version": html.escape(printable(version("haloscope"))),
        # Data may be long, and higher levels hardly make them smaller.
        "data": _pack("data", json.dumps(data, allow_nan=False), 6),
        "plotly": _plotly(),
        "frame": _part("profile", "frame.js"),
        "script": "\n".join(
            [
                f"const PALETTE = {json.dumps(for_scripts())};",
                *(_part("profile", name) for name in _SHARED),
                *(_part(package, name) for name in scripts),
            ]
        ),
    }
    whole = _part("profile", "frame.html").replace("{{body}}", _part(package, template).rstrip())
    # In one pass, so that inserted text is never searched for placeholders.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], whole)


def _part(package: str, name: str) -> str:
    own = files(f"haloscope.{package}") / "page" / name
    found = own if own.is_file() else files("haloscope.profile") / "page" / name
    return found.read_text("utf-8")


@cache
def _plotly() -> str:
    return _pack("plotly", read_plotly(), 9)


def _pack(name: str, text: str, level: int) -> str:
    """Return an element of the page with `text`, deflated.

    Four bytes are five digits of base 85, most significant first, a digit the character 40 and on. None is
    markup: `}` replaces `<`.
    """
    raw = zlib.compress(text.encode("utf-8"), level)
    left = np.frombuffer(raw + bytes(-len(raw) % 4), dtype=">u4").astype(np.uint32)
    digits = np.empty((len(left), 5), dtype=np.uint8)
    for power in range(4, -1, -1):
        left, digits[:, power] = np.divmod(left, np.uint32(85))
    packed = (digits + 40).tobytes().translate(bytes.maketrans(b"<", b"}")).decode("ascii")
    return f'<script type="text/plain" id="{name}" data-bytes="{len(raw)}">{packed}</script>'


def write_page(text: str, output: Path) -> None:
    """Write the page in one step. Raises `OutputError`."""
    write_whole(output, text, "page")
