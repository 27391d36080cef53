"""Campaigns that are watched: profiles, their metadata, the report, and a bundle for others."""

from __future__ import annotations

import json
import subprocess
import zipfile
from datetime import datetime
from pathlib import Path

import pytest

from haloscope import explain
from haloscope.base.errors import ProfileError
from haloscope.reproduce.lab import Campaign, unbundled
from support.campaigns import RING
from support.mpi import Mpi
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
  watched: {{watch: {{callsites: 1}}}}
  late: {{inject: "constant:1ms"}}
"""


@pytest.mark.slow
def test_a_campaign_becomes_a_page_and_a_bundle(
    haloscope: Path, mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    source = tmp_path / "ring.c"
    source.write_text(RING)
    file = tmp_path / "rings.yaml"
    launch = json.dumps(" ".join([*map(str, mpi.launch(2)[:-1]), "{ranks}"]))
    file.write_text(CAMPAIGN.format(launch=launch, program=compiler(mpi, source)), "utf-8")

    def lab(*words: str | Path) -> str:
        done = subprocess.run(
            [haloscope, *words],
            cwd=tmp_path,
            env=mpi.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    lab("lab", "run", file)
    rows = json.loads(lab("lab", "status", file, "--format", "json"))
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
    told = json.loads(lab("lab", "report", file, "-o", "page.html", "--by", "variant", "--format", "json"))
    assert {(row["variant"], row["ranks"], row["runs"]) for row in told} == {
        (variant, ranks, 1) for variant in ("watched", "late") for ranks in (2, 3)
    }
    assert (tmp_path / "page.html").stat().st_size > 10_000
    lab("lab", "bundle", file, "-o", "rings.zip")
    lab("report", "rings.zip", "-o", "again.html")
    crate = read_by("read_crate", tmp_path / "rings.zip")
    described = json.loads(zipfile.ZipFile(tmp_path / "rings.zip").read("ro-crate-metadata.json"))
    known = {entity["@id"]: entity for entity in described["@graph"]}
    named = {part["@id"] for part in known["./"]["hasPart"]}
    assert named | {"ro-crate-metadata.json"} == set(zipfile.ZipFile(tmp_path / "rings.zip").namelist())
    actions = [entity for entity in known.values() if entity["@type"] == "CreateAction"]
    assert len(actions) == 4
    assert {end["@id"] for action in actions for end in action["result"]} <= named
    # Another's reader finds the same: each run, with what it needed, what it left, and when.
    assert crate["name"] == "rings"
    assert set(crate["files"]) == named
    assert {run["name"] for run in crate["runs"]} == {row["run"] for row in rows}
    for run in crate["runs"]:
        assert run["needed"] == ["campaign.yaml", f"runs/{run['name']}/1/run.json"]
        assert f"runs/{run['name']}/1/profile.halo" in run["left"]
        assert datetime.fromisoformat(run["begun"]) <= datetime.fromisoformat(run["ended"])


def test_a_bundle_is_not_trusted(tmp_path: Path) -> None:
    bundle = tmp_path / "all.zip"
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ro-crate-metadata.json", "{}")
        archive.writestr("runs/../../../../etc/1/profile.halo", "x")
        archive.writestr("runs/large/1/profile.halo", bytes(1 << 24))
    with pytest.raises(ProfileError, match="far larger than it is"), unbundled(bundle):
        pass
    with zipfile.ZipFile(bundle, "w") as archive:
        archive.writestr("ro-crate-metadata.json", "{}")
        archive.writestr("runs/../1/profile.halo", "x")
    with pytest.raises(ProfileError, match="has no profiles"), unbundled(bundle):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.zip"]


def test_an_empty_campaign_says_so(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(
        "campaign: a\nsystems: {here: {cores: 1, launch: ''}}\nprograms: {p: {command: /bin/true}}\n"
        "experiments: {e: {program: p, ranks: 1}}\n"
    )
    assert Campaign.opened(file, tmp_path / "kept").table()["state"].to_list() == ["waiting"]
