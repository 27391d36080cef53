"""The injector's reader of plans: any text gives a plan or one line with the error."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from haloscope import UsageError
from haloscope.base.objects import Abi
from haloscope.hide import Event
from haloscope.hide import inject as run_injected
from support.mpi import CHECKOUT, Mpi
from support.mpis import tools
from support.processes import run_program

SOURCES = CHECKOUT / "src" / "predict" / "latencies"
Planned = Callable[..., str]


@pytest.fixture
def planned(any_mpi: Mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Planned:
    """`planned("constant:1ms", once=[…])` is the plan that the injector gets."""
    monkeypatch.setenv("PATH", tools(any_mpi)["PATH"])
    abi: Abi = "openmpi" if any_mpi.abi == "openmpi" else "mpich"

    def plan(*latencies: str, once: Sequence[Event] = (), excess: bool = False) -> str:
        file = tmp_path / "plan"
        command = ["sh", "-c", f'printf %s "$HALOSCOPE_INJECT" > {file}']
        done = run_injected(command, latencies, once=once, excess=excess, mpi=abi, quiet=True)
        assert done.status == 0
        return file.read_text()

    return plan


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("plan") / "plan"
    files = [CHECKOUT / "tests/hide/programs/plan.cpp", SOURCES / "plan.cpp"]
    flags = [
        "-std=c++20",
        "-g1",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover",
        f"-I{CHECKOUT / 'src'}",
    ]
    subprocess.run(["g++", *flags, *map(str, files), "-o", str(target)], check=True)
    return target


def read(reader: Path, lines: list[str]) -> list[str]:
    done = run_program([reader], text="\n".join([*lines, ""]))
    assert done.stderr == ""
    answers = done.stdout.splitlines()
    assert len(answers) == len(lines)
    return answers


def test_random_plans(reader: Path, planned: Planned) -> None:
    chance = random.Random(7)
    models = ("constant:1ms", "normal:1ms,0.1ms", "lognormal:1ms,0.5", "gamma:2,1us")
    plans = [planned(model, "inter=gamma:2,1us", once=[Event(0, 3, 0.1, 2)]) for model in models]
    assert read(reader, plans) == ["plan"] * len(plans)
    strange = ["-1", "0", "nan", "1e400", "99999999999999999999", "1048576", "x", "gamma", "intra", "once"]
    lines = []
    for _ in range(2000):
        words = chance.choice(plans).split()
        for _ in range(chance.randint(1, 3)):
            place = chance.randrange(len(words))
            change = chance.randrange(3)
            words[place : place + (change > 0)] = [chance.choice(strange)] * (change < 2)
        lines.append(" ".join(words))
    answers = read(reader, lines)
    wrong = [answer for answer in answers if answer != "plan"]
    assert 500 < len(wrong) < 2000
    assert [answer for answer in wrong if not answer.startswith("wrong ")] == []


@pytest.mark.parametrize(
    ("plan", "complaint"),
    [
        ("seed", "the text ends early"),
        ("seed x", "not a number: x"),
        ("speed 1", "no such word: speed"),
        ("intra 1 0 0", "a model without regimes"),
        ("intra 1 0 1 gamma -1 1 0", "parameters that no distribution has: gamma"),
        ("intra 1 0 1 often 1", "no distribution of that name: often"),
        ("intra 1 0 1 empirical 99999999", "too many: 99999999"),
    ],
)
def test_errors_are_named(reader: Path, plan: str, complaint: str) -> None:
    assert read(reader, [plan]) == [f"wrong {complaint}"]


def test_links_and_factors(planned: Planned) -> None:
    """A later word replaces an earlier one, only for its link if it names one."""
    both = planned("constant:1ms")
    assert planned("gamma:2,1us", "constant:1ms") == both
    assert planned("inter=constant:1ms", "intra=constant:1ms") == both
    near, far = both.partition(" intra ")[2].split(" inter ")
    assert near == far
    intra = planned("intra=constant:1ms")
    assert intra == both.removesuffix(f" inter {far}")
    assert planned("constant:1ms", "inter=none") == intra
    scaled = planned("inter=2*normal:1ms,0.1ms", "intra=none").partition(" inter ")[2]
    assert scaled == "2 0 1 normal 0.001 0.0001 1 1 1 1 1"
    assert " intra 0.5 0.001 1 " in planned("0.5*constant:1ms", excess=True)
    for wrong in ("0*constant:1ms", "inter=-1*constant:1ms", "x*constant:1ms", "nan*constant:1ms"):
        with pytest.raises(UsageError, match="greater than 0"):
            planned(wrong)
    with pytest.raises(UsageError, match="not one of none"):
        planned("outer=constant:1ms")
    with pytest.raises(UsageError, match="nothing to inject"):
        planned("inter=constant:1ms", "none")
