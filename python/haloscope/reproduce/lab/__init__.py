"""Campaigns: systems, programs and sizes from one file, run to the end whatever happens on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.reproduce.lab.campaign import Campaign as Campaign
    from haloscope.reproduce.lab.crate import bundle as bundle
    from haloscope.reproduce.lab.crate import open_bundle as open_bundle
    from haloscope.reproduce.lab.overview import list_experiments as list_experiments
    from haloscope.reproduce.lab.overview import results as results
    from haloscope.reproduce.lab.overview import standing as standing
    from haloscope.reproduce.lab.overview import summary as summary
    from haloscope.reproduce.lab.overview import write_report as write_report
    from haloscope.reproduce.lab.runner import Happened as Happened
    from haloscope.reproduce.lab.runner import run_campaign as run_campaign
    from haloscope.reproduce.lab.specification import SPECIFIED as SPECIFIED
    from haloscope.reproduce.lab.specification import Specification as Specification

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
