"""What may go wrong around a campaign: launchers, clocks, disks, batch systems; and what a terminal shows."""

from __future__ import annotations

import json
import os
import pty
import resource
import subprocess
import sys
import threading
import time
from itertools import count
from pathlib import Path

import pytest

from haloscope import LaunchError, OutputError
from haloscope.reproduce.campaign import Campaign, CampaignEvent, run_campaign
from support.campaigns import BASE, Written, events
from support.limits import HANG

FEW = BASE + "experiments:\n  few: {program: told, ranks: [8, 16]}\nrepetitions: 2\n"
FAILING = "import sys; print('no slots', file=sys.stderr); sys.exit(213)"
# A batch system in a few lines: `sbatch` runs the script at once, but refuses as often as a file says.
SBATCH = """#!/bin/sh
cd "$(dirname "$0")"
left=$(cat refusals)
if [ "$left" -gt 0 ]; then
  echo $((left - 1)) >refusals
  echo "sbatch: error: Batch job submission failed: Unable to contact slurm controller" >&2
  exit 1
fi
echo x >>submitted
export SLURM_JOB_ID=$(wc -l <submitted)
for last; do :; done
setsid sh "$last" >/dev/null 2>&1 &
echo "Submitted batch job $SLURM_JOB_ID"
"""


# An sbatch that runs an array's tasks one after the other, and appends its arguments to the file `asked`.
ARRAYS = """#!/bin/sh
echo "$@" >>"$(dirname "$0")/asked"
while :; do
  case $1 in
    --array=0-*) last=${1#--array=0-}; last=${last%\\%*} ;;
    -*) ;;
    *) break ;;
  esac
  shift
done
export last
setsid sh -c 'for task in $(seq 0 $last); do SLURM_ARRAY_TASK_ID=$task sh "$@"; done' - "$@" >/dev/null 2>&1 &
echo "7;emulated"
"""


@pytest.mark.parametrize(
    ("launch", "said"),
    [
        (f'{sys.executable} -c "{FAILING}"', "exit status 213: no slots"),
        ("/bin/false", "exit status 1"),
        ("/nowhere/mpiexec", "/nowhere/mpiexec: No such file or directory"),
    ],
)
def test_a_launcher_that_fails_is_told_and_the_rest_is_tried(
    written: Written, tmp_path: Path, launch: str, said: str
) -> None:
    text = FEW.replace(
        "  plain: {watch: false}\n", "  plain: {watch: false}\n  bad: {watch: false, launch: LAUNCH}\n"
    )
    campaign = Campaign.opened(written(text.replace("LAUNCH", json.dumps(launch))), tmp_path / "kept")
    run_campaign(campaign)
    states = {(row["variant"], row["state"]) for row in campaign.table().iter_rows(named=True)}
    assert states == {("plain", "done"), ("bad", "failed")}
    failed = campaign.table().filter(campaign.table()["variant"] == "bad")
    assert set(failed["attempts"]) == {2}
    assert all(said in reason for reason in failed["reason"])


def test_a_clock_that_jumps_changes_nothing(
    written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jumps = count()

    def jumping() -> float:
        number = next(jumps)
        return 1.7e9 + 86400.0 * (number if number % 2 else -number)

    monkeypatch.setattr(time, "time", jumping)
    monkeypatch.setattr(time, "time_ns", lambda: int(jumping() * 1e9))
    campaign = Campaign.opened(written(FEW), tmp_path / "kept")
    run_campaign(campaign)
    table = campaign.table()
    assert set(table["state"]) == {"done"}
    assert set(table["attempts"]) == {1}
    assert all(0 <= seconds < HANG for seconds in table["seconds"])  # a jump is of days


def test_seconds_of_a_run_are_none_of_a_clock_that_jumps(written: Written, tmp_path: Path) -> None:
    """A clock that goes back three days each time it is read, in the process that starts the program."""
    (tmp_path / "sitecustomize.py").write_text(
        "import itertools, time\nclock, days = time.time, itertools.count(0, -3)\n"
        "time.time = lambda: clock() + 86400 * next(days)\n"
    )
    # A run prints the command of the process that started it.
    text = FEW.replace("'echo", "'cat /proc/$PPID/cmdline; echo")
    campaign = Campaign.opened(written(text), tmp_path / "kept")
    run_campaign(campaign)
    place = campaign.place(campaign.points[0].name, 1)
    words = (place / "stdout").read_bytes().decode().split("\0")
    (script,) = [word for word in words if word.endswith(".py")]
    (place / "result.json").unlink()
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    subprocess.run([sys.executable, script, place], env=environment, check=True)
    assert 0 <= json.loads((place / "result.json").read_text())["seconds"] < HANG


def test_a_disk_that_is_full_keeps_what_ended(written: Written, tmp_path: Path) -> None:
    campaign = Campaign.opened(written(FEW), tmp_path / "kept")
    run_campaign(campaign)
    whole = (campaign.directory / "journal.jsonl").read_bytes()
    more = Campaign.opened(written(FEW.replace("repetitions: 2", "repetitions: 3")), tmp_path / "kept")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 100, before[1]))  # a line of the journal fits
    try:
        with pytest.raises(OutputError, match=r"File too large; .*make room"):
            run_campaign(more)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (campaign.directory / "journal.jsonl").read_bytes().startswith(whole)
    run_campaign(more)
    assert set(more.table()["state"]) == {"done"}
    done = [event["run"] for event in events(campaign.directory) if event.get("outcome") == "done"]
    assert len(done) == len(set(done)) == 6


