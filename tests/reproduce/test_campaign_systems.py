"""One specification on several systems and in every variant: the effects of changed lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import caliperreader
import pytest

from haloscope import ComponentError, LaunchError, explain
from haloscope.base import paths
from haloscope.base.building import applications, hypre_options
from haloscope.hide import build_fem
from haloscope.reproduce.campaign import Campaign, run_campaign
from support.campaigns import BASE, RING, Written
from support.command import run_command
from support.missing import missing
from support.mpi import CHECKOUT, NAMES, REMEDY, Mpi, find
from support.programs import Compiler
from support.recorder import library

Command = Callable[..., str]
# The line that moves it: `systems`.
MOVED = """
campaign: moved
systems: SYSTEMS
programs:
  ring:
    build: "sh build.sh {system}"
    command: "./ring-{system} {n}"
    problem: n*ranks
    figures: {moved: "moved ([0-9]+)"}
    regions: [halo]
experiments:
  all:
    program: ring
    systems: [SYSTEM]
    scaling: weak
    ranks: 2
    parameters: {n: 1000}
"""
VARIANTS = """
campaign: changed
systems: SYSTEMS
programs:
  ring: {command: PROGRAM 1000, regions: [halo], figures: {moved: "moved ([0-9]+)"}}
experiments: {all: {program: ring, ranks: 2}}
variants:
  watched: {}
  traced: {watch: {trace: true}}
  series: {watch: {series: [halo]}}
  sites: {watch: {callsites: true, depth: 4}}
  late: {inject: "constant:50ms"}
  shm: {shm: true}
  caliper: {caliper: "spot(output=ring.cali)"}
  bare: {watch: false}
"""
BUNDLED = """
campaign: bundled
systems: SYSTEMS
programs:
  multigrid:
    application: poisson
    arguments: --level {level} --solver gmg
    figures: {unknowns: "unknowns +([0-9]+)", error: "error +([0-9.e+-]+)"}
experiments: {all: {program: multigrid, ranks: 2, parameters: {level: 2}}}
"""
# The others, as small as can be: arguments, and a region that the profile must have.
APPLICATIONS = {
    "amg": ("-P {ranks} 1 1 -n 4 4 4", "MatVecComm"),
    "amr": ("--npx {ranks} --nx 4 --ny 4 --nz 4 --num_refine 0 --num_tsteps 1", "comm"),
    "cg": ("--nx 8 --ny 8 --nz 8 --iterations 1", "halo_exchange"),
    "hydro": ("-rs 0 -ms 1", "halo_exchange"),
    "sweep": ("--procs {ranks},1,1 --zones 4,4,4 --groups 16 --quad 8 --niter 1", "sweep_comm"),
}


def system_of(mpi: Mpi) -> dict[str, Any]:
    words = [*mpi.launch(0)[:-1], "{ranks}"]
    return {"cores": 2, "launch": " ".join(words), "environment": dict(mpi.env)}


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """`campaign(words)` is what the verb prints, in a directory of its own."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str | Path) -> str:
        status = run_command("campaign", *words)
        printed = capsys.readouterr()
        assert status == 0, printed.err
        return printed.out

    return run


def first_of(product: str) -> Mpi:
    """The first MPI of a product that is installed."""
    names = [name for name in NAMES if name.startswith(product)]
    found = next(filter(None, map(find, names)), None)
    return found or missing(f"no {product} is installed: {REMEDY[names[0]]}")


