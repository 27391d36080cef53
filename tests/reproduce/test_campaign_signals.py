"""Runs of a campaign inherit the signals that `campaign run` was started with as ignored."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from haloscope.reproduce.campaign import Campaign, run_campaign
from support.campaigns import Written

SHOWN = """
campaign: shown
systems:
  here: {cores: 1, launch: ""}
programs:
  shown: {command: grep SigIgn /proc/self/status}
variants:
  plain: {watch: false}
experiments:
  all: {program: shown, ranks: 1}
"""


@pytest.mark.parametrize("disposition", [signal.SIG_DFL, signal.SIG_IGN])
def test_an_ignored_interrupt_stays_ignored(
    written: Written, tmp_path: Path, disposition: signal.Handlers
) -> None:
    """As in a background job of a shell without job control."""
    campaign = Campaign.opened(written(SHOWN), tmp_path / "kept")
    before = signal.signal(signal.SIGINT, disposition)
    try:
        run_campaign(campaign)
    finally:
        signal.signal(signal.SIGINT, before)
    assert campaign.table()["state"].to_list() == ["done"]
    shown = (campaign.place(campaign.points[0].name, 1) / "stdout").read_text()
    ignored = int(shown.split()[1], 16)
    assert bool(ignored & (1 << (signal.SIGINT - 1))) == (disposition == signal.SIG_IGN)
