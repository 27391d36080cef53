"""Campaigns that are watched: profiles, their metadata, the report, and a bundle for others."""

from __future__ import annotations

import json
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from haloscope import ProfileError, explain
from haloscope.reproduce.campaign import Campaign, open_bundle, write_report
from support.campaigns import RING
from support.command import run_command
from support.mpi import Mpi
from support.page_kinds import write_campaign
from support.pages import page_data
from support.programs import Compiler
from support.readers import read_by

CAMPAIGN = """
campaign: rings
systems:
  here: {{cores: 2, oversubscribe: true, launch: {launch}}}
programs:
  ring:
    command: {program} {{n}}
    problem: n*ranks
    figures: {{moved: "moved ([0-9]+)"}}
    regions: [halo]
experiments:
  weak: {{program: ring, scaling: weak, ranks: [2, 3], parameters: {{n: 100}}}}
variants:
  watched: {{watch: {{callsites: true}}}}
  late: {{inject: "constant:1ms"}}
"""


@pytest.fixture(scope="module")
def place(any_mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the campaign `rings.yaml`, which has run, and its bundle `rings.zip`."""
    directory = tmp_path_factory.mktemp("rings")
    (directory / "ring.c").write_text(RING)
    launch = json.dumps(" ".join([*map(str, any_mpi.launch(2)[:-1]), "{ranks}"]))
    text = CAMPAIGN.format(launch=launch, program=compiler(any_mpi, directory / "ring.c"))
    (directory / "rings.yaml").write_text(text, "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        for name, value in any_mpi.environment().items():
            patch.setenv(name, value)
        assert run_command("campaign", "run", "rings.yaml") == 0
        assert run_command("campaign", "bundle", "rings.yaml", "-o", "rings.zip") == 0
    return directory


def rows_of(place: Path) -> list[dict[str, Any]]:
    return Campaign.opened(place / "rings.yaml", place / "rings").table().to_dicts()


def test_a_campaign_becomes_a_page(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = rows_of(place)
    assert [row["state"] for row in rows] == ["done"] * 4
    for row in rows:
        assert row["moved"] == 100 * row["ranks"]
        with explain.open(row["profile"]) as profile:
            halo = profile.table("regions", region="halo").row(0, named=True)
            said = dict(profile.table("info").select("key", "value").iter_rows())
        # What the program says, the profile counts, and the specification asks for agree.
        assert halo["bytes_sent_total"] == 8 * row["moved"] == 8 * row["problem"]
        assert (halo["sends_total"], halo["ranks"]) == (row["ranks"], row["ranks"])
        assert {"variant": row["variant"], "n": "100", "campaign": "rings"}.items() <= {
            key: str(value).strip('"') for key, value in said.items()
        }.items()
    monkeypatch.chdir(place)
    page = tmp_path / "page.html"
    assert (
        run_command("campaign", "report", "rings.yaml", "-o", page, "--by", "variant", "--format", "json")
        == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert {(row["variant"], row["ranks"], row["runs"]) for row in told} == {
        (variant, ranks, 1) for variant in ("watched", "late") for ranks in (2, 3)
    }
    assert page.stat().st_size > 10_000


def parts_of(bundle: Path) -> tuple[set[str], list[dict[str, Any]]]:
    """Return the files that a crate describes, and its runs."""
    described = json.loads(zipfile.ZipFile(bundle).read("ro-crate-metadata.json"))
    known = {entity["@id"]: entity for entity in described["@graph"]}
    actions = [entity for entity in known.values() if entity["@type"] == "CreateAction"]
    return {part["@id"] for part in known["./"]["hasPart"]}, actions


def test_a_campaign_becomes_a_bundle(place: Path, tmp_path: Path) -> None:
    bundle = place / "rings.zip"
    assert run_command("report", bundle, "-o", tmp_path / "again.html") == 0
    assert page_data(tmp_path / "again.html")["title"] == "rings: 4 of 4 runs done"
    named, actions = parts_of(bundle)
    assert named | {"ro-crate-metadata.json"} == set(zipfile.ZipFile(bundle).namelist())
    assert len(actions) == 4
    assert {end["@id"] for action in actions for end in action["result"]} <= named


@pytest.mark.long
def test_another_reader_finds_the_same_in_a_bundle(place: Path) -> None:
    """Each run, with its inputs, results and times."""
    crate = read_by("read_crate", place / "rings.zip")
    assert crate["name"] == "rings"
    assert set(crate["files"]) == parts_of(place / "rings.zip")[0]
    assert {run["name"] for run in crate["runs"]} == {row["run"] for row in rows_of(place)}
    assert len(crate["runs"]) == 4
    for run in crate["runs"]:
        assert run["needed"] == ["campaign.yaml", f"runs/{run['name']}/1/run.json"]
        assert f"runs/{run['name']}/1/profile.halo" in run["left"]
        assert datetime.fromisoformat(run["begun"]) <= datetime.fromisoformat(run["ended"])


def test_the_page_begins_with_states_cost_and_figures(tmp_path: Path) -> None:
    for name, failed in (("some", 1), ("none", 0)):
        (tmp_path / name).mkdir()
        campaign = write_campaign(tmp_path / name, failed)
        write_report(campaign, tmp_path / f"{name}.html")
        data = page_data(tmp_path / f"{name}.html")
        assert data["title"] == f"rings: {6 - failed} of 6 runs done"
        tiles = {title: value for title, value, _ in data["figures"]}
        assert tiles["failed"] == str(failed)
        assert tiles["moved"] == "100"
        done = [row["ranks"] for row in campaign.table().to_dicts() if row["state"] == "done"]
        # A run takes 8 s over its ranks, on two cores.
        assert float(tiles["core-hours"]) == pytest.approx(sum(16 / n for n in done) / 3600, rel=0.01)
        first, second = data["sections"][:2]
        assert (first["name"], second["name"]) == ("campaign", "scaling")
        assert [line.partition(": ")[2] for line in first["text"]] == [
            "failed: exit status 1: no memory"
        ] * failed
        assert ("failed" in [title for title, _ in first["tables"][0]["columns"]]) == bool(failed)
        assert str(tmp_path) not in json.dumps(data)


def test_a_bundle_without_a_journal_is_a_page_about_its_profiles(place: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(place / "rings.zip") as whole, zipfile.ZipFile(tmp_path / "b.zip", "w") as part:
        for name in whole.namelist():
            if name != "journal.jsonl":
                part.writestr(name, whole.read(name))
    assert run_command("report", tmp_path / "b.zip", "-o", tmp_path / "p.html") == 0
    assert page_data(tmp_path / "p.html")["title"] == "ring (4 runs)"


def test_a_bundle_is_not_trusted(tmp_path: Path) -> None:
    bundle = tmp_path / "all.zip"
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ro-crate-metadata.json", "{}")
        archive.writestr("runs/../../../../etc/1/profile.halo", "x")
        archive.writestr("runs/large/1/profile.halo", bytes(1 << 24))
    with pytest.raises(ProfileError, match="too large for a bundle"), open_bundle(bundle):
        pass
    with zipfile.ZipFile(bundle, "w") as archive:
        archive.writestr("ro-crate-metadata.json", "{}")
        archive.writestr("runs/../1/profile.halo", "x")
    with pytest.raises(ProfileError, match="no profiles"), open_bundle(bundle):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.zip"]


def test_an_empty_campaign_says_so(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(
        "campaign: a\nsystems: {here: {cores: 1, launch: ''}}\nprograms: {p: {command: /bin/true}}\n"
        "experiments: {e: {program: p, ranks: 1}}\n"
    )
    assert Campaign.opened(file, tmp_path / "kept").table()["state"].to_list() == ["waiting"]
