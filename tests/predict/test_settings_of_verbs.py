"""Options of the verbs that predict, and what the environment sets: understood, or refused in a line."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from haloscope import predict
from haloscope.base.errors import UsageError
from haloscope.cli import _bench_p2p, _main, _measuring, _simulate
from haloscope.predict.simulate import Simulation
from haloscope.predict.tune import Gains
from haloscope.predict.tune._sources import kind_of_source

NONE = click.Context(click.Command("none"))
OPTION = click.Option(["--any"])


@pytest.mark.parametrize(("text", "seconds"), [(None, 60.0), ("2.5", 2.5), ("1e3", 1000.0)])
def test_the_limit_of_time_is_from_the_environment(
    text: str | None, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HALOSCOPE_TIME_LIMIT", raising=False)
    if text is not None:
        monkeypatch.setenv("HALOSCOPE_TIME_LIMIT", text)
    assert _measuring.time_limit() == seconds


@pytest.mark.parametrize("text", ["", "soon", "0", "-1", "nan"])
def test_a_limit_that_is_none_is_refused(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HALOSCOPE_TIME_LIMIT", text)
    assert _main._run(["bench", "stencil", "-n", "2"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "HALOSCOPE_TIME_LIMIT" in told


def test_whose_collectives_are_simulated() -> None:
    parsed = _simulate._collectives(NONE, OPTION, "mpich,bcast=binomial_tree,allreduce=lr")
    assert parsed == ("mpich", {"bcast": "binomial_tree", "allreduce": "lr"})
    assert _simulate._collectives(NONE, OPTION, "bcast=chain") == ("openmpi", {"bcast": "chain"})
    for text in ("", "bcast=", "=chain", "mpich,"):
        with pytest.raises(click.BadParameter, match="COLLECTIVE=NAME"):
            _simulate._collectives(NONE, OPTION, text)


def test_pairs_of_cores() -> None:
    assert _bench_p2p._pairs(NONE, OPTION, ("0,8", "all", "1, 2")) == ([(0, 8), (1, 2)], True)
    assert _bench_p2p._pairs(NONE, OPTION, ()) == ([], False)


def test_what_follows_two_dashes_starts_the_ranks() -> None:
    found: list[object] = []

    @click.command(cls=_measuring.Launching)
    @click.argument("names", nargs=-1)
    @click.option("-n", "ranks", type=int)
    def verb(names: tuple[str, ...], ranks: int, launcher: tuple[str, ...]) -> None:
        found.append((names, ranks, launcher))

    for words in (["a", "-n", "2"], ["a", "-n", "2", "--"], ["a", "-n", "2", "--", "srun", "-n", "--", "4"]):
        verb.main(words, standalone_mode=False)
    assert found == [(("a",), 2, ()), (("a",), 2, ()), (("a",), 2, ("srun", "-n", "--", "4"))]


def test_a_machine_by_name_and_several_collectives() -> None:
    both = predict.model("orfeo", ["bcast", "reduce"], ranks=[4, 8])
    machine = predict.load_machine("orfeo")
    for name in ("bcast", "reduce"):
        alone = predict.model(machine, name, ranks=[4, 8])
        assert both.filter(collective=name).equals(alone)


def test_rules_are_not_chosen_from_gains(tmp_path: Path) -> None:
    Gains("MPI", "", {}, []).save(tmp_path / "gains")
    assert kind_of_source("orfeo") == "machine"
    with pytest.raises(UsageError, match="a sweep, a profile or a machine model"):
        kind_of_source(tmp_path / "gains")


@pytest.mark.parametrize(
    ("what", "ranks", "words"),
    [
        ((), None, "name what to simulate"),
        (("no.halo", "x"), None, "has no arguments"),
        (("cg",), None, "-n N"),
    ],
)
def test_what_cannot_be_simulated(what: tuple[str, ...], ranks: int | None, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        _ = Simulation(what, "torus", ranks)._work
