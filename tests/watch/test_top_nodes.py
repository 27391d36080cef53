"""`haloscope top` of a job over nodes: what each node prints is joined."""

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

from support.cluster import Cluster
from support.limits import HANG
from support.mpi import Mpi
from support.processes import run_program
from support.programs import Compiler
from support.watched import program

# Nodes are one machine: each has its records in a directory of its own.
ON_ITS_NODE = """#!/bin/sh
mkdir -p "{top}/$(hostname)"
HALOSCOPE_LIVE="{top}/$(hostname)" exec "$@"
"""


@contextmanager
def running(
    nodes: Cluster, mpi: Mpi, compiler: Compiler, haloscope: Path, top: Path, how: str
) -> Iterator[None]:
    """Four ranks on two nodes that hang in this way."""
    wrapper = top / "on_its_node.sh"
    wrapper.write_text(ON_ITS_NODE.format(top=top))
    wrapper.chmod(0o755)
    executable = program(compiler, mpi, "hangs.c")
    watched: list[str | Path] = [haloscope, "run", "--quiet", "--mpi", mpi.abi, "-o", top / "hung.halo", "--"]
    with subprocess.Popen(
        nodes.words([*watched, *mpi.launch(4), wrapper, executable, how]),
        env=nodes.environment(mpi),
        cwd=top,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as job:
        try:
            assert job.stdout is not None
            assert job.stdout.readline() == "working\n"
            yield
        finally:
            job.send_signal(signal.SIGTERM)
            job.communicate()


def asked(haloscope: Path, top: Path, *arguments: str | Path) -> dict[str, Any]:
    """What `hang` says of the files of some nodes."""
    words = [haloscope, "hang", "--format", "json", *arguments]
    (report,) = json.loads(run_program(words, cwd=top).stdout)
    assert isinstance(report, dict)
    return report


@pytest.mark.long
def test_a_hang_over_nodes_is_named_with_every_mpi(
    two_nodes: Cluster, mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path: Path
) -> None:
    check_hang(two_nodes, mpi, compiler, haloscope, tmp_path)


def test_a_hang_over_nodes_is_named(
    two_nodes: Cluster, any_mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path: Path
) -> None:
    check_hang(two_nodes, any_mpi, compiler, haloscope, tmp_path)


def check_hang(two_nodes: Cluster, mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path: Path) -> None:
    """Each node sees its own ranks and that they wait for others; together it is a deadlock."""
    files = [tmp_path / f"{host}.json" for host in two_nodes.hosts]
    froms: list[str | Path] = [word for file in files for word in ("--from", file)]
    with running(two_nodes, mpi, compiler, haloscope, tmp_path, "ring of receives"):
        end = time.monotonic() + HANG
        together: dict[str, Any] = {}
        while together.get("kind") != "deadlock of receives" and time.monotonic() < end:
            for node, host in enumerate(two_nodes.hosts):
                printed = run_program(
                    two_nodes.words([haloscope, "top", "--format", "json"], node),
                    env=two_nodes.environment(mpi, {"HALOSCOPE_LIVE": str(tmp_path / host)}),
                )
                (of_node,) = json.loads(printed.stdout)["programs"]
                assert {(rank["host"], rank["rank"] // 2) for rank in of_node["after"]} == {(host, node)}
                files[node].write_text(printed.stdout)
            together = asked(haloscope, tmp_path, *froms)["verdict"]
    alone = asked(haloscope, tmp_path, *froms[:2])["verdict"]
    assert alone["kind"] == "unseen"
    assert (together["kind"], together["ranks"]) == ("deadlock of receives", [0, 1, 2, 3])
    assert "no rank sends" in together["text"]
