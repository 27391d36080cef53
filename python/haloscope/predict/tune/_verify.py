"""Verification in a real run that each rule took effect: the libraries ignore bad files silently.

Open MPI: a program does each collective once with the witness in it. What runs with the rules must
be what runs where the algorithm is asked for by its own variable, as it was when it was measured.
MPICH: its functions cannot be watched; another collective's algorithm in the place of a rule makes
the call that meets it stop.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from haloscope.base.errors import RecorderError, UsageError
from haloscope.base.toolchain import toolchain
from haloscope.predict.bench._collective import launch_environment
from haloscope.predict.bench._mpi_library import Algorithm, Library, describe, library, program
from haloscope.predict.tune._formats import Format, format_of, settings
from haloscope.predict.tune._mpich_rules import Tree, canary
from haloscope.predict.tune._rules import counted_bytes
from haloscope.predict.tune._witness import Seen, build_exercise, read_seen

__all__ = ["Bench", "Point", "Verdict", "said", "verify", "what_ran", "when_asked"]

_SECONDS = 60.0
Ran = frozenset[Seen]


@dataclass(frozen=True, order=True)
class Point:
    """A collective of OSU's size on so many ranks."""

    collective: str
    ranks: int
    bytes: int

    def __str__(self) -> str:
        return f"{self.collective} of {self.bytes} B on {self.ranks} ranks"


@dataclass(frozen=True)
class Verdict:
    """What became of a rule in a real run; `problem` is None if it took effect."""

    problem: str | None
    default: str = "default"
    tuned: str = ""

    @property
    def verified(self) -> bool:
        """True if the rule was seen to take effect."""
        return self.problem is None


