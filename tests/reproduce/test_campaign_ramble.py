"""Experiments of Ramble, in the form that Benchpark writes, become runs of a campaign, and run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from haloscope import UsageError
from haloscope.reproduce.campaign import Campaign, run_campaign
from support.campaigns import WORKSPACE

CAMPAIGN = """
campaign: read
ramble: workspace/configs/ramble.yaml
systems: {here: {cores: 64, launch: ""}}
programs:
  solver.laplace:
    command: "/bin/sh -c 'echo size=$0 threads=$OMP_NUM_THREADS' {px}x{py}x{pz}x{nx}x{ny}x{nz}"
    problem: nx*ny*nz*ranks
    figures: {first: "size=([0-9]+)x"}
  solver:
    command: "/bin/true -problem 2 {px} {nx}"
variants: {plain: {watch: false}}
"""
# What Benchpark's newer experiments write: zips that are crossed, and conditions.
CROSSED = """
ramble:
  applications:
    solver:
      workloads:
        laplace:
          experiments:
            example_{n_nodes}_{n_threads_per_proc}_{nx}:
              variables:
                n_nodes: ['1', '2']
                n_ranks: '8'
                n_threads_per_proc: ['4', '6', '12']
                nx: ['10', '20']
                ny: ['10', '20']
                px: '2'
                py: '2'
                pz: '2'
                nz: '10'
              zips:
                size: [nx, ny]
              matrices:
              - all: [size, n_nodes, n_threads_per_proc]
              exclude:
                where:
                - '{n_threads_per_proc} * {n_ranks} > {n_nodes} * 48'
"""


def campaign(place: Path, workspace: str = WORKSPACE, variables: str | None = None) -> Campaign:
    (place / "workspace" / "configs").mkdir(parents=True)
    (place / "workspace" / "configs" / "ramble.yaml").write_text(workspace, "utf-8")
    if variables is not None:
        (place / "workspace" / "configs" / "variables.yaml").write_text(variables, "utf-8")
    file = place / "campaign.yaml"
    file.write_text(CAMPAIGN, "utf-8")
    return Campaign.opened(file, place / "kept")


def test_the_eighteen_runs_of_a_workspace_run(tmp_path: Path) -> None:
    found = campaign(tmp_path)
    assert len(found.points) == 18
    assert Counter(point.program for point in found.points) == {"solver.laplace": 9, "solver": 9}
    sizes = {
        (point.experiment, point.ranks, point.words[-1])
        for point in found.points
        if point.program == "solver.laplace"
    }
    assert sizes == {
        ("solver_throughput", 8, "2x2x2x4x4x4"),
        ("solver_throughput", 8, "2x2x2x8x4x4"),
        ("solver_throughput", 8, "2x2x2x8x8x4"),
        ("solver_strong", 8, "2x2x2x4x4x4"),
        ("solver_strong", 16, "4x2x2x4x4x4"),
        ("solver_strong", 32, "4x4x2x4x4x4"),
        ("solver_weak", 8, "2x2x2x4x4x4"),
        ("solver_weak", 16, "4x2x2x8x4x4"),
        ("solver_weak", 32, "4x4x2x8x8x4"),
    }
    assert {point.environment.get("OMP_NUM_THREADS") for point in found.points} == {None, "1", "2", "4"}
    # A rank's zones that grow with the ranks are no weak scaling, nor do they stay in a strong one.
    assert found.notes()[:2] == [
        "solver_strong: not strong scaling: the whole problem changes from 512 on 8 ranks to 2048 on 32, "
        "4 times",
        "solver_weak: not weak scaling: the problem per rank grows from 64 on 8 ranks to 256 on 32, 4 times",
    ]
    run_campaign(found)
    assert set(found.table()["state"]) == {"done"}


def test_zips_are_crossed_and_conditions_leave_out(tmp_path: Path) -> None:
    points = campaign(tmp_path, CROSSED).points
    assert {(point.parameters["nx"], point.parameters["ny"]) for point in points} == {(10, 10), (20, 20)}
    # 8 ranks of 4, 6 or 12 threads on one or two nodes of 48 cores: 12 need two.
    assert Counter(
        (point.parameters["n_nodes"], point.parameters["n_threads_per_proc"]) for point in points
    ) == {(1, 4): 2, (1, 6): 2, (2, 4): 2, (2, 6): 2, (2, 12): 2}


def test_the_systems_variables_are_read_and_placeholders_are_none(tmp_path: Path) -> None:
    variables = "variables: {sys_cores_per_node: '4', max_request: '1000', n_ranks: '1000001'}\n"
    text = CROSSED.replace("n_ranks: '8'", "n_ranks: '{sys_cores_per_node} * {n_nodes}'")
    text = text.replace("ramble:\n", "ramble:\n  include: [./configs]\n", 1)
    assert {point.ranks for point in campaign(tmp_path, text, variables).points} == {4, 8}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("    solver:", "    other:"), "neither other.laplace nor other is in programs"),
        (("nx: ['10', '20']", "nx: ['10']"), "zipped lists must have equal lengths; nx has 1, ny has 2"),
        (("n_ranks: '8'", "n_ranks: '{n_ranks}'"), "variables n_ranks depend on each other"),
        (("n_ranks: '8'", "n_ranks: '2000'"), "neither n_ranks, nor"),
        (("nz: '10'", "system: '8'"), "variables.system: is defined by Haloscope"),
        (("size: [nx, ny]", "size: [nx, nq]"), "zips: nq is not a list"),
        (("[size, n_nodes,", "[sise, n_nodes,"), "matrix: sise is not a list"),
        (
            ("              zips:", "              chained_experiments:"),
            ":19: chained_experiments: not supported here",
        ),
        (("where:", "variables:"), "exclude.variables: not supported; write it as where"),
        (("ramble:", "rambel:"), "not a workspace of Ramble"),
    ],
)
def test_what_is_not_understood_is_told(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        _ = campaign(tmp_path, CROSSED.replace(*change)).points
    assert said in str(caught.value)
    assert str(tmp_path / "workspace" / "configs" / "ramble.yaml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_workspace_alone_is_no_specification(tmp_path: Path) -> None:
    (tmp_path / "ramble.yaml").write_text(WORKSPACE, "utf-8")
    with pytest.raises(
        UsageError, match="workspace of Ramble; refer to it in a specification: ramble: ramble"
    ):
        Campaign.opened(tmp_path / "ramble.yaml")
