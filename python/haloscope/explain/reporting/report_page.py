"""The page about one profile, or about many: what `haloscope report` writes."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from haloscope.base.errors import UsageError
from haloscope.explain.ensembles import Speeds, open_all, write_ensemble_page
from haloscope.explain.reporting.report_data import page_data
from haloscope.profile import Profile
from haloscope.profile.page import page, write_page

File = str | PathLike[str]

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
        write_ensemble_page(open_all(paths), Path(output), against=against, by=by, machine=machine)
        return
    with Profile(paths[0]) as profile:
        profile.verify()
        data = profile.data.guard(lambda: page_data(profile))
    write_page(page("report.html", f"{data['program']} – Haloscope", _SCRIPTS, data, "explain"), Path(output))
