"""The code of docs/how-to/engines.md, run with stand-ins for ReFrame and Snakemake."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from haloscope.reproduce.lab import Campaign
from support.campaigns import RING, WORKSPACE
from support.mpi import CHECKOUT, Mpi
from support.mpis import tools
from support.programs import Compiler

PAGE = CHECKOUT / "docs" / "how-to" / "engines.md"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture
def shell(any_mpi: Mpi, haloscope: Path, compiler: Compiler, tmp_path: Path) -> Callable[[str], None]:
    """`shell(text)` runs a script where `./app 100` sends a ring of messages in the region halo."""
    (tmp_path / "ring.c").write_text(RING)
    program = compiler(any_mpi, tmp_path / "ring.c")
    (tmp_path / "app").write_text(f"#!/bin/sh\nexec {program} 100\n")
    (tmp_path / "app").chmod(0o755)
    environment = tools(any_mpi)
    environment["PATH"] = f"{haloscope.parent}{os.pathsep}{environment['PATH']}"

    def run(text: str) -> None:
        done = subprocess.run(
            ["bash", "-ec", text], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (text, done.stderr)

    return run


def test_a_profile_is_the_performance_of_a_reframe_test(
    shell: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reframe = ModuleType("reframe")
    vars(reframe).update(simple_test=lambda kind: kind, RunOnlyRegressionTest=object)
    sanity = ModuleType("reframe.utility.sanity")
    vars(sanity).update(assert_eq=lambda found, expected: found == expected)
    for name, module in (("reframe", reframe), ("reframe.utility", ModuleType("reframe.utility"))):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "reframe.utility.sanity", sanity)
    scope: dict[str, Any] = {
        "sanity_function": lambda function: function,
        "performance_function": lambda unit: lambda function: function,
    }
    exec(blocks("python")[0], scope)
    test = scope["Halo"]()
    test.stagedir = str(tmp_path)
    # As ReFrame's job script has them.
    launched = f"mpiexec -n {test.num_tasks} {test.executable}"
    shell("\n".join([*test.prerun_cmds, launched, *test.postrun_cmds]))
    assert test.has_the_region()
    assert test.bytes_sent() == test.reference["*"]["bytes_sent"][0]
    assert 0 <= test.waited() < 60


def test_rules_of_snakemake_make_profiles_and_a_report(shell: Callable[[str], None], tmp_path: Path) -> None:
    text = blocks("python")[1]
    rules = {
        name: dict(re.findall(r'^    (\w+): f?"?(.*?)"?$', body, re.MULTILINE))
        for name, body in re.findall(r"^rule (\w+):\n((?:    .*\n)+)", text, re.MULTILINE)
    }
    assert rules.keys() == {"all", "watch", "report"}
    made = []
    (tmp_path / "runs").mkdir()  # Snakemake makes the directories of outputs
    for ranks in (1, 2):
        output = rules["watch"]["output"].format(ranks=ranks)
        shell(rules["watch"]["shell"].format(output=output, wildcards=SimpleNamespace(ranks=ranks)))
        made.append(output)
    shell(rules["report"]["shell"].format(input=" ".join(made), output=rules["report"]["output"]))
    assert rules["all"]["input"] == "report.html"
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_the_pages_campaign_of_ramble_is_one(tmp_path: Path) -> None:
    place = tmp_path / "workspace" / "configs"
    place.mkdir(parents=True)
    text = (
        WORKSPACE.replace("solver:\n", "amg2023:\n")
        .replace("laplace", "problem1")
        .replace("jumps", "problem2")
    )
    (place / "ramble.yaml").write_text(text, "utf-8")
    (tmp_path / "amg2023.yaml").write_text(blocks("yaml")[0], "utf-8")
    points = Campaign.opened(tmp_path / "amg2023.yaml").points
    assert len(points) == 18
    assert ("-P", "4", "4", "2", "-n", "8", "8", "4", "-problem", "2", "-keepT") in {
        point.words[-11:] for point in points
    }
