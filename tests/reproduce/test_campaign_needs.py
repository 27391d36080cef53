"""Requirements of runs: cores and memory of a system, modules, and input files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from haloscope.reproduce.campaign import Campaign, run_campaign
from support.campaigns import BASE, Written

ONE = BASE + "experiments:\n  one: {program: told, ranks: 8}\n"
# `module` is a function of login shells, as on clusters.
MODULES = """
module() {
  [ "$1" = load ] || return 2
  shift
  for name; do
    case $name in
      absent) echo "no module absent" >&2; return 1 ;;
      *) export LOADED_$name="loaded 'as it is'
in two lines" ;;
    esac
  done
}
"""


@pytest.mark.parametrize(
    ("system", "program", "reason"),
    [
        ("gpus: 4", "gpus: '1'", "needs 8 GPUs on a node, which has 4"),
        ("gpus: 8", "gpus: '1'", None),
        ("gpus: 4, nodes: 2", "gpus: '1', cores: '16'", None),
        ("longest: 10m", "seconds: '3600/ranks'", None),
        ("longest: 10m", "seconds: '900.0'", "takes 15 min; the limit is 10 min"),
        ("longest: 10m", "limit: 2h", "may take 2 h; the limit is 10 min"),
        ("gpus: 0", "cores: '65'", "a rank needs 65 cores; a node has 64"),
        ("gpus: 0", "requires: [ranks % 3 == 0]", "ranks % 3 == 0 does not hold"),
        ("gpus: 0", "requires: [ranks % 4 == 0]", None),
    ],
)
def test_what_a_system_has_no_room_for_is_left_out(
    written: Written, system: str, program: str, reason: str | None
) -> None:
    text = ONE.replace("cores: 64", f"cores: 64, {system}")
    text = text.replace("    figures", f"    {program.replace(', ', chr(10) + '    ')}\n    figures")
    (point,) = Campaign.opened(written(text)).points
    assert point.impossible == reason


@pytest.fixture
def login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".bash_profile").write_text(MODULES)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.usefixtures("login")
def test_modules_are_loaded_before_a_run(written: Written, tmp_path: Path) -> None:
    text = ONE.replace("cores: 64", "cores: 64, modules: [gcc, openmpi]")
    text = text.replace('"ranks=$0', '"$LOADED_gcc, $LOADED_openmpi ranks=$0')
    campaign = Campaign.opened(written(text), tmp_path / "kept")
    run_campaign(campaign)
    assert campaign.table()["state"].to_list() == ["done"]
    loaded = "loaded 'as it is'\nin two lines"
    said = (campaign.place(campaign.points[0].name, 1) / "stdout").read_text()
    assert said.startswith(f"{loaded}, {loaded} ranks=8")


@pytest.mark.usefixtures("login")
def test_a_module_that_is_not_there_is_told(written: Written, tmp_path: Path) -> None:
    text = ONE.replace("cores: 64", "cores: 64, modules: [gcc, absent]") + "retries: 0\n"
    campaign = Campaign.opened(written(text), tmp_path / "kept")
    run_campaign(campaign)
    assert campaign.table()["state"].to_list() == ["failed"]
    assert "module load gcc absent failed" in campaign.table()["reason"][0]
    assert not (campaign.place(campaign.points[0].name, 1) / "stdout").exists()


def test_inputs_are_beside_a_run(written: Written, tmp_path: Path) -> None:
    (tmp_path / "in.melt").write_text("time=0.25\n")
    text = ONE.replace("command:", "inputs: [in.melt]\n    command:").replace("'echo", "'cat in.melt; true ")
    campaign = Campaign.opened(written(text), tmp_path / "kept")
    run_campaign(campaign)
    assert campaign.table()["time"].to_list() == [0.25]
    asked = json.loads((campaign.place(campaign.points[0].name, 1) / "run.json").read_text())
    assert asked["inputs"] == [str(tmp_path / "in.melt")]
