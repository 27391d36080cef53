"""Verification in a real run that each rule took effect: the libraries ignore bad files silently.

Open MPI: a program does each collective once with the witness in it. What runs with the rules must
be what runs where the algorithm is asked for by its own variable, as it was when it was measured.
MPICH: its functions cannot be watched; another collective's algorithm in the place of a rule makes
the call that meets it stop.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from haloscope.base import paths
from haloscope.base.cache import build_once, cache, fingerprint
from haloscope.base.errors import RecorderError, UsageError
from haloscope.base.toolchain import compiler_identity, run_logged, toolchain
from haloscope.predict.bench.launches import launch_environment
from haloscope.predict.bench.library_in_use import library
from haloscope.predict.bench.workload import CollectivePoint
from haloscope.predict.mpi_library import Algorithm, Library, describe, program
from haloscope.predict.tune.formats import Format, format_of, settings
from haloscope.predict.tune.mpich_rules import Tree, canary
from haloscope.predict.tune.tuning_rules import counted_bytes

_SECONDS = 60.0


@dataclass(frozen=True)
class Seen:
    """What did a collective: one of the library's functions, or none that the witness knows."""

    function: str | None
    segment: int = 0
    fanout: int = 0

    def __str__(self) -> str:
        if self.function is None:
            return "another component"
        details = [f"{self.segment} B" if self.segment else "", f"×{self.fanout}" * bool(self.fanout)]
        return " ".join([self.function, *filter(None, details)])


Ran = frozenset[Seen]


