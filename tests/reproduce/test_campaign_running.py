"""Campaigns that run, fail, are killed, and end all the same: nothing lost, doubled or half-written."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from haloscope import OutputError, UsageError
from haloscope.reproduce.campaign import Campaign, CampaignEvent, list_results, run_campaign
from support.campaigns import BASE, Written, events
from support.command import run_command
from support.limits import HANG

FEW = BASE + "experiments:\n  few: {program: told, ranks: [8, 16]}\nrepetitions: 2\n"
# Each run writes a line of its own, by which one that ran twice is seen.
COUNTED = """
campaign: counted
systems:
  here: {cores: 64, launch: ""}
programs:
  slow:
    command: /bin/sh -c 'sleep 0.2; echo "$0" >>"$1"' {n} {log}
    parameters: {log: LOG}
variants:
  plain: {watch: false}
experiments:
  all: {program: slow, ranks: 1, vary: {n: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}}
"""


def test_runs_end_with_their_figures(written: Written, tmp_path: Path) -> None:
    campaign = Campaign.opened(written(FEW), tmp_path / "kept")
    happened: list[CampaignEvent] = []
    run_campaign(campaign, report=happened.append)
    table = campaign.table()
    assert set(table["state"]) == {"done"}
    assert {"run", "ranks", "seconds", "core_hours", "attempts", "reason", "profile"} < set(table.columns)
    assert table.columns[-1] == list_results(campaign).columns[-1] == "time"
    assert sorted(table["time"].to_list()) == [1.0, 1.0, 2.0, 2.0]
    assert list_results(campaign)["runs"].to_list() == [2, 2]
    assert Counter(each.what for each in happened) == {"started": 4, "ended": 4}
    place = campaign.place(campaign.points[0].name, 1)
    assert {"run.json", "result.json", "environment.json", "stdout", "stderr"} <= {
        path.name for path in place.iterdir()
    }
    assert json.loads((place / "run.json").read_text())["words"] == list(campaign.points[0].words)
    run_campaign(campaign, report=happened.append)
    assert len(happened) == 8  # nothing ran again


def test_failures_are_tried_again_and_told(written: Written, tmp_path: Path) -> None:
    text = FEW.replace("echo", "echo sorry >&2; exit 3; echo")
    campaign = Campaign.opened(written(text), tmp_path / "kept")
    run_campaign(campaign)
    table = campaign.table()
    assert set(table["state"]) == {"failed"}
    assert set(table["attempts"]) == {2}
    assert set(table["reason"]) == {"exit status 3: sorry"}
    run_campaign(campaign)
    assert set(campaign.table()["attempts"]) == {2}
    run_campaign(campaign, again=True)
    assert set(campaign.table()["attempts"]) == {3}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("time=([0-9.]+)", "speed=([0-9.]+)"), "figure time is not in its output"),
        (("    figures", "    limit: 1\n    figures"), "took longer than 1.00 s"),
        (("/bin/sh -c", "/usr/bin/env -S sh -c 'kill -9 $$'"), "signal 9"),
        (("watch: false", "watch: true"), "no profile was written"),
    ],
)
def test_what_is_not_right_fails(
    written: Written, tmp_path: Path, change: tuple[str, str], reason: str
) -> None:
    text = (FEW.replace("'echo", "'sleep 1000; echo") if "limit" in change[1] else FEW).replace(*change)
    text = text.replace("[8, 16]", "[8]").replace("repetitions: 2", "repetitions: 1\nretries: 0")
    campaign = Campaign.opened(written(text), tmp_path / "kept")
    run_campaign(campaign)
    assert campaign.table()["state"].to_list() == ["failed"]
    assert reason in campaign.table()["reason"][0]


def test_a_program_that_is_not_there_is_named_before_anything_runs(written: Written, tmp_path: Path) -> None:
    campaign = Campaign.opened(written(FEW.replace("/bin/sh", "./nothing")), tmp_path / "kept")
    with pytest.raises(UsageError, match=r"programs\.told\.command: .*/nothing: no such program"):
        run_campaign(campaign)
    assert not (tmp_path / "kept" / "runs").exists()


def test_two_cannot_run_one_campaign(
    written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = written(FEW)
    statuses: list[int] = []

    def start_another(happened: CampaignEvent) -> None:
        if not statuses:
            statuses.append(run_command("campaign", "run", file))

    run_campaign(Campaign.opened(file, tmp_path / "tried"), report=start_another)
    assert statuses == [1]
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert f"another campaign run uses it (process {os.getpid()} on" in told
    assert set(Campaign.opened(file, tmp_path / "tried").table()["state"]) == {"done"}


def test_a_journal_that_was_cut_off_goes_on(written: Written, tmp_path: Path) -> None:
    campaign = Campaign.opened(written(FEW), tmp_path / "kept")
    run_campaign(campaign)
    journal = campaign.directory / "journal.jsonl"
    whole = journal.read_bytes()
    lines = whole.splitlines(keepends=True)
    assert len(lines) == 8  # a start and an end of each of four runs
    # Nothing, the end of a line, and the midst of a start and of an end.
    ends = [0, len(lines[0]), len(lines[0]) + 9, len(b"".join(lines[:6])) + 30, len(whole) - 1]
    for end in ends:
        journal.write_bytes(whole[:end])
        run_campaign(campaign)
        assert set(campaign.table()["state"]) == {"done"}
        # All events from before the cut are still there, and every later line is complete.
        assert sum(event["event"] == "ended" for event in events(campaign.directory)) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.long)])
def test_a_campaign_that_is_killed_ends_whole(written: Written, tmp_path: Path, kills: int) -> None:
    log = tmp_path / "log"
    file = written(COUNTED.replace("LOG", str(log)))
    journal = tmp_path / "counted" / "journal.jsonl"
    chance = random.Random(7)
    signals = [signal.SIGKILL, signal.SIGINT, signal.SIGTERM]
    command = [sys.executable, "-m", "haloscope.cli", "campaign", "run", str(file)]

    def size() -> int:
        return journal.stat().st_size if journal.exists() else 0

    for kill in range(kills):
        # A line has about 70 bytes; the kill comes after some lines, or in the midst of what follows.
        until = size() + chance.randrange(1, 400)
        process = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        end = time.monotonic() + HANG
        while size() < until and process.poll() is None:
            assert time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(signals[kill % 3])
        process.wait()
    subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    campaign = Campaign.opened(file, tmp_path / "counted")
    assert set(campaign.table()["state"]) == {"done"}
    # Only a run that a Ctrl-C ended is run again, and it may have written its line by then.
    counts = Counter(log.read_text().split())
    noted = events(campaign.directory)
    ended = [event for event in noted if event.get("outcome") == "interrupted"]
    assert set(counts) == {str(n) for n in range(1, 13)}
    assert counts.total() - 12 <= len(ended)
    assert not list(campaign.directory.rglob("*.part"))
    done = [event["run"] for event in noted if event.get("outcome") == "done"]
    assert len(done) == len(set(done)) == 12


def test_a_full_disk_keeps_what_ended(
    written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = Campaign.opened(written(FEW), tmp_path / "kept")
    noted, write = 0, os.write

    def full(file: int, data: bytes) -> int:
        nonlocal noted
        noted += data.startswith(b'{"event": "ended"')
        if noted == 3:
            raise OSError(28, "No space left on device")
        return write(file, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OutputError, match="No space left on device; finished runs are saved"):
        run_campaign(campaign)
    monkeypatch.undo()
    before = campaign.table().filter(campaign.table()["state"] == "done")["run"].to_list()
    assert len(before) == 2
    run_campaign(campaign)
    assert set(campaign.table()["state"]) == {"done"}
    assert set(campaign.table()["attempts"]) == {1}  # the third had ended, and was found


def test_systems_that_are_this_machine_take_turns(written: Written, tmp_path: Path) -> None:
    text = FEW.replace("  here: {cores: 64", '  other: {cores: 64, launch: ""}\n  here: {cores: 64')
    campaign = Campaign.opened(written(text.replace("'echo", "'sleep 0.1; echo")), tmp_path / "kept")
    running, most, started = 0, 0, []

    def told(happened: CampaignEvent) -> None:
        nonlocal running, most
        running += 1 if happened.what == "started" else -1
        most = max(most, running)
        if happened.what == "started":
            started.append(happened.run)

    run_campaign(campaign, report=told)
    assert most == 1
    assert started == [point.name for point in campaign.points]
