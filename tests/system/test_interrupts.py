"""Ctrl-C at any moment, in each verb: nothing is half-written, left running, or left in temporary files."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import haloscope as front
from haloscope.cli._main import _VERBS as VERBS
from haloscope.predict import load_machine
from support.mpi import Mpi
from support.programs import Compiler

PROGRAM = """
#include <mpi.h>
#include <stdlib.h>
#include <haloscope/region.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, number = 7;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < atoi(argv[1]); ++i) {
    HALOSCOPE_REGION_BEGIN("step");
    MPI_Sendrecv_replace(&number, 1, MPI_INT, 1 - rank, 0, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    HALOSCOPE_REGION_END("step");
  }
  return MPI_Finalize();
}
"""
CAMPAIGN = """
campaign: two
systems: {{here: {{cores: 2, launch: "{launch}"}}}}
programs: {{app: {{command: "{app} 300000"}}}}
experiments: {{both: {{program: app, ranks: 2}}}}
repetitions: 3
"""
AT_ONCE = {"env", "where", "show", "doctor", "top", "recover"}  # they write nothing, or nothing to speak of
# A study that is killed goes on (tests/reproduce/test_study.py); demo is `run` and `report`.
ELSEWHERE = {"study", "demo"}


@dataclass(frozen=True)
class Case:
    """A command line of a verb. `{app}`, `{launch}`, `{profile}`, `{trace}`, `{sweep}` are put in."""

    words: str
    leaves: tuple[str, ...] = ()

    @property
    def verb(self) -> str:
        """The first word."""
        return self.words.split()[0]


CASES = (
    # What the ranks left that ended too late for the first profile is one of its own.
    Case("run --trace -o out.halo -- {launch} {app} 300000", ("out.halo", "out-2.halo")),
    Case("report {trace} -o out.html", ("out.html",)),
    Case("findings {trace}"),
    Case("export {trace} --to otf2 -o out", ("out",)),
    Case("export {trace} --to perfetto -o out.pftrace", ("out.pftrace",)),
    Case("export {profile} --to cali -o out.cali", ("out.cali",)),
    Case("history {directory}"),
    Case("regimes {profile} --region step -o out.html", ("out.html",)),
    Case("compare {profile} -- {trace} -o out.html", ("out.html",)),
    Case("check --write-rules {profile} {profile} {profile} out.toml", ("out.toml",)),
    Case("bench p2p -m 8 -o out.yaml -- {launcher}", ("out.yaml",)),
    Case("bench collective bcast -n 2 -m 8:64 -o out.jsonl -- {launcher}", ("out.jsonl",)),
    Case("model orfeo bcast -n 2:64 -o out.html", ("out.html",)),
    Case("tune {directory}/sweep.jsonl --no-run -o out.conf", ("out.conf", "out.gains.json")),
    Case("simulate --platform torus {profile} -o out.halo", ("out.halo",)),
    Case("inject --latency constant:10us -- {launch} {app} 300000"),
    Case("stencil -- {launch} {app} 300000"),
    Case("place -- {launch} {app} 300000"),
    Case("improve -o out.html -- {launch} {app} 300000", ("out.html",)),
    Case("lab run campaign.yaml", ("two",)),
)


@dataclass(frozen=True)
class Place:
    """What is put into command lines, the environment that they run in, and where they run."""

    values: Mapping[str, str]
    environment: Mapping[str, str]
    top: Path

    def start(self, case: Case, name: str) -> tuple[subprocess.Popen[str], Path, int]:
        """Start a command line at a terminal of its own, in a directory of its own; with an empty one for
        temporary files.
        """
        directory, aside = self.top / name, self.top / f"{name}.tmp"
        directory.mkdir()
        aside.mkdir()
        (directory / "campaign.yaml").write_text(CAMPAIGN.format_map(self.values))
        words = [word.format_map(self.values).split() for word in case.words.split()]
        keyboard, terminal = os.openpty()
        child = subprocess.Popen(
            ["setsid", "--ctty", self.values["haloscope"], *(part for word in words for part in word)],
            cwd=directory,
            env={**self.environment, "TMPDIR": str(aside)},
            stdin=terminal,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        os.close(terminal)
        return child, directory, keyboard


def test_each_verb_is_tried_or_is_over_at_once() -> None:
    assert {case.verb for case in CASES} | AT_ONCE | ELSEWHERE == set(VERBS)


@pytest.fixture(scope="module")
def place(
    any_mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path_factory: pytest.TempPathFactory
) -> Place:
    top = tmp_path_factory.mktemp("interrupts")
    app = compiler.text(any_mpi, "program.c", PROGRAM)
    launch = any_mpi.launch(2)
    environment = dict(any_mpi.environment())
    runs = top / "runs"
    for name, options in (("profile", ["--series", "step"]), ("trace", ["--series", "step", "--trace"])):
        watch = [str(haloscope), "run", "--quiet", *options, "-o", str(runs / f"{name}.halo"), "--"]
        runs.mkdir(exist_ok=True)
        subprocess.run(
            [*watch, *map(str, launch), str(app), "30000"], env=environment, check=True, timeout=300
        )
    values = {
        "haloscope": str(haloscope),
        "app": str(app),
        "launch": " ".join(map(str, launch)),
        "launcher": str(launch[0]),
        "profile": str(runs / "profile.halo"),
        "trace": str(runs / "trace.halo"),
        "directory": str(runs),
    }
    sweep = [str(haloscope), *"bench collective bcast -n 2 -m 8:64 -o".split(), str(runs / "sweep.jsonl")]
    subprocess.run(
        [*sweep, "--", str(launch[0])], env=environment, check=True, timeout=300, capture_output=True
    )
    return Place(values, environment, top)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.words.split(" -- ")[0][:30])
def test_ctrl_c_leaves_nothing_half_done(place: Place, case: Case) -> None:
    name = f"case-{CASES.index(case)}"
    started = time.monotonic()
    child, directory, keyboard = place.start(case, f"{name}-whole")
    _, said = child.communicate(timeout=300)
    os.close(keyboard)
    assert child.returncode == 0, said
    duration = time.monotonic() - started
    child, directory, keyboard = place.start(case, f"{name}-stopped")
    time.sleep(duration * random.Random(case.words).uniform(0.3, 1))
    # By the key: of who sends it otherwise nobody knows whether launchers got it, too, and Open MPI's may
    # wait for itself for ever if it gets two at once (it allocates memory in its handler).
    os.write(keyboard, b"\x03")
    _, said = child.communicate(timeout=60)
    # A launcher that is interrupted may end with 1, which its verb does as well.
    assert child.returncode in (0, 1, 128 + signal.SIGINT, -signal.SIGINT), said
    assert "Traceback" not in said
    assert is_gone(child.pid)
    os.close(keyboard)
    aside = [path.name for path in Path(f"{directory}.tmp").iterdir()]
    assert [file for file in aside if not file.startswith("ompi.")] == []  # Open MPI's own may stay
    left = {path.name for path in directory.iterdir()} - {"campaign.yaml"}
    assert left <= set(case.leaves)
    assert all(is_whole(directory / name) for name in left)


def is_gone(group: int) -> bool:
    """Return whether nothing of a process group is left, or will be soon."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def is_whole(path: Path) -> bool:
    """Return whether somebody who reads a result finds all of it."""
    return WHOLE.get(path.suffix, Path.exists)(path)


def opens(path: Path) -> bool:
    with front.open(path) as profile:
        return profile.table("regions").height > 0


WHOLE: Mapping[str, Callable[[Path], bool]] = {
    ".halo": opens,
    ".html": lambda path: path.read_text().rstrip().endswith("</html>"),
    ".json": lambda path: bool(json.loads(path.read_text())),
    ".yaml": lambda path: bool(load_machine(path)),
    ".jsonl": lambda path: all(map(json.loads, path.read_text().splitlines())),
    ".toml": lambda path: "[regions" in path.read_text(),
}
