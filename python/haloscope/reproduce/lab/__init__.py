"""Campaigns: systems, programs and sizes from one file, run to the end whatever happens on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.reproduce.lab.crate import bundle, unbundled
    from haloscope.reproduce.lab.campaign import Campaign
    from haloscope.reproduce.lab.overview import planned, results, standing, summary, write_report
    from haloscope.reproduce.lab.runner import Happened, run_campaign
    from haloscope.reproduce.lab.specification import SPECIFIED, Specification

__all__ = [
    "SPECIFIED",
    "Campaign",
    "Happened",
    "Specification",
    "bundle",
    "planned",
    "results",
    "run_campaign",
    "standing",
    "summary",
    "unbundled",
    "write_report",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "SPECIFIED": "_specification",
            "Campaign": "_campaign",
            "Happened": "_runner",
            "Specification": "_specification",
            "bundle": "_bundle",
            "planned": "_overview",
            "results": "_overview",
            "run_campaign": "_runner",
            "standing": "_overview",
            "summary": "_overview",
            "unbundled": "_bundle",
            "write_report": "_overview",
        },
    )
