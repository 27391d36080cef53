"""Sites: the lines of source that calls of MPI come from, and the stacks that lead there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.profile.sites.book import SiteBook
    from haloscope.explain.reporting.flame import flames, site_data
    from haloscope.explain.runs.kept_symbols import keep_symbols
    from haloscope.profile.sites.naming import name_places
    from haloscope.profile.sites.readable import without_arguments
    from haloscope.profile.sites.site_table import sites

__all__ = ["SiteBook", "flames", "keep_symbols", "name_places", "site_data", "sites", "without_arguments"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "SiteBook": "_book",
            "flames": "_flame",
            "keep_symbols": "_keeping",
            "name_places": "_naming",
            "site_data": "_flame",
            "sites": "_table",
            "without_arguments": "_readable",
        },
    )
