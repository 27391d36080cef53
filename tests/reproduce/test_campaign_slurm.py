"""A campaign in a real batch system whose controller is killed and which loses a node."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from haloscope import explain
from haloscope.predict.placement import propose, write_placement
from haloscope.reproduce.campaign import Campaign
from support.campaigns import RING, events
from support.injected import PROGRAMS
from support.limits import HANG
from support.missing import missing
from support.mpi import Mpi
from support.placed import messages_between
from support.programs import Compiler
from support.slurm import Slurm, slurm, slurm_obstacle

pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True),  # built with PMIx, as srun is
]

NODES, CORES = 3, 2
# `srun` in place of a launcher, and one line in place of another system.
CAMPAIGN = """
campaign: batch
systems:
  emulated: {{executor: slurm, nodes: {nodes}, cores: {cores}, launch: "srun -N {{nodes}} -n {{ranks}}"}}
programs:
  ring:
    command: {program} {{n}} {{seconds}}
    parameters: {{n: 100, seconds: {seconds}}}
    limit: 10m
    figures: {{moved: "moved ([0-9]+)"}}
    regions: [halo]
experiments:
  one: {{program: ring, ranks: 2, vary: {{n: {several}}}}}
  two: {{program: ring, ranks: 4}}
retries: 3
"""
MANY = """
campaign: many
systems: {emulated: {executor: slurm, nodes: 1, cores: 2, launch: ""}}
programs:
  told:
    command: /bin/sh -c 'echo "n=$0"' {n}
    limit: 60
    figures: {n_told: "n=([0-9]+)"}
variants: {plain: {watch: false}}
experiments: {all: {program: told, ranks: 2, vary: {n: NUMBERS}}}
"""
ALIKE = 100  # from so many runs alike on, they are an array


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    reason = slurm_obstacle()
    if reason:
        missing(reason)
    with slurm(NODES, CORES, tmp_path_factory.mktemp("slurm")) as up:
        yield up


def until(holds: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until something holds, while a process goes on."""
    end = time.monotonic() + HANG
    while not holds():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.1)