@dataclass(frozen=True)
class Bench:
    """Where rules are tried: the library, its file and compiler, and the mapping of ranks."""

    library: Library
    file: Path
    compiler: Path
    form: Format
    mapping: str | None = None

    @classmethod
    def here(cls, launcher: Sequence[str] = (), mapping: str | None = None) -> Bench:
        """That of the `mpicc` in use. Raises `RecorderError` where it reads no rules."""
        used, tools = library(launcher), toolchain()
        file = describe(program("variables", tools.compiler)).file
        if file is None:
            raise RecorderError(f"{used.name}: its library's file is not found, so no rule can be verified")
        return cls(used, file, tools.compiler, format_of(used), mapping)

    def exercise(self) -> Path:
        """The program that does collectives once."""
        return build_exercise(self.compiler, None if self.form == "mpich-json" else self.file)

    def run(
        self, points: Iterable[Point], environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Do the collectives of one number of ranks. Raises `RecorderError` after a minute."""
        asked = sorted(points)
        words = [str(self.exercise()), *(f"{one.collective}:{one.bytes}" for one in asked)]
        command = self.library.launch(words, asked[0].ranks, environment, self.mapping)
        try:
            return subprocess.run(
                command,
                env=launch_environment(asked[0].ranks, environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise RecorderError(f"{asked[0]}: no answer within a minute with the rules") from None
        except OSError as error:
            raise RecorderError(f"{command[0]}: cannot be started ({error.strerror})") from None


def verify(bench: Bench, rules_file: Path, chosen: Mapping[Point, Algorithm]) -> dict[Point, Verdict]:
    """For each point for which an algorithm was chosen: did the file make the library use it?"""
    by_ranks: dict[int, list[Point]] = {}
    for point in sorted(chosen):
        by_ranks.setdefault(point.ranks, []).append(point)
    verdicts: dict[Point, Verdict] = {}
    collectives = sorted({point.collective for point in chosen})
    environment = settings(bench.form, rules_file, collectives)
    for points in by_ranks.values():
        if bench.form == "mpich-json":
            verdicts |= _stopped(bench, rules_file, environment, points)
        else:
            verdicts |= _witnessed(bench, environment, {one: chosen[one] for one in points})
    return verdicts


def what_ran(bench: Bench, points: Sequence[Point], environment: Mapping[str, str]) -> dict[Point, Ran]:
    """Which of Open MPI's functions did each point, by the witness."""
    with tempfile.TemporaryDirectory(prefix="haloscope-witness-") as directory:
        done = bench.run(points, {**environment, "HALOSCOPE_WITNESS": directory})
        if done.returncode:
            raise RecorderError(f"{points[0]}: the library refuses: {_reason(done)}")
        seen = read_seen(Path(directory))
    return {one: seen.get(_key(one), frozenset()) for one in points}


def _key(point: Point) -> tuple[str, int, int]:
    return point.collective, point.ranks, counted_bytes(point.collective, point.ranks, point.bytes)


def _witnessed(
    bench: Bench, environment: Mapping[str, str], chosen: Mapping[Point, Algorithm]
) -> dict[Point, Verdict]:
    points = list(chosen)
    default = what_ran(bench, points, {})
    tuned = what_ran(bench, points, environment)
    asked = when_asked(bench, chosen)
    return {
        one: Verdict(
            _problem(one, default[one], tuned[one], asked[one]), said(default[one]), said(tuned[one])
        )
        for one in points
    }


def when_asked(bench: Bench, chosen: Mapping[Point, Algorithm]) -> dict[Point, Ran]:
    """What runs where each algorithm is asked for by its own variable, as when it was measured."""
    waiting: dict[str, list[Algorithm]] = {}
    for algorithm in dict.fromkeys(chosen.values()):
        waiting.setdefault(algorithm.collective, []).append(algorithm)
    ran: dict[Point, Ran] = {}
    while any(waiting.values()):
        # One of each collective in a run: their variables do not meet.
        now = [ones.pop() for ones in waiting.values() if ones]
        points = [point for point, algorithm in chosen.items() if algorithm in now]
        environment = {name: value for one in now for name, value in one.settings}
        ran |= what_ran(bench, points, environment)
    return ran


def _problem(point: Point, default: Ran, tuned: Ran, asked: Ran) -> str | None:
    unknown = Seen(None)
    if unknown in asked or not asked:
        return f"{point}: no algorithm of the component tuned is seen even where it is asked for"
    if asked == default:
        return (
            f"{point}: {said(default)} runs with the rule and without: the component tuned is not "
            "in use, or takes it anyway"
        )
    if tuned == asked:
        return None
    if unknown in tuned or not tuned:
        return f"{point}: another component does it (han, sm …): coll_tuned_priority has no effect"
    if tuned == default:
        return f"{point}: the rule has no effect, {said(default)} runs as without it"
    return f"{point}: {said(tuned)} runs instead of {said(asked)}"


def said(ran: Ran) -> str:
    """What ran, in a word."""
    return " + ".join(sorted(map(str, ran))) or "nothing seen"


def _stopped(
    bench: Bench, rules_file: Path, environment: Mapping[str, str], points: Sequence[Point]
) -> dict[Point, Verdict]:
    """MPICH: it goes on with the rules as they are, and stops where they are broken on purpose."""
    done = bench.run(points, environment)
    if done.returncode:
        refused = f"the library refuses the rules: {_reason(done)}"
        return {one: Verdict(f"{one}: {refused}") for one in points}
    text = rules_file.read_text()
    return {one: _stops(bench, json.loads(text), environment, one) for one in points}


def _stops(bench: Bench, rules: Tree, environment: Mapping[str, str], point: Point) -> Verdict:
    try:
        tree = canary(rules, point.collective, point.ranks, point.bytes)
    except UsageError as error:
        return Verdict(str(error))
    with tempfile.TemporaryDirectory(prefix="haloscope-witness-") as directory:
        broken = Path(directory) / "rules.json"
        broken.write_text(json.dumps(tree))
        changed = {
            name: str(broken) if name.endswith("JSON_FILE") else value for name, value in environment.items()
        }
        done = bench.run([point], changed)
    if done.returncode and "mpir_coll" in done.stdout + done.stderr:
        return Verdict(None)
    return Verdict(f"{point}: the call does not meet the rule")


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    return " ".join((done.stderr or done.stdout).split())[:160] or f"status {done.returncode}"
