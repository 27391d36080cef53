"""Open MPI's rules, which the study of its collectives has as data, and the messages that it sends."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from haloscope.predict import schedule as schedules
from support.missing import missing
from support.monitored import Counts, count_messages, count_scheduled
from support.mpi import CHECKOUT, REMEDY, Mpi, find
from support.processes import run_program

STUDY = CHECKOUT / "studies" / "openmpi-collective-algorithms"
PROGRAM = Path(__file__).with_name("programs") / "once.c"
# Each algorithm that 4.1 chooses for up to 20 ranks.
CASES = [(3, 4), (3, 12), (2, 600), (6, 200), (6, 5000), (6, 1 << 20), (12, 2048), (12, 40000), (20, 1 << 20)]


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(STUDY))
    monkeypatch.delitem(sys.modules, "rules", raising=False)
    return importlib.import_module("rules")


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Mpi, Path]:
    mpi = find("openmpi-system")
    if mpi is None or "v4.1" not in run_program(["ompi_info", "--version"], env=mpi.environment()).stdout:
        missing(f"Open MPI 4.1 is not installed: {REMEDY['openmpi-system']}")
    program = tmp_path_factory.mktemp("once") / "once"
    run_program([str(mpi.mpicc), str(PROGRAM), "-o", str(program)])
    return mpi, program


def chosen(rules: Any, collective: str, ranks: int, size: int) -> Counts:
    choice = rules.choose("4.1", collective, ranks, size)
    plan = schedules.CollectivePlan(ranks, size, choice.segment, choice.fanout)
    found = schedules.schedule(collective, choice.algorithm, plan)
    assert found is not None
    return count_scheduled(found)


def test_open_mpi_follows_the_rules(rules: Any, once: tuple[Mpi, Path], tmp_path: Path) -> None:
    names = Counter(rules.choose("4.1", "bcast", *case).algorithm for case in CASES)
    assert len(names) >= 7
    for ranks, size in CASES:
        sent = count_messages(
            once[0], tmp_path / f"{ranks}-{size}", ranks, [once[1], str(size), "bcast", "reduce"]
        )
        expected = sum((chosen(rules, name, ranks, size) for name in ("bcast", "reduce")), Counter())
        assert sent == expected, (ranks, size)


def test_older_rules_cut_messages(rules: Any) -> None:
    # Small, intermediate and large broadcasts, the last by the line between ranks and bytes.
    assert rules.choose("4.0", "bcast", 64, 2047) == ("binomial", 0, 0)
    assert rules.choose("4.0", "bcast", 64, 2048) == ("split_binary_tree", 1024, 0)
    assert rules.choose("4.0", "bcast", 3, 1 << 20) == ("pipeline", 131072, 0)
    assert rules.choose("4.0", "bcast", 256, 1 << 20) == ("pipeline", 8192, 0)
    assert rules.choose("4.0", "reduce", 4, 100) == ("linear", 0, 0)
    assert rules.choose("4.0", "reduce", 256, 65536) == ("binomial", 1024, 0)
    for collective in ("bcast", "reduce"):
        for ranks in range(2, 257):
            for power in range(1, 21):
                choices = [rules.choose(version, collective, ranks, 1 << power) for version in rules.VERSIONS]
                assert all(one.algorithm in schedules.algorithms(collective) for one in choices)
