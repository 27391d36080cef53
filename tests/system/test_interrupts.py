"""Ctrl-C at any moment, in each verb: nothing is half-written, left running, or left in temporary files."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

import haloscope as product
from haloscope.cli import haloscope as command
from haloscope.predict import load_machine
from support.limits import HANG
from support.mpi import Mpi
from support.otf2_tools import need_otf2
from support.programs import Compiler

# Exchanges as often as its first argument, 0: until it is ended. Writes the second after the first exchange.
PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <haloscope/region.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, number = 7, most = atoi(argv[1]);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; !most || i < most; ++i) {
    HALOSCOPE_REGION_BEGIN("step");
    MPI_Sendrecv_replace(&number, 1, MPI_INT, 1 - rank, 0, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    HALOSCOPE_REGION_END("step");
    if (i == 0 && rank == 0 && argc > 2) fclose(fopen(argv[2], "w"));
  }
  return MPI_Finalize();
}
"""
CAMPAIGN = """
campaign: two
systems: {{here: {{cores: 2, launch: "{launch}"}}}}
programs: {{app: {{command: "{app} {program}"}}}}
experiments: {{both: {{program: app, ranks: 2}}}}
repetitions: 3
"""
AT_ONCE = set("env where show doctor hang top recover".split())  # they write nothing, or nothing to speak of
# A study that is killed goes on (tests/reproduce/test_study.py); demo is `run` and `report`.
ELSEWHERE = {"study", "demo"}


@dataclass(frozen=True)
class Case:
    """A command line of a verb. `{app}`, `{launch}`, `{profile}`, `{trace}`, `{directory}` are put in."""

    words: str
    leaves: tuple[str, ...] = ()
    in_make_test: bool = False

    @property
    def verb(self) -> str:
        """The first word."""
        return self.words.split()[0]


CASES = (
    # What the ranks left that ended too late for the first profile is one of its own.
    Case("run --trace -o out.halo -- {launch} {app} {program}", ("out.halo", "out-2.halo"), True),
    Case("report {trace} -o out.html", ("out.html",), True),
    Case("findings {trace}"),
    Case("export {trace} --to otf2 -o out", ("out",)),
    Case("export {trace} --to perfetto -o out.pftrace", ("out.pftrace",), True),
    Case("export {profile} --to cali -o out.cali", ("out.cali",)),
    Case("history {directory}"),
    Case("regimes {profile} --region step -o out.html", ("out.html",)),
    Case("compare {profile} -- {trace} -o out.html", ("out.html",)),
    Case("check --write-rules {profile} {profile} {profile} out.toml", ("out.toml",)),
    Case("bench p2p -m 8 -o out.yaml -- {launcher}", ("out.yaml",)),
    Case("bench collective bcast -n 2 -m 8:64 -o out.jsonl -- {launcher}", ("out.jsonl",), True),
    Case("bench model orfeo bcast -n 2:64 -o out.html", ("out.html",)),
    Case("tune {directory}/sweep.jsonl --rounds 0 -o out.conf", ("out.conf", "out.gains.json")),
    Case("simulate --platform torus {profile} -o out.halo", ("out.halo",)),
    Case("inject --latency constant:10us -- {launch} {app} {program}"),
    Case("shm -- {launch} {app} {program}"),
    Case("place {profile} -- {launch} {app} {program}"),
    Case("improve -o out.html -- {launch} {app} {program}", ("out.html",)),
    Case("campaign run campaign.yaml", ("two",), True),
)


@dataclass(frozen=True)
class Running:
    """A command that runs at a terminal of its own."""

    child: subprocess.Popen[str]
    directory: Path
    keyboard: int
    started: Path

    def end(self) -> str:
        """Wait for its end. Return its standard error."""
        _, said = self.child.communicate()
        os.close(self.keyboard)
        return said

    def interrupt(self) -> str:
        """Press Ctrl-C, and wait for the end.

        A signal that is sent otherwise may arrive twice, and Open MPI's launcher may hang then, as its
        handler allocates memory.
        """
        os.write(self.keyboard, b"\x03")
        return self.end()


