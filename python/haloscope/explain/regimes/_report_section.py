"""The regimes of a profile's series on the page of `haloscope report`: the first of the figures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from haloscope.base.errors import HaloscopeError, printable
from haloscope.explain.regimes._figures import Section, unit_of
from haloscope.explain.regimes._figures_time import heat_maps, median_ranks, slowest_ranks
from haloscope.explain.regimes._reading import series_of, timings_of
from haloscope.explain.regimes._tables_page import regime_tables
from haloscope.explain.regimes._view import View

if TYPE_CHECKING:
    from haloscope.explain._profile import Profile
    from haloscope.explain.regimes._timings import Timings

__all__ = ["report_sections"]

# Of more durations than these, and of more regions, `haloscope regimes` makes a page of its own.
_MOST_DURATIONS, _MOST_REGIONS = 1 << 22, 4
_ROWS, _COLUMNS = 128, 512  # of a heat map


def report_sections(profile: Profile) -> list[dict[str, Any]]:
    """Return a section for each region with a series, as the page takes it."""
    regions = series_of(profile)
    sections = []
    for number, region in enumerate(regions):
        title = f"Regimes of {printable(region)}"
        name = f"regimes-{number}"
        try:
            timings = timings_of(profile, region)
            if number >= _MOST_REGIONS or timings.counts.sum() > _MOST_DURATIONS:
                told = f"See haloscope regimes {printable(profile.path.name)} --region REGION"
                made = [Section(name, title, text=[f"{timings.counts.sum()} durations. {told}"])]
            else:
                made = _sections(timings, name, title)
        except HaloscopeError as error:
            made = [Section(name, title, text=[str(error)])]
        sections += made
    return [section.as_json() for section in sections]


def _sections(timings: Timings, name: str, title: str) -> list[Section]:
    from haloscope.explain.regimes._analysis import Options, decoded, found
    from haloscope.explain.regimes._results import regime_frame

    fit = found(timings, Options())
    whole = decoded(fit.regimes)
    view = View(whole, whole, fit.regimes.training)
    unit = unit_of(float(np.nanmedian(view.medians)))
    frame = regime_frame([whole.sample], [timings.region], view.regimes)
    table = regime_tables(frame, False, "Times of all ranks by regime.")
    first = median_ranks([view], unit) or slowest_ranks([view], unit)
    notes = [f"Note: {note}" for note in (*fit.regimes.model.warnings_, *timings.notes)]
    heat = heat_maps([view], _ROWS, _COLUMNS)
    made = [replace(first, name=name, title=title, tables=[table], text=notes)]
    return made + (
        [replace(heat, name=f"{name}-heat", title=f"{title}: who was slow when")] if heat else []
    )
