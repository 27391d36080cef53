"""One self-contained page about one profile or several, for any browser, without network."""

from __future__ import annotations

import html
import json
import os
import re
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import plotly.offline

from haloscope import __version__
from haloscope._errors import OutputError, UsageError, printable
from haloscope.explain._profile import Profile
from haloscope.explain._report_data import page_data

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["write_report"]

_SCRIPTS = ("units.js", "data.js", "tables.js", "figures.js", "sizes.js", "history.js", "main.js")


def write_report(paths: Sequence[Path], output: Path) -> None:
    """Write the page about the profiles at `paths` to `output`, which is replaced when it is whole.

    Raises `UsageError` without paths, `ProfileError` for a profile that cannot be read, and
    `OutputError` if the page cannot be written.
    """
    if not paths:
        raise UsageError("a report needs at least one profile")
    runs = []
    for path in paths:
        with Profile(path) as profile:
            runs.append(_data(profile, len(paths)))
    _write(_page(runs), Path(output))


def _data(profile: Profile, runs: int) -> dict[str, Any]:
    return profile.guarded(lambda: page_data(profile, runs))


def _page(runs: Sequence[Mapping[str, Any]]) -> str:
    programs = dict.fromkeys(run["program"] for run in runs)
    many = f" ({len(runs)} runs)" if len(runs) > 1 else ""
    parts = {
        "title": html.escape(f"{', '.join(programs)}{many} – Haloscope"),
        "style": _part("report.css"),
        "version": html.escape(printable(__version__)),
        "data": _script_safe(json.dumps({"runs": runs}, allow_nan=False)),
        "plotly": plotly.offline.get_plotlyjs(),
        "script": "\n".join(_part(name) for name in _SCRIPTS),
    }
    # In one pass: what is put in is never searched for places.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _part("report.html"))


def _part(name: str) -> str:
    return (files("haloscope.explain") / "page" / name).read_text("utf-8")


def _script_safe(text: str) -> str:
    """Return JSON that no HTML parser takes for the end of its script, or for a comment."""
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _write(page: str, output: Path) -> None:
    if output.exists() and not output.is_file():
        raise OutputError(f"{output}: is not a file; name a file to write the page to")
    aside = output.with_name(f".{output.name}.{os.getpid()}.part")
    try:
        aside.write_text(page, "utf-8")
        aside.replace(output)
    except OSError as error:
        raise OutputError(
            f"{output}: cannot be written: {error.strerror}; name another place with -o"
        ) from None
    finally:
        aside.unlink(missing_ok=True)
