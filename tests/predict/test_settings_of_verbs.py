"""Options of the verbs that predict, and what the environment sets: understood, or refused in a line."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from haloscope import UsageError, predict
from haloscope.predict.simulate import Simulation
from haloscope.predict.tune import Bench, Gains, tune
from support.command import Command
from support.emulated_mpi import emulated_mpi
from support.emulated_tuning import emulated_bench
from support.missing import missing


@pytest.mark.parametrize("text", ["", "soon", "0", "-1", "nan"])
def test_a_limit_of_time_that_is_none_is_refused(
    text: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALOSCOPE_TIME_LIMIT", text)
    told = command("bench", "halo", "-n", "2", status=2)
    assert told.stderr.count("\n") == 1
    assert "HALOSCOPE_TIME_LIMIT" in told.stderr


@pytest.mark.parametrize("text", ["bcast=", "=chain", "mpich,", ""])
def test_collectives_that_are_none_are_refused(text: str, command: Command) -> None:
    told = command("simulate", "--platform", "torus", "-n", "2", "--collectives", text, "cg", status=2)
    assert "COLLECTIVE=NAME" in told.stderr


# A launcher that prints its own words, and one point of each pair that it is asked for.
TELLING = """
import json, sys
words = dict(zip(sys.argv, sys.argv[1:]))
print(*sys.argv[1:], sep="\\n", file=open("words", "w"))
for pair in words["--pairs"].split(","):
    cores = list(map(int, pair.split("-")))
    about = {"record": "point", "test": "latency", "pair": cores, "bytes": 1, "batch": 1, "valid": None}
    print(json.dumps({**about, "samples_ns": [100] * 5}), flush=True)
"""


def test_pairs_of_cores_and_the_words_of_a_launcher(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        missing("messages need two processors: give the machine, or the container, another one")
    for name, value in emulated_mpi(tmp_path / "mpi").items():
        monkeypatch.setenv(name, value)
    (tmp_path / "telling.py").write_text(TELLING)
    words = ("bench", "p2p", "-m", "1:1", "--pair", "0, 1", "--format", "json")
    launcher = (sys.executable, str(tmp_path / "telling.py"), "--own", "-n", "7")
    found = json.loads(command(*words, "--", *launcher).stdout)
    assert [(one["first"], one["second"]) for one in found] == [(0, 1)]
    told = (tmp_path / "words").read_text().splitlines()
    assert told[:3] == ["--own", "-n", "7"]
    # With all pairs the latency of each is measured as well, here that of one.
    found = json.loads(command(*words, "--pair", "all", "--", *launcher).stdout)
    cores = len(os.sched_getaffinity(0))
    assert len(found) == 1 + cores * (cores - 1) // 2


def test_a_machine_by_name_and_several_collectives() -> None:
    both = predict.model("orfeo", ["bcast", "reduce"], ranks=[4, 8])
    machine = predict.load_machine("orfeo")
    for name in ("bcast", "reduce"):
        alone = predict.model(machine, name, ranks=[4, 8])
        assert both.filter(collective=name).equals(alone)


def test_rules_are_not_chosen_from_gains(tmp_path: Path) -> None:
    Gains("MPI", "", {}, []).save(tmp_path / "gains")
    bench = emulated_bench(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bench, "here", lambda *_: bench)
        with pytest.raises(UsageError, match="a sweep, a profile or a machine model"):
            tune(tmp_path / "gains", tmp_path / "rules.conf")
        with pytest.raises(UsageError, match="has no models of algorithms"):
            tune("orfeo", tmp_path / "rules.conf")


@pytest.mark.parametrize(
    ("what", "ranks", "words"),
    [
        ((), None, "give a program or profile to simulate"),
        (("no.halo", "x"), None, "takes no arguments"),
        (("cg",), None, "-n N"),
    ],
)
@pytest.mark.usefixtures("simgrid")
def test_what_cannot_be_simulated(
    what: tuple[str, ...], ranks: int | None, words: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=words):
        Simulation(what, "torus", ranks).run(tmp_path / "never.halo")
