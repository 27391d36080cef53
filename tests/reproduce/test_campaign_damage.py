"""Damaged files of campaigns: a damaged line or result costs its run, and a damaged bundle is refused."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from haloscope import ProfileError
from haloscope.reproduce.campaign import Campaign, list_results, open_bundle, run_campaign
from support.campaigns import BASE, Written
from support.command import run_command

FEW = BASE + "experiments:\n  few: {program: told, ranks: [8, 16]}\n"
END = {"event": "ended", "attempt": 1, "outcome": "done", "reason": None, "seconds": 2.0, "host": "x"}


@pytest.fixture
def campaign(written: Written, tmp_path: Path) -> Campaign:
    """A campaign of two runs. By its journal, the first is done."""
    opened = Campaign.opened(written(FEW), tmp_path / "kept")
    write_end(opened, {})
    return opened


def write_end(campaign: Campaign, values: dict[str, Any]) -> None:
    campaign.directory.mkdir(exist_ok=True)
    end = {**END, "run": campaign.points[0].name, "figures": {"time": 1.0}, **values}
    (campaign.directory / "journal.jsonl").write_text(json.dumps(end) + "\n")


@pytest.mark.parametrize(
    "values",
    [
        {"attempt": "first"},
        {"attempt": float("inf")},
        {"attempt": -1},
        {"run": 5},
        {"outcome": ["done"]},
        {"outcome": None},
        {"seconds": "2 s"},
        {"seconds": None},
        {"seconds": float("nan")},
        {"figures": [1.0]},
        {"figures": {"time": "long"}},
        {"reason": 5},
    ],
)
def test_a_damaged_line_of_the_journal_is_no_end(campaign: Campaign, values: dict[str, Any]) -> None:
    assert campaign.table()["state"].to_list() == ["done", "waiting"]
    write_end(campaign, values)
    assert campaign.table()["state"].to_list() == ["waiting", "waiting"]
    assert campaign.left() == 2
    assert list_results(campaign).is_empty()
    assert run_command("campaign", "status", campaign.file) == 0


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"exit_status": 1e999, "seconds": 1}', '{"exit_status": 0, "seconds": NaN}', "[" * 100_000],
)
def test_a_run_with_a_damaged_result_runs_again(campaign: Campaign, text: str) -> None:
    point = campaign.points[0]
    (campaign.directory / "journal.jsonl").write_text(
        json.dumps({"event": "started", "run": point.name, "attempt": 1}) + "\n"
    )
    place = campaign.place(point.name, 1)
    place.mkdir(parents=True)
    (place / "result.json").write_text(text)
    run_campaign(campaign)
    assert campaign.table()["state"].to_list() == ["done", "done"]
    assert campaign.table()["attempts"].to_list() == [2, 1]


def test_each_damaged_byte_of_a_bundle_is_noticed(tmp_path: Path) -> None:
    bundle, damaged = tmp_path / "all.zip", tmp_path / "damaged.zip"
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("runs/one/1/profile.halo", bytes(range(256)))
    with open_bundle(bundle) as content:
        assert len(content.profiles) == 1
    whole, refused = bundle.read_bytes(), 0
    for place in range(len(whole)):
        for value in (0x00, 0xFF):
            damaged.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
            try:
                with open_bundle(damaged):
                    pass
            except ProfileError:
                refused += 1
    assert refused > len(whole) // 2