def batch_system(directory: Path, sbatch: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a batch system without a readable queue on PATH. Return its directory."""
    tools = directory / "tools"
    tools.mkdir()
    for name, text in (("sbatch", sbatch), ("squeue", "#!/bin/sh\nexit 1\n")):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    return tools


@pytest.mark.slow
def test_a_hundred_runs_alike_become_an_array(
    written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = batch_system(tmp_path, ARRAYS, monkeypatch)
    numbers = list(range(100))
    text = BASE.replace("{ranks/8}", "{n}").replace('launch: ""', 'launch: "", executor: slurm')
    text += f"experiments:\n  all: {{program: told, ranks: 8, vary: {{n: {numbers}}}}}\n"
    campaign = Campaign.opened(written(text), tmp_path / "kept")
    run_campaign(campaign)
    table = campaign.table()
    assert set(table["state"]) == {"done"}
    assert sorted(table["time"].to_list()) == numbers
    jobs = {event["job"] for event in events(campaign.directory) if event["event"] == "submitted"}
    assert jobs == {f"7_{number}" for number in numbers}
    (asked,) = (tools / "asked").read_text().splitlines()
    assert {"--parsable", "--array=0-99%64", "--nodes=1", "--ntasks-per-node=8"} < set(asked.split())


def test_a_batch_system_that_is_away_for_a_while_is_asked_again(
    written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = batch_system(tmp_path, SBATCH, monkeypatch)
    begin, clock = time.monotonic(), time.monotonic
    # It is asked again after 10 seconds, which pass in a tenth of one.
    monkeypatch.setattr(time, "monotonic", lambda: begin + 100 * (clock() - begin))
    file = written(FEW.replace('launch: ""', 'launch: "", executor: slurm'))
    (tools / "refusals").write_text("1")
    with pytest.raises(LaunchError, match="Unable to contact slurm controller"):
        run_campaign(Campaign.opened(file, tmp_path / "never"))  # it has taken none: something else is wrong
    happened: list[CampaignEvent] = []

    def refuse_later(each: CampaignEvent) -> None:
        if each.what == "started" and len(happened) == 0:
            (tools / "refusals").write_text("3")
        happened.append(each)

    campaign = Campaign.opened(file, tmp_path / "kept")
    run_campaign(campaign, report=refuse_later)
    assert set(campaign.table()["state"]) == {"done"}
    assert sum(each.what == "waiting" for each in happened) == 3
    assert len((tools / "submitted").read_text().split()) == 4
    # Refused jobs have no directory, and none of their attempts is done.
    refused = [event for event in events(campaign.directory) if event.get("outcome") == "cut off"]
    assert len(refused) == 3
    assert not any(campaign.place(event["run"], event["attempt"]).exists() for event in refused)


@pytest.mark.slow
def test_a_terminal_shows_how_far_it_is(written: Written, tmp_path: Path) -> None:
    """The last of four runs goes on until the terminal has shown it."""
    shown_file = tmp_path / "shown"
    wait = f"echo x >>{tmp_path}/begun; [ $(wc -l <{tmp_path}/begun) -lt 4 ] || "
    wait += f"until [ -e {shown_file} ]; do sleep 0.05; done; "
    ours, theirs = pty.openpty()
    shown = bytearray()

    def read() -> None:
        while True:
            try:
                shown.extend(os.read(ours, 4096))
            except OSError:  # the terminal is closed
                break
            if b"3 done, 1 running, last few-here-told-" in shown:
                shown_file.touch()

    reader = threading.Thread(target=read)
    reader.start()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "haloscope.cli",
            "campaign",
            "run",
            written(FEW.replace("'echo", f"'{wait}echo")),
        ],
        cwd=tmp_path,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=False,
    )
    os.close(theirs)
    reader.join()
    os.close(ours)
    assert done.returncode == 0
    assert b"4 runs: 4 done" in done.stdout


def test_what_is_kept_beside_a_run_says_how_it_was(written: Written, tmp_path: Path) -> None:
    text = FEW.replace(
        'launch: ""', 'launch: "", network: Slingshot, environment: {OMP_NUM_THREADS: "{ranks}"}'
    )
    campaign = Campaign.opened(written(text), tmp_path / "kept")
    run_campaign(campaign)
    point = campaign.points[0]
    place = campaign.place(point.name, 1)
    asked = json.loads((place / "run.json").read_text())
    result = json.loads((place / "result.json").read_text())
    environment = json.loads((place / "environment.json").read_text())
    assert asked["command"].startswith("/bin/sh -c 'echo ")
    assert asked["command"].endswith(f" {point.ranks} {point.ranks // 8}")
    assert (asked["system"]["network"], asked["ranks"]) == ("Slingshot", point.ranks)
    assert asked["haloscope"]
    assert result["kernel"].startswith("Linux ")
    assert environment["OMP_NUM_THREADS"] == str(point.ranks)
    assert environment["PATH"] == os.environ["PATH"]
    assert "PYTEST_CURRENT_TEST" not in environment
    assert (place / "stdout").read_text().startswith(f"ranks={point.ranks} ")
    assert (campaign.directory / "hosts" / f"{result['host']}.txt").stat().st_size > 100
