"""The work of `haloscope report`: the page of one profile, or of an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from haloscope.base.errors import UsageError, printable
from haloscope.explain.ensembles import Speeds, open_all, write_ensemble_page
from haloscope.explain.reporting.report_data import make_page_data
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
) -> list[str]:
    """Write one page about one or more profiles. `output` is replaced atomically.

    Several profiles make a page about scaling. Unreadable ones are left out and listed. The checksums of a
    single profile are verified first. A trace that is refused is left out.

    Args:
        profiles: One profile, or several.
        output: HTML file to write.
        against: Column of `Ensemble.runs` for the x axis, with several profiles.
        by: Column of `Ensemble.runs` that separates series, with several profiles.
        machine: Speed of the machine, for comparison with messages.

    Returns:
        Remarks on data that the page leaves out; they are on the page, too.

    Raises:
        UsageError: There are no profiles, or no run has one of the columns.
        ProfileError: No profile can be read.
        OutputError: The page cannot be written.

    Examples:
        >>> haloscope.report(["app-8.halo", "app-16.halo"], "scaling.html")
    """
    paths = [profiles] if isinstance(profiles, (str, PathLike)) else list(profiles)
    if not paths:
        raise UsageError("a report needs one profile or more")
    if len(paths) > 1:
        write_ensemble_page(open_all(paths), Path(output), against=against, by=by, machine=machine)
        return []
    with Profile(paths[0]) as profile:
        profile.verify()
        data, remarks = profile.data.guard_trace(lambda: make_page_data(profile))
    data["warnings"] += [printable(remark) for remark in remarks]
    write_page(page("report.html", f"{data['program']} – Haloscope", _SCRIPTS, data, "explain"), Path(output))
    return remarks
