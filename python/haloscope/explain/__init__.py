"""Explain: profiles as tables, and tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.explain.caliper.cali_writer import write_cali
    from haloscope.explain.caliper.caliper_config import as_caliper
    from haloscope.profile.store.head import read_info
    from haloscope.explain.runs.run_history import COSTS, HISTORY, History, costs, history, read_history
    from haloscope.profile.tables.instances import Instances
    from haloscope.profile.kernels import library as native_library
    from haloscope.profile.page.shell import page, report, write_page
    from haloscope.profile.facade import Profile
    from haloscope.profile.facade import open_profile as open
    from haloscope.profile.shown.renderer import FORMATS, render
    from haloscope.explain.reporting.text_summary import summary
    from haloscope.explain.runs.suspects import suspect_hosts, suspect_sentences
    from haloscope.profile.tables.table_builders import TABLES
    from haloscope.explain.ensembles import Ensemble, open_all
    from haloscope.markov import RegimeModel
    from haloscope.profile.sites import keep_symbols

__all__ = [
    "COSTS",
    "FORMATS",
    "HISTORY",
    "TABLES",
    "Ensemble",
    "History",
    "Instances",
    "Profile",
    "RegimeModel",
    "as_caliper",
    "costs",
    "history",
    "keep_symbols",
    "native_library",
    "open",
    "open_all",
    "page",
    "read_history",
    "read_info",
    "render",
    "report",
    "summary",
    "suspect_hosts",
    "suspect_sentences",
    "write_cali",
    "write_page",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "COSTS": "_history",
            "Ensemble": "ensembles",
            "FORMATS": "_render",
            "HISTORY": "_history",
            "History": "_history",
            "Instances": "_instances",
            "Profile": "_profile",
            "RegimeModel": "regimes",
            "TABLES": "_tables",
            "as_caliper": "_caliper_config",
            "costs": "_history",
            "history": "_history",
            "keep_symbols": "sites",
            "native_library": "_kernels:library",
            "open": "_profile:open_profile",
            "open_all": "ensembles",
            "page": "_page",
            "read_history": "_history",
            "read_info": "_head",
            "render": "_render",
            "report": "_page",
            "summary": "_summary",
            "suspect_hosts": "_suspects",
            "suspect_sentences": "_suspects",
            "write_cali": "_cali",
            "write_page": "_page",
        },
    )