def halo_of(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row of the region in the profile of a run."""
    with explain.open(row["profile"]) as profile:
        return profile.table("regions", region="halo").row(0, named=True)


@pytest.mark.slow
def test_one_line_moves_a_campaign_to_another_mpi(campaign: Command, tmp_path: Path) -> None:
    mpis = {product: first_of(product) for product in ("openmpi", "mpich")}
    (tmp_path / "ring.c").write_text(RING)
    compilers = "".join(f"{name}) compiler={mpi.mpicc} ;;\n" for name, mpi in mpis.items())
    build = f"case $1 in\n{compilers}esac\nexec $compiler -I{CHECKOUT / 'include'} -o ring-$1 ring.c\n"
    (tmp_path / "build.sh").write_text(build)
    text = MOVED.replace("SYSTEMS", json.dumps({name: system_of(mpi) for name, mpi in mpis.items()}))
    file, rows = tmp_path / "moved.yaml", []
    for name in mpis:
        file.write_text(text.replace("[SYSTEM]", f"[{name}]"), "utf-8")
        campaign("run", file)
        rows += json.loads(campaign("status", file, "--format", "json"))
    assert [(row["system"], row["state"], row["attempts"]) for row in rows] == [(n, "done", 1) for n in mpis]
    halos = [halo_of(row) for row in rows]
    for column in """
        ranks sends_total bytes_sent_total recvs_total bytes_recv_total largest_message
    """.split():
        assert halos[0][column] == halos[1][column]
    assert halos[0]["bytes_sent_total"] == 8 * rows[0]["problem"] == 8 * rows[0]["moved"]
    # Together they are done: nothing runs again.
    file.write_text(text.replace("    systems: [SYSTEM]\n", ""), "utf-8")
    campaign("run", file)
    both = json.loads(campaign("status", file, "--format", "json"))
    assert {(row["state"], row["attempts"]) for row in both} == {("done", 1)}


def marked_for_caliper(mpi: Mpi, compiler: Compiler, directory: Path) -> Path:
    """The ring with Caliper's markers, linked to the libcaliper next to the recorder."""
    text = RING.replace("haloscope/region.h", "caliper/cali.h").replace("HALOSCOPE_COMM", "CALI_MARK_COMM")
    (directory / "ring.c").write_text(text)
    beside = library(mpi).parent
    linked = [f"-L{beside}", "-lcaliper", f"-Wl,-rpath,{beside}"]
    return compiler(mpi, directory / "ring.c", [f"-I{paths.caliper_include()}", *linked])


def test_every_variant_leaves_its_mark(
    campaign: Command, any_mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    mpi = any_mpi
    program = marked_for_caliper(mpi, compiler, tmp_path)
    file = tmp_path / "changed.yaml"
    text = VARIANTS.replace("SYSTEMS", json.dumps({"here": system_of(mpi)}))
    file.write_text(text.replace("PROGRAM", str(program)), "utf-8")
    campaign("run", file)
    rows = {row["variant"]: row for row in json.loads(campaign("status", file, "--format", "json"))}
    assert {row["state"] for row in rows.values()} == {"done"}
    assert rows.pop("bare")["profile"] is None
    halos = {variant: halo_of(row) for variant, row in rows.items()}
    assert {halo["bytes_sent_total"] for halo in halos.values()} == {16_000}
    tables: dict[str, dict[str, int]] = {}
    for variant, row in rows.items():
        with explain.open(row["profile"]) as profile:
            tables[variant] = {name: profile.table(name).height for name in ("sites", "series")}
            tables[variant]["traced"] = profile.has_trace
    assert {name for name, found in tables.items() if found["sites"]} == {"sites"}
    assert {name for name, found in tables.items() if found["series"]} == {"series"}
    assert {name for name, found in tables.items() if found["traced"]} == {"traced"}
    assert halos["late"]["time_mean"] > 0.05  # as long as a message takes at least
    places = {variant: Path(row["profile"]).parent for variant, row in rows.items()}
    asked = {variant: json.loads((place / "run.json").read_text()) for variant, place in places.items()}
    assert asked["caliper"]["environment"]["CALI_CONFIG"] == "spot(output=ring.cali)"
    written = list((tmp_path / "changed" / "runs").rglob("*.cali"))
    assert written == [places["caliper"] / "work" / "ring.cali"]
    reader = caliperreader.CaliperReader()
    reader.read(str(written[0]))
    assert [record["path"][-1] for record in reader.records] == ["halo"]
    # All are one command, in front of which is what the variant does.
    assert len({each["command"] for each in asked.values()}) == 1
    for variant, verb in (("late", "inject"), ("shm", "shm")):
        assert verb in asked[variant]["words"]


@pytest.mark.long
@pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
def test_the_bundled_application_with_libraries_is_one_as_well(
    campaign: Command, mpi: Mpi, tmp_path: Path
) -> None:
    try:
        build_fem(quiet=True)
    except ComponentError as error:
        missing(str(error))
    file = tmp_path / "bundled.yaml"
    text = BUNDLED.replace("SYSTEMS", json.dumps({"here": system_of(mpi)}))
    file.write_text(text, "utf-8")
    campaign("run", file)
    (row,) = json.loads(campaign("status", file, "--format", "json"))
    assert row["state"] == "done"
    assert row["unknowns"] > 0
    assert 0 < row["error"] < 0.1
    with explain.open(row["profile"]) as profile:
        assert profile.info["program"] == "poisson"
        assert profile.table("regions", region="<program>")["sends_total"][0] > 0


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n == "cg" else pytest.mark.long) for n in APPLICATIONS]
)
def test_each_bundled_application_is_one_word(
    campaign: Command, any_mpi: Mpi, tmp_path: Path, name: str
) -> None:
    assert sorted(APPLICATIONS) == applications(with_libraries=True)
    if name == "amg":
        try:
            hypre_options(any_mpi.mpicxx)
        except ComponentError as error:
            missing(str(error))
    arguments, region = APPLICATIONS[name]
    specification = {
        "campaign": "words",
        "systems": {"here": system_of(any_mpi)},
        "programs": {name: {"application": name, "arguments": arguments, "regions": [region]}},
        "experiments": {name: {"program": name, "ranks": 2}},
    }
    file = tmp_path / "words.yaml"
    file.write_text(json.dumps(specification), "utf-8")
    campaign("run", file)
    (row,) = json.loads(campaign("status", file, "--format", "json"))
    assert (row["program"], row["state"], row["attempts"]) == (name, "done", 1)


def test_a_build_that_fails_names_its_log(written: Written, tmp_path: Path) -> None:
    text = BASE + "experiments:\n  a: {program: told, ranks: 2}\n"
    text = text.replace("    figures", "    build: [sh -c 'echo no compiler; exit 3']\n    figures")
    campaign = Campaign.opened(written(text), tmp_path / "kept")
    log = campaign.directory / "build-told-here.log"
    with pytest.raises(LaunchError, match=rf"programs.told.build: .* exit status 3; its output is in {log}"):
        run_campaign(campaign)
    assert log.read_text() == "no compiler\n"
    assert set(campaign.table()["state"]) == {"waiting"}
