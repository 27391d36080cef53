"""Campaigns: systems, programs and sizes from one file, run to the end whatever happens on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.reproduce.campaign.campaign import Campaign as Campaign
    from haloscope.reproduce.campaign.crate import bundle as bundle
    from haloscope.reproduce.campaign.crate import open_bundle as open_bundle
    from haloscope.reproduce.campaign.overview import PLAN_TABLE as PLAN_TABLE
    from haloscope.reproduce.campaign.overview import RESULTS_TABLE as RESULTS_TABLE
    from haloscope.reproduce.campaign.overview import STANDING_TABLE as STANDING_TABLE
    from haloscope.reproduce.campaign.overview import list_experiments as list_experiments
    from haloscope.reproduce.campaign.overview import list_results as list_results
    from haloscope.reproduce.campaign.overview import list_states as list_states
    from haloscope.reproduce.campaign.overview import summarise as summarise
    from haloscope.reproduce.campaign.overview import write_report as write_report
    from haloscope.reproduce.campaign.runner import CampaignEvent as CampaignEvent
    from haloscope.reproduce.campaign.runner import run_campaign as run_campaign
    from haloscope.reproduce.campaign.specification import SPECIFIED as SPECIFIED
    from haloscope.reproduce.campaign.specification import Specification as Specification

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