@dataclass(frozen=True)
class TuneVerdict:
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
        """Return that of the `mpicc` in use. Raises `RecorderError` where it reads no rules."""
        used, tools = library(launcher), toolchain()
        file = describe(program("variables", tools.compiler)).file
        if file is None:
            raise RecorderError(f"{used.name}: its library's file is not found, so no rule can be verified")
        return cls(used, file, tools.compiler, format_of(used), mapping)

    def exercise(self) -> Path:
        """Return the program that does collectives once."""
        return build_exercise(self.compiler, None if self.form == "mpich-json" else self.file)

    def run(
        self, points: Iterable[CollectivePoint], environment: Mapping[str, str]
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


def verify(
    bench: Bench, rules_file: Path, chosen: Mapping[CollectivePoint, Algorithm]
) -> dict[CollectivePoint, TuneVerdict]:
    """Return for each point whether the file makes the library use the algorithm that was chosen."""
    by_ranks: dict[int, list[CollectivePoint]] = {}
    for point in sorted(chosen):
        by_ranks.setdefault(point.ranks, []).append(point)
    verdicts: dict[CollectivePoint, TuneVerdict] = {}
    collectives = sorted({point.collective for point in chosen})
    environment = settings(bench.form, rules_file, collectives)
    for points in by_ranks.values():
        if bench.form == "mpich-json":
            verdicts |= _stopped(bench, rules_file, environment, points)
        else:
            verdicts |= _witnessed(bench, environment, {one: chosen[one] for one in points})
    return verdicts


def what_ran(
    bench: Bench, points: Sequence[CollectivePoint], environment: Mapping[str, str]
) -> dict[CollectivePoint, Ran]:
    """Return which of Open MPI's functions did each point, by the witness."""
    with tempfile.TemporaryDirectory(prefix="haloscope-witness-") as directory:
        done = bench.run(points, {**environment, "HALOSCOPE_WITNESS": directory})
        if done.returncode:
            raise RecorderError(f"{points[0]}: the library refuses: {_reason(done)}")
        seen = read_seen(Path(directory))
    return {one: seen.get(_key(one), frozenset()) for one in points}


def _key(point: CollectivePoint) -> tuple[str, int, int]:
    return point.collective, point.ranks, counted_bytes(point.collective, point.ranks, point.bytes)


def _witnessed(
    bench: Bench, environment: Mapping[str, str], chosen: Mapping[CollectivePoint, Algorithm]
) -> dict[CollectivePoint, TuneVerdict]:
    points = list(chosen)
    default = what_ran(bench, points, {})
    tuned = what_ran(bench, points, environment)
    asked = when_asked(bench, chosen)
    return {
        one: TuneVerdict(
            _problem(one, default[one], tuned[one], asked[one]),
            describe_ran(default[one]),
            describe_ran(tuned[one]),
        )
        for one in points
    }


def when_asked(bench: Bench, chosen: Mapping[CollectivePoint, Algorithm]) -> dict[CollectivePoint, Ran]:
    """Return what runs where each algorithm is asked for by its own variable, as when it was measured."""
    waiting: dict[str, list[Algorithm]] = {}
    for algorithm in dict.fromkeys(chosen.values()):
        waiting.setdefault(algorithm.collective, []).append(algorithm)
    ran: dict[CollectivePoint, Ran] = {}
    while any(waiting.values()):
        # One of each collective in a run: their variables do not meet.
        now = [ones.pop() for ones in waiting.values() if ones]
        points = [point for point, algorithm in chosen.items() if algorithm in now]
        environment = {name: value for one in now for name, value in one.settings}
        ran |= what_ran(bench, points, environment)
    return ran


def _problem(point: CollectivePoint, default: Ran, tuned: Ran, asked: Ran) -> str | None:
    unknown = Seen(None)
    if unknown in asked or not asked:
        return f"{point}: no algorithm of the component tuned is seen even where it is asked for"
    if asked == default:
        return (
            f"{point}: {describe_ran(default)} runs with the rule and without: the component tuned is not "
            "in use, or takes it anyway"
        )
    if tuned == asked:
        return None
    if unknown in tuned or not tuned:
        return f"{point}: another component does it (han, sm …): coll_tuned_priority has no effect"
    if tuned == default:
        return f"{point}: the rule has no effect, {describe_ran(default)} runs as without it"
    return f"{point}: {describe_ran(tuned)} runs instead of {describe_ran(asked)}"


def describe_ran(ran: Ran) -> str:
    """Return what ran, in a word."""
    return " + ".join(sorted(map(str, ran))) or "nothing seen"


def _stopped(
    bench: Bench, rules_file: Path, environment: Mapping[str, str], points: Sequence[CollectivePoint]
) -> dict[CollectivePoint, TuneVerdict]:
    """MPICH: it goes on with the rules as they are, and stops where they are broken on purpose."""
    done = bench.run(points, environment)
    if done.returncode:
        refused = f"the library refuses the rules: {_reason(done)}"
        return {one: TuneVerdict(f"{one}: {refused}") for one in points}
    text = rules_file.read_text()
    return {one: _stops(bench, json.loads(text), environment, one) for one in points}


def _stops(bench: Bench, rules: Tree, environment: Mapping[str, str], point: CollectivePoint) -> TuneVerdict:
    try:
        tree = canary(rules, point.collective, point.ranks, point.bytes)
    except UsageError as error:
        return TuneVerdict(str(error))
    with tempfile.TemporaryDirectory(prefix="haloscope-witness-") as directory:
        broken = Path(directory) / "rules.json"
        broken.write_text(json.dumps(tree))
        changed = {
            name: str(broken) if name.endswith("JSON_FILE") else value for name, value in environment.items()
        }
        done = bench.run([point], changed)
    if done.returncode and "mpir_coll" in done.stdout + done.stderr:
        return TuneVerdict(None)
    return TuneVerdict(f"{point}: the call does not meet the rule")


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    return " ".join((done.stderr or done.stdout).split())[:160] or f"status {done.returncode}"


_SYMBOL = re.compile(rb"(?<=\0)ompi_coll_base_([a-z]+(?:_scatter(?:_block)?)?)_intra_(\w+)(?=\0)")
# Where an algorithm's communicator is among its arguments, from 0; the module follows.
_COMMUNICATOR = {
    "allgather": 6,
    "allgatherv": 7,
    "allreduce": 5,
    "alltoall": 6,
    "alltoallv": 8,
    "barrier": 0,
    "bcast": 4,
    "exscan": 5,
    "gather": 7,
    "reduce": 6,
    "reduce_scatter": 5,
    "reduce_scatter_block": 5,
    "scan": 5,
    "scatter": 7,
}
_SEGMENTED = {
    "allreduce": {"ring_segmented"},
    "bcast": {
        "binomial",
        "bintree",
        "chain",
        "knomial",
        "pipeline",
        "scatter_allgather",
        "scatter_allgather_ring",
        "split_bintree",
    },
    "gather": {"linear_sync"},
    "reduce": {"binary", "binomial", "chain", "in_order_binary", "pipeline"},
}
_FANNED = {"bcast": {"chain", "knomial"}, "reduce": {"chain", "knomial"}}


def build_exercise(compiler: Path, library: Path | None) -> Path:
    """Return the program that does each collective once; with `library`, an Open MPI, the witness too."""
    folder = paths.source("src", "predict", "witness")
    header = algorithms_header(library) if library else ""
    names = ["exercise.cpp", "witness.cpp"] if library else ["exercise.cpp"]
    sources = [folder / name for name in names]
    target = "exercise-" + fingerprint(sources, header, str(compiler), compiler_identity(str(compiler)))

    def build(directory: Path) -> None:
        (directory / "algorithms.h").write_text(header, encoding="utf-8")
        # The witness's functions stand before the library's only if the program exports them.
        command = [
            str(compiler),
            "-std=c++20",
            "-O2",
            "-rdynamic",
            "-I",
            str(directory),
            *map(str, sources),
            "-o",
            str(directory / "exercise"),
            "-ldl",
        ]
        log = cache() / "exercise-build.log"
        run_logged(command, "building the witness", log, dict(os.environ))

    return build_once(target, build, f"building the witness with {compiler}", quiet=False) / "exercise"


def algorithms_header(library: Path) -> str:
    """Return the text of `algorithms.h`: all algorithms that the library's symbol table names."""
    found = {(m[1].decode(), m[2].decode()) for m in _SYMBOL.finditer(library.read_bytes())}
    lines = []
    for collective, name in sorted(found):
        place = _COMMUNICATOR.get(collective)
        if place is None or (collective, name) == ("bcast", "generic"):
            continue
        segment = place + 2 if name in _SEGMENTED.get(collective, ()) else 0
        fanout = place + 3 if name in _FANNED.get(collective, ()) else 0
        symbol = f"ompi_coll_base_{collective}_intra_{name}"
        lines.append(f'ALGORITHM({symbol}, "{name}", {place}, {segment}, {fanout})')
    return "\n".join(lines) + "\n"


def read_seen(directory: Path) -> Mapping[tuple[str, int, int], frozenset[Seen]]:
    """Return what ranks saw, by collective, communicator size and counted bytes."""
    found: dict[tuple[str, int, int], set[Seen]] = {}
    for path in directory.iterdir():
        for line in path.read_text().splitlines():
            collective, ranks, size, name, segment, fanout, _ = line.split()
            seen = Seen(None if name == "-" else name, int(segment), int(fanout))
            found.setdefault((collective, int(ranks), int(size)), set()).add(seen)
    return {key: frozenset(value) for key, value in found.items()}
