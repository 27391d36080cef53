"""The code of docs/how-to/engines.md, run by ReFrame and Snakemake: they have an environment of their own."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from haloscope import explain
from haloscope.reproduce.campaign import Campaign
from support.campaigns import RING, WORKSPACE
from support.command import run_command
from support.missing import missing
from support.mpi import CHECKOUT, Mpi
from support.mpis import tools
from support.processes import run_program
from support.profiles import Draft, draft, path_rows, process_rows
from support.programs import Compiler

PAGE = CHECKOUT / "docs" / "how-to" / "engines.md"
ENGINES = CHECKOUT / ".venv-others" / "bin"
# This machine, with a launcher of MPI: what ReFrame has by itself has none.
SITE = """
site_configuration = {
    "systems": [{
        "name": "here", "hostnames": [".*"],
        "partitions": [{"name": "p", "scheduler": "local", "launcher": "mpiexec", "environs": ["builtin"]}],
    }],
    "environments": [{"name": "builtin"}],
}
"""

Engine = Callable[..., str]


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture
def engine(any_mpi: Mpi, haloscope: Path, compiler: Compiler, tmp_path: Path) -> Engine:
    """`engine(name, words...)` runs one where `./app` and `src/app` send a ring of messages in a region."""
    (tmp_path / "ring.c").write_text(RING)
    program = compiler(any_mpi, tmp_path / "ring.c")
    (tmp_path / "src").mkdir()
    for place in (tmp_path, tmp_path / "src"):
        (place / "app").write_text(f"#!/bin/sh\nexec {program} 100\n")
        (place / "app").chmod(0o755)
    environment = tools(any_mpi) | {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment["PATH"] = f"{haloscope.parent}{os.pathsep}{environment['PATH']}"

    def run(name: str, *words: str) -> str:
        if not (ENGINES / name).is_file():
            missing(f"{name} is not here: make setup-long")
        command = [str(ENGINES / name), *words]
        return run_program(command, env=environment, cwd=tmp_path).stdout

    return run


@pytest.mark.long
def test_a_profile_is_the_performance_of_a_reframe_test(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "halo.py").write_text(blocks("python")[0])
    (tmp_path / "site.py").write_text(SITE)
    engine("reframe", "-C", "site.py", "-c", "halo.py", "--report-file", "report.json", "-r")
    (session,) = json.loads((tmp_path / "report.json").read_text())["runs"]
    (case,) = session["testcases"]
    assert case["result"] == "pass"
    values = {name.rpartition(":")[2]: figures[0] for name, figures in case["perfvalues"].items()}
    assert values["bytes_sent"] == 2 * 8 * 100
    assert 0 <= values["waited"] < 60
    text = (tmp_path / "halo.py").read_text()
    (tmp_path / "halo.py").write_text(text.replace("(1600, 0, 0", "(1599, 0, 0"))
    with pytest.raises(AssertionError, match="bytes_sent"):  # a byte more is a failure
        engine("reframe", "-C", "site.py", "-c", "halo.py", "-r")


@pytest.mark.long
def test_rules_of_snakemake_make_profiles_and_a_report(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(blocks("python")[1])
    engine("snakemake", "--cores", "2")
    for ranks in (1, 2):
        with explain.open(tmp_path / "runs" / f"{ranks}.halo") as profile:
            assert profile.table("regions", region="halo")["sends_total"].to_list() == [ranks]
    page = tmp_path / "report.html"
    assert page.stat().st_size > 10_000
    before = page.stat().st_mtime_ns
    engine("snakemake", "--cores", "2")  # nothing is missing
    assert page.stat().st_mtime_ns == before


def halo_of(ranks: int) -> Draft:
    """A profile of the program on that page: each rank sends 800 bytes in the region `halo`."""
    sent = [{"path": 1, "rank": rank, "partner": (rank + 1) % ranks} for rank in range(ranks)]
    return draft(
        {"ranks": ranks},
        paths=path_rows("halo"),
        processes=process_rows(*["a"] * ranks),
        ranks=[
            {"path": path, "rank": rank, "instances": 1, "sends": path, "bytes_sent": 800 * path}
            for path in range(2)
            for rank in range(ranks)
        ],
        partners=[{**row, "sends": 1, "bytes_sent": 800} for row in sent],
    )


def test_the_reframe_test_of_the_page_reads_a_profile(haloscope: Path, tmp_path: Path) -> None:
    """Without ReFrame: what its decorators do with the functions is not asked for."""

    class Base:
        stagedir = str(tmp_path)

    def unchanged(_unit: str) -> Callable[..., Any]:
        return lambda function: function

    code = blocks("python")[0].replace("import reframe", "# import reframe")
    rfm = SimpleNamespace(simple_test=lambda test: test, RunOnlyRegressionTest=Base)
    sanity = SimpleNamespace(assert_eq=lambda one, other: one == other)
    names: dict[str, Any] = {"rfm": rfm, "sn": sanity, "performance_function": unchanged}
    names["sanity_function"] = lambda function: function
    exec(compile(code, PAGE, "exec"), names)
    test = names["Halo"]()
    halo_of(2).write(tmp_path / "run.halo")
    path = f"{haloscope.parent}{os.pathsep}{os.environ['PATH']}"
    for command in test.postrun_cmds:
        subprocess.run(command, shell=True, cwd=tmp_path, env={**os.environ, "PATH": path}, check=True)
    assert test.has_the_region()
    assert test.bytes_sent() == test.reference["*"]["bytes_sent"][0] == 1600
    assert test.waited() == 0


def test_the_report_rule_of_the_page_is_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (rule,) = re.findall(
        r"^rule report:\n(?: .*\n)*?.*shell: \"haloscope (.*)\"$", blocks("python")[1], re.MULTILINE
    )
    files = [str(halo_of(ranks).write(tmp_path / f"{ranks}.halo")) for ranks in (1, 2)]
    assert run_command(*rule.format(input=" ".join(files), output="report.html").split()) == 0
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