def started(batch: Slurm, words: list[str | Path], place: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        batch.words(words),
        cwd=place,
        env=batch.cluster.environment(env=batch.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def campaign_of(
    place: Path, mpi: Mpi, compiler: Compiler, numbers: list[int], seconds: int
) -> tuple[Path, Campaign]:
    """Return the specification of runs of this duration (s), and the campaign."""
    (place / "ring.c").write_text(RING)
    program = compiler(mpi, place / "ring.c")
    text = CAMPAIGN.format(nodes=NODES, cores=CORES, program=program, several=numbers, seconds=seconds)
    (place / "batch.yaml").write_text(text, "utf-8")
    return place / "batch.yaml", Campaign.opened(place / "batch.yaml", place / "batch")


def test_a_campaign_runs_in_a_batch_system(
    batch: Slurm, haloscope: Path, mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    file, campaign = campaign_of(tmp_path, mpi, compiler, [1], seconds=0)
    running = started(batch, [haloscope, "campaign", "run", file], tmp_path)
    said, _ = running.communicate()
    assert running.returncode == 0, said
    assert len(campaign.points) == 2
    _all_are_whole(campaign)


@pytest.mark.long
def test_srun_puts_ranks_where_a_mapping_says(
    batch: Slurm, mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    """The file of `haloscope place -o` for the arbitrary distribution; it needs the whole batch system."""
    program = compiler(mpi, PROGRAMS / "apart.c", ["-Wall", "-Wextra"])
    hosts = batch.cluster.hosts[:2]
    # What the program sends: much to the rank half of all apart, a little to the next one.
    messages = [(rank, (rank + 2) % 4, 655360) for rank in range(4)]
    messages += [(rank, (rank + 1) % 4, 1000) for rank in range(4)]
    found = propose(
        messages_between(messages, [host for host in hosts for _ in range(2)]).write(tmp_path / "f.halo")
    )
    write_placement(found, tmp_path / "placement")
    groups = zip(found.nodes.names, found.groups, strict=True)
    promised = {rank: host for host, ranks in groups for rank in ranks}
    assert promised[0] == promised[2] != promised[1] == promised[3]

    def ran(*words: str) -> dict[int, tuple[str, int]]:
        """Return of each rank its host, and the bytes that it sent to others."""
        said = batch.run("env", *words, "-n", "4", program)
        rows = [line.split() for line in said.splitlines()]
        return {int(rank): (host, int(sent)) for rank, host, sent in rows}

    file = f"SLURM_HOSTFILE={tmp_path}/placement/hosts"
    placed = ran(file, "srun", "--distribution=arbitrary")
    assert {rank: host for rank, (host, _) in placed.items()} == promised
    assert sum(sent for _, sent in placed.values()) == found.bytes_after
    blocks = ran("srun", "-N", "2", "--distribution=block")
    assert sum(sent for _, sent in blocks.values()) == found.bytes_before


@pytest.mark.long
def test_a_campaign_outlives_its_controller_and_a_node(
    batch: Slurm, haloscope: Path, mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    file, campaign = campaign_of(tmp_path, mpi, compiler, [1, 2, 3, 4, 5, 6, 7], seconds=7)

    def done() -> int:
        return len(list(campaign.directory.glob("runs/*/*/result.json")))

    first = started(batch, [haloscope, "campaign", "run", file], tmp_path)
    until(lambda: len(batch.busy_nodes()) > 1, first)
    batch.wait_until_saved()
    batch.kill_controller()
    before = done()
    until(lambda: done() > before, first)  # what runs goes on without it
    first.kill()
    first.communicate()
    batch.start_controller()

    again = started(batch, [haloscope, "campaign", "run", file], tmp_path)
    until(lambda: NODES - 1 in batch.busy_nodes(), again)
    batch.kill_node(NODES - 1)
    said, _ = again.communicate()
    assert again.returncode == 0, said
    batch.wait_until_idle()  # nothing that a run left behind goes on
    _all_are_whole(campaign)


def _all_are_whole(campaign: Campaign) -> None:
    """Assert that each run is done exactly once, and has its own results."""
    table = campaign.table()
    assert set(table["state"]) == {"done"}
    outcomes = Counter(event["run"] for event in events(campaign.directory) if event.get("outcome") == "done")
    assert outcomes == dict.fromkeys(table["run"], 1)
    assert not list(campaign.directory.rglob("*.part"))
    for row in table.iter_rows(named=True):
        with explain.open(row["profile"]) as profile:
            halo = profile.table("regions", region="halo").row(0, named=True)
            ranks = profile.table("ranks")
        assert halo["bytes_sent_total"] == 8 * row["moved"]
        assert ranks["host"].n_unique() == row["nodes"]
    kept = [json.loads(path.read_text()) for path in campaign.directory.glob("runs/*/*/environment.json")]
    assert len(kept) >= len(table) > 0
    assert all("SLURM_JOB_ID" in environment for environment in kept)


@pytest.mark.long
def test_runs_alike_become_an_array(batch: Slurm, haloscope: Path, mpi: Mpi, tmp_path: Path) -> None:
    file = tmp_path / "many.yaml"
    file.write_text(MANY.replace("NUMBERS", str(list(range(ALIKE)))), "utf-8")
    running = started(batch, [haloscope, "campaign", "run", file], tmp_path)
    said, _ = running.communicate()
    assert running.returncode == 0, said
    campaign = Campaign.opened(file, tmp_path / "many")
    table = campaign.table()
    assert set(table["state"]) == {"done"}
    assert sorted(table["n_told"].to_list()) == list(range(ALIKE))
    jobs = {event["job"] for event in events(campaign.directory) if event["event"] == "submitted"}
    assert {job.partition("_")[2] for job in jobs} == set(map(str, range(ALIKE)))
    assert len({job.partition("_")[0] for job in jobs}) == 1