@dataclass(frozen=True)
class Place:
    """Values of placeholders in command lines, the commands' environment, and their parent directory."""

    values: Mapping[str, str]
    environment: Mapping[str, str]
    top: Path

    def start(self, case: Case, name: str, exchanges: int) -> Running:
        """Start a command line in an empty directory, with an empty one for temporary files."""
        directory, aside, started = (self.top / f"{name}{suffix}" for suffix in ("", ".tmp", ".started"))
        directory.mkdir()
        aside.mkdir()
        values = {**self.values, "program": f"{exchanges} {started}"}
        (directory / "campaign.yaml").write_text(CAMPAIGN.format_map(values))
        words = [word.format_map(values).split() for word in case.words.split()]
        keyboard, terminal = os.openpty()
        # The tests may have inherited ignored signals, as in the background.
        at_terminal = ["env", "--default-signal", "setsid", "--ctty"]
        child = subprocess.Popen(
            [*at_terminal, self.values["haloscope"], *(part for word in words for part in word)],
            cwd=directory,
            env={**self.environment, "TMPDIR": str(aside)},
            stdin=terminal,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        os.close(terminal)
        return Running(child, directory, keyboard, started)


def test_each_verb_is_tried_or_is_over_at_once() -> None:
    verbs = command.list_commands(click.Context(command))
    assert {case.verb for case in CASES} | AT_ONCE | ELSEWHERE == set(verbs)


@pytest.fixture(scope="module")
def place(
    any_mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path_factory: pytest.TempPathFactory
) -> Place:
    top = tmp_path_factory.mktemp("interrupts")
    app = compiler.text(any_mpi, "program.c", PROGRAM)
    launch = any_mpi.launch(2)
    environment = dict(any_mpi.environment())
    runs = top / "runs"
    runs.mkdir()
    for name, options in (("profile", ["--series", "step"]), ("trace", ["--series", "step", "--trace"])):
        watch = [str(haloscope), "run", "--quiet", *options, "-o", str(runs / f"{name}.halo"), "--"]
        subprocess.run([*watch, *map(str, launch), str(app), "3000"], env=environment, check=True)
    values = {
        "haloscope": str(haloscope),
        "app": str(app),
        "launch": " ".join(map(str, launch)),
        "launcher": str(launch[0]),
        "profile": str(runs / "profile.halo"),
        "trace": str(runs / "trace.halo"),
        "directory": str(runs),
    }
    return Place(values, environment, top)


@pytest.fixture(scope="module")
def with_sweep(place: Place) -> Place:
    """Also `sweep.jsonl`, a measurement of collectives."""
    words = "bench collective bcast -n 2 -m 8:64 -o".split()
    sweep = [place.values["haloscope"], *words, f"{place.values['directory']}/sweep.jsonl", "--"]
    environment = place.environment
    subprocess.run([*sweep, place.values["launcher"]], env=environment, check=True, capture_output=True)
    return place


def name_of(case: Case) -> str:
    return case.words.split(" -- ")[0][:30]


@pytest.mark.parametrize("case", [case for case in CASES if case.in_make_test], ids=name_of)
def test_ctrl_c_leaves_nothing_half_done(place: Place, case: Case) -> None:
    """When its ranks exchange, or its first measurement is there, or it has loaded what reads tables."""
    running = place.start(case, f"case-{CASES.index(case)}", 0)
    wait_for_work(running, case)
    check_end(running, case, running.interrupt())


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_ctrl_c_at_any_moment(with_sweep: Place, case: Case, request: pytest.FixtureRequest) -> None:
    if "otf2" in case.words:
        need_otf2()
    if case.verb == "simulate":
        request.getfixturevalue("simgrid")
    name, begun = f"any-{CASES.index(case)}", time.monotonic()
    whole = with_sweep.start(case, f"{name}-whole", 100_000)
    said = whole.end()
    assert whole.child.returncode == 0, said
    moment = (time.monotonic() - begun) * random.uniform(0.3, 1)
    running = with_sweep.start(case, name, 100_000)
    time.sleep(moment)
    wait_for_work(running, case)
    check_end(running, case, f"after {moment} s\n{running.interrupt()}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_after_the_program(any_mpi: Mpi, haloscope: Path, tmp_path: Path, number: int) -> None:
    """Its status stays, and nothing is left. It makes a pipe of the file that the verb reads then."""
    aside = tmp_path / "aside"
    aside.mkdir()
    script = 'rm "$HALOSCOPE_INJECT_SUMMARY"; mkfifo "$HALOSCOPE_INJECT_SUMMARY"; exit 7'
    inject = ["env", "--default-signal", haloscope, "inject", "--latency", "constant:1us", "--"]
    with subprocess.Popen(
        [*map(str, inject), *any_mpi.launch(1), "sh", "-c", script],
        env={**any_mpi.environment(), "TMPDIR": str(aside)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        writing = None
        while writing is None and running.poll() is None:
            with contextlib.suppress(OSError, ValueError):  # nothing reads it yet
                (pipe,) = aside.glob("haloscope-inject-*")
                writing = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK) if pipe.is_fifo() else None
            time.sleep(0.005)
        running.send_signal(number)
        _, said = running.communicate()
    assert writing is not None, said
    os.close(writing)
    assert (running.returncode, said.count("interrupted: what follows")) == (7, 1), said
    assert not list(aside.glob("haloscope-*"))


def wait_for_work(running: Running, case: Case) -> None:
    """Wait until the interpreter has started, and the verb has: Ctrl-C before is Python's, not ours."""
    while running.child.poll() is None and not is_at_work(running, case):
        time.sleep(0.005)


def is_at_work(running: Running, case: Case) -> bool:
    if "{program}" in case.words or case.verb == "campaign":
        return running.started.exists()
    if "out.jsonl" in case.leaves:
        result = running.directory / "out.jsonl"
        return result.exists() and result.stat().st_size > 0
    if case.verb == "bench":
        return True
    with contextlib.suppress(OSError):  # it may end now
        return "polars" in Path(f"/proc/{running.child.pid}/maps").read_text()
    return False


def check_end(running: Running, case: Case, said: str) -> None:
    # A launcher that is interrupted may end with 1, which its verb does as well.
    assert running.child.returncode in (0, 1, 128 + signal.SIGINT, -signal.SIGINT), said
    assert "Traceback" not in said
    assert is_gone(running.child.pid), said
    aside = [path.name for path in Path(f"{running.directory}.tmp").iterdir()]
    assert [file for file in aside if not file.startswith("ompi.")] == []  # Open MPI's own may stay
    left = {path.name for path in running.directory.iterdir()} - {"campaign.yaml"}
    assert left <= set(case.leaves), said
    assert all(is_whole(running.directory / name) for name in left), said


def is_gone(group: int) -> bool:
    """Return whether nothing of a process group is left, or will be soon."""
    until = time.monotonic() + HANG
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def is_whole(path: Path) -> bool:
    """Return whether a reader finds all of a result."""
    return WHOLE.get(path.suffix, Path.exists)(path)


def opens(path: Path) -> bool:
    with product.open(path) as profile:
        return profile.table("regions").height > 0


WHOLE: Mapping[str, Callable[[Path], bool]] = {
    ".halo": opens,
    ".html": lambda path: path.read_text().rstrip().endswith("</html>"),
    ".json": lambda path: bool(json.loads(path.read_text())),
    ".yaml": lambda path: bool(load_machine(path)),
    ".jsonl": lambda path: all(map(json.loads, path.read_text().splitlines())),
    ".toml": lambda path: "[regions" in path.read_text(),
}
