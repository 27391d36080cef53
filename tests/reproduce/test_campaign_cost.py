"""What `campaign` adds to a run on this machine, in counts, which are the same on a busy machine.

benchmarks/reproduce/run.py has it in milliseconds.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from haloscope.reproduce.campaign import Campaign
from support.campaigns import BASE, Written
from support.processes import run_program

FEW = BASE + "experiments:\n  few: {program: told, ranks: [8, 16]}\nrepetitions: 3\n"
# Prepended to a script: prints which programs the script started, and which modules it loaded.
_TOLD = """
import atexit, json, sys
started = []
def note(event, words):
    if event in ("os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"):
        started.append([event, *map(str, words[1] if event == "subprocess.Popen" else [])])
sys.addaudithook(note)
atexit.register(lambda: print(json.dumps({"started": started, "modules": sorted(sys.modules)})))
"""
_RUN = """
from pathlib import Path
from haloscope.reproduce.campaign import Campaign, run_campaign
run_campaign(Campaign.opened(Path(sys.argv[1]), Path(sys.argv[2])))
"""
_EXECUTE = """
import runpy
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def told(options: list[str], program: str, *words: str | Path) -> dict[str, Any]:
    """Run Python in a separate process.

    Return the programs that it started and the modules that it loaded.
    """
    command = [sys.executable, *options, "-c", _TOLD + program, *map(str, words)]
    found: dict[str, Any] = json.loads(run_program(command).stdout.splitlines()[-1])
    return found


@pytest.mark.slow
def test_a_run_costs_one_process_that_loads_no_library(written: Written, tmp_path: Path) -> None:
    campaign = Campaign.opened(written(FEW), tmp_path / "kept")
    found = told([], _RUN, campaign.file, campaign.directory)
    assert set(campaign.table()["state"]) == {"done"}
    places = [str(campaign.place(point.name, 1)) for point in campaign.points]
    assert [words[-1] for words in found["started"]] == places  # nothing else for any run
    command = found["started"][0]
    assert {"-I", "-S"} < set(command)
    (executor,) = [word for word in command if word.endswith(".py")]
    # The process of a run starts the program, and nothing else.
    Path(places[0], "result.json").unlink()
    found = told(["-I", "-S"], _EXECUTE, executor, places[0])
    assert [words[1:] for words in found["started"]] == [list(campaign.points[0].words)]
    loaded = {name.partition(".")[0] for name in found["modules"]}
    assert "json" in loaded
    assert loaded <= sys.stdlib_module_names | {"__main__"}
    assert "site" not in found["modules"]
