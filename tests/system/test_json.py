"""`--json` on every command that prints a table or a verdict."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from reference import verbs
from support.campaigns import BASE
from support.mpi import CHECKOUT

Command = Callable[..., subprocess.CompletedProcess[str]]
# They print no table: a summary, one path, or the output of the program that they start.
WITHOUT = {"run", "env", "report", "demo", "recover", "export", "inject", "shm", "campaign bundle", "where"}
CAMPAIGN = BASE + "experiments:\n  one: {program: told, systems: [here], ranks: [8]}\n"
POINT = (
    '{"record": "point", "collective": "bcast", "algorithm": "chain", "ranks": 2, "bytes": 8, '
    '"status": "ok", "samples_ns": [[1000, 3000, 2000], [2000, 2000, 5000]]}\n'
)


def test_each_command_with_a_table_has_it() -> None:
    options = {words: {name for each in command.params for name in each.opts} for words, command in verbs()}
    assert {words for words, names in options.items() if "--json" not in names} == WITHOUT
    assert {words for words, names in options.items() if "--format" not in names} == WITHOUT


@pytest.mark.parametrize(
    "words",
    [
        "show a.halo",
        "show a.halo --table ranks",
        "show sweep.jsonl",
        "findings a.halo",
        "compare a.halo b.halo",
        "history .",
        "regimes times.npy",
        "place a.halo",
        "check --write-rules a.halo b.halo c.halo new.toml",
        "check a.halo rules.toml",
        "bench noise --duration 0.01",
        "bench model orfeo bcast -n 2",
        "doctor",
        "study",
        "campaign plan campaign.yaml",
        "campaign run campaign.yaml",
        "campaign status campaign.yaml",
        "campaign report campaign.yaml",
    ],
)
def test_it_is_parsed(command: Command, words: str) -> None:
    for name in ("a", "b", "c"):
        shutil.copy(CHECKOUT / "tests" / "data" / "0.1.0.halo", f"{name}.halo")
    Path("campaign.yaml").write_text(CAMPAIGN)
    Path("sweep.jsonl").write_text('{"record": "environment", "library": "X"}\n' + POINT)
    np.save("times.npy", np.random.default_rng(0).lognormal(size=(4, 200)))
    if "rules.toml" in words:
        command("check", "--write-rules", "a.halo", "b.halo", "c.halo", "rules.toml")
    done = command(*words.split(), "--json")
    assert isinstance(json.loads(done.stdout, parse_constant=refuse), dict | list)


def refuse(constant: str) -> None:
    """JSON has no NaN and no Infinity, though Python writes and reads them."""
    raise AssertionError(constant)
