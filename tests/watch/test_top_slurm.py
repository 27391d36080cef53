"""`haloscope top` of a job that Slurm runs on two nodes: asked by `srun`, and when one node is gone."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from haloscope import explain
from support.limits import HANG
from support.missing import missing
from support.mpi import Mpi
from support.processes import kill, wait_for_end
from support.programs import Compiler
from support.slurm import Slurm, slurm, slurm_obstacle
from support.watched import program

# Nodes are one machine: each has its records in a directory of its own.
ON_ITS_NODE = """#!/bin/sh
mkdir -p "{top}/$(hostname)"
HALOSCOPE_LIVE="{top}/$(hostname)" exec "$@"
"""
# As docs/reference/top.md has it.
ASKED = "haloscope top --format json > top-$(hostname).json"


@pytest.fixture
def batch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    reason = slurm_obstacle()
    if reason:
        missing(reason)
    with slurm(2, 2, tmp_path_factory.mktemp("slurm")) as up:
        yield up


@contextmanager
def hanging(batch: Slurm, words: list[str | Path], top: Path) -> Iterator[str]:
    """A job that prints a line and hangs; its number."""
    with subprocess.Popen(
        batch.words(words),
        env=batch.cluster.environment(env={**batch.environment, "HALOSCOPE_LIVE": str(top)}),
        cwd=top,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as job:
        assert job.stdout is not None
        line = job.stdout.readline()
        assert line == "working\n", line
        yield batch.run("squeue", "-h", "-o", "%A").strip()
        job.send_signal(signal.SIGKILL)  # nothing waits for the node that is gone; `batch` ends the rest


@pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)  # Debian's Slurm starts no other
def test_a_job_is_asked_by_srun(
    batch: Slurm, mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path: Path
) -> None:
    wrapper = tmp_path / "on_its_node.sh"
    wrapper.write_text(ON_ITS_NODE.format(top=tmp_path))
    wrapper.chmod(0o755)
    executable = program(compiler, mpi, "hangs.c")
    watched: list[str | Path] = [haloscope, "run", "--quiet", "--mpi", mpi.abi, "-o", tmp_path / "hung.halo"]
    launched: list[str | Path] = ["--", "srun", "-N", "2", "-n", "4", wrapper, executable, "ring of receives"]
    with hanging(batch, [*watched, *launched], tmp_path) as job:
        where = (
            f"cd {tmp_path} && PATH={haloscope.parent}:$PATH && export HALOSCOPE_LIVE={tmp_path}/$(hostname)"
        )
        # Without --nodes it asks one node alone: from here, nothing says how many the job has.
        step = ["srun", f"--jobid={job}", "--overlap", "--nodes=2", "--ntasks-per-node=1"]
        files = [tmp_path / f"top-{host}.json" for host in batch.cluster.hosts]
        froms: list[str | Path] = [word for file in files for word in ("--from", str(file))]
        end = time.monotonic() + HANG
        together: dict[str, Any] = {}
        while together.get("kind") != "deadlock of receives" and time.monotonic() < end:
            batch.run(*step, "sh", "-c", f"{where}; {ASKED}")
            (report,) = json.loads(batch.run(haloscope, "hang", "--format", "json", *froms))
            together = report["verdict"]
        assert (together["kind"], together["ranks"]) == ("deadlock of receives", [0, 1, 2, 3])
        table = batch.run(haloscope, "top", *froms)
        assert table.count("MPI_Recv") == 4

        # The records of a node are lost with it, which the remaining ones report.
        batch.kill_node(1)
        alone = batch.run("sh", "-c", f'{where}; haloscope hang --format json "$@"', "sh")
        (lone_report,) = json.loads(alone)
        assert lone_report["verdict"]["kind"] == "unseen"
        assert lone_report["ranks"] == 4
        left = tmp_path / batch.cluster.hosts[0]
        ranks = [int(record.stem.split("-")[1]) for record in left.glob("haloscope-*/*.live")]
        for process in ranks:
            kill(process)
        wait_for_end(ranks)
        made = tmp_path / "left.halo"
        batch.run(haloscope, "recover", left, "-o", made)
    with explain.open(made) as profile:
        assert profile.info["missing_ranks"] == [2, 3]
