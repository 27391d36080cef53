"""One self-contained page about one profile or several, for any browser, without network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from haloscope.base.errors import UsageError
from haloscope.explain._page import page, write_page
from haloscope.explain._profile import Profile
from haloscope.explain._report_data import page_data

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["write_report"]

_SCRIPTS = (
    "units.js",
    "data.js",
    "tables.js",
    "draw.js",
    "figures.js",
    "sizes.js",
    "history.js",
    "sections.js",
    "main.js",
)


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
    write_page(_page(runs), Path(output))


def _data(profile: Profile, runs: int) -> dict[str, Any]:
    return profile.guarded(lambda: page_data(profile, runs))


def _page(runs: Sequence[Mapping[str, Any]]) -> str:
    programs = dict.fromkeys(run["program"] for run in runs)
    many = f" ({len(runs)} runs)" if len(runs) > 1 else ""
    title = f"{', '.join(programs)}{many} – Haloscope"
    return page("report.html", title, _SCRIPTS, {"runs": runs})
