"""Verification in real runs that each rule takes effect, because the libraries ignore bad files silently.

Open MPI: a program with the witness calls each collective once. The function that runs with the rules must be
the one that runs if the algorithm is selected by its variable, as in the measurement. MPICH: its functions
cannot be observed. A rule that is replaced by an algorithm of a different collective makes the matching call
abort.
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
from haloscope.predict.tune.formats import Format, find_format, make_settings
from haloscope.predict.tune.mpich_rules import Tree, break_rule
from haloscope.predict.tune.tuning_rules import count_bytes

_SECONDS = 60.0


@dataclass(frozen=True)
class Seen:
    """The function of the library that ran a collective; None if the witness does not know it."""

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
    """The result of a rule in a real run; `problem` is None if it took effect."""

    problem: str | None
    default: str = "default"
    tuned: str = ""

    @property
    def verified(self) -> bool:
        """Whether the rule took effect."""
        return self.problem is None


@dataclass(frozen=True)
class Bench:
    """The environment for trials of rules: the library, its file and compiler, and the mapping of ranks."""

    library: Library
    file: Path
    compiler: Path
    form: Format
    mapping: str | None = None

    @classmethod
    def here(cls, launcher: Sequence[str] = (), mapping: str | None = None) -> Bench:
        """Return the environment of the `mpicc` in use.

        Raises `RecorderError` if its library reads no rules.
        """
        used, tools = library(launcher), toolchain()
        file = describe(program("variables", tools.compiler)).file
        if file is None:
            raise RecorderError(
                f"{used.name}: the file of the library is not found, so no rule can be verified"
            )
        return cls(used, file, tools.compiler, find_format(used), mapping)

    def exercise(self) -> Path:
        """Return the program that calls each collective once."""
        return build_exercise(self.compiler, None if self.form == "mpich-json" else self.file)

    def run(
        self, points: Iterable[CollectivePoint], environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Call the collectives of one number of ranks. Raises `RecorderError` after a minute."""
        ordered = sorted(points)
        words = [str(self.exercise()), *(f"{point.collective}:{point.bytes}" for point in ordered)]
        command = self.library.launch(words, ordered[0].ranks, environment, self.mapping)
        try:
            return subprocess.run(
                command,
                env=launch_environment(ordered[0].ranks, environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise RecorderError(f"{ordered[0]}: no answer within a minute with the rules") from None
        except OSError as error:
            raise RecorderError(f"{command[0]}: cannot be started ({error.strerror})") from None


def verify(
    bench: Bench, rules_file: Path, chosen: Mapping[CollectivePoint, Algorithm]
) -> dict[CollectivePoint, TuneVerdict]:
    """Return for each point whether the library uses the chosen algorithm with this file."""
    by_ranks: dict[int, list[CollectivePoint]] = {}
    for point in sorted(chosen):
        by_ranks.setdefault(point.ranks, []).append(point)
    verdicts: dict[CollectivePoint, TuneVerdict] = {}
    collectives = sorted({point.collective for point in chosen})
    environment = make_settings(bench.form, rules_file, collectives)
    for points in by_ranks.values():
        if bench.form == "mpich-json":
            verdicts |= _verify_by_abort(bench, rules_file, environment, points)
        else:
            verdicts |= _verify_by_witness(bench, environment, {point: chosen[point] for point in points})
    return verdicts


def observe_functions(
    bench: Bench, points: Sequence[CollectivePoint], environment: Mapping[str, str]
) -> dict[CollectivePoint, Ran]:
    """Return the functions of Open MPI that ran for each point, from the witness."""
    with tempfile.TemporaryDirectory(prefix="haloscope-witness-") as directory:
        done = bench.run(points, {**environment, "HALOSCOPE_WITNESS": directory})
        if done.returncode:
            raise RecorderError(f"{points[0]}: the library refuses: {_reason_text(done)}")
        seen = read_seen(Path(directory))
    return {point: seen.get(_make_key(point), frozenset()) for point in points}


def _make_key(point: CollectivePoint) -> tuple[str, int, int]:
    return point.collective, point.ranks, count_bytes(point.collective, point.ranks, point.bytes)


def _verify_by_witness(
    bench: Bench, environment: Mapping[str, str], chosen: Mapping[CollectivePoint, Algorithm]
) -> dict[CollectivePoint, TuneVerdict]:
    points = list(chosen)
    default = observe_functions(bench, points, {})
    tuned = observe_functions(bench, points, environment)
    selected = observe_selected(bench, chosen)
    return {
        point: TuneVerdict(
            _find_problem(point, default[point], tuned[point], selected[point]),
            functions_text(default[point]),
            functions_text(tuned[point]),
        )
        for point in points
    }


def observe_selected(bench: Bench, chosen: Mapping[CollectivePoint, Algorithm]) -> dict[CollectivePoint, Ran]:
    """Return the functions that run if each algorithm is selected by its variable, as in the measurement."""
    waiting: dict[str, list[Algorithm]] = {}
    for algorithm in dict.fromkeys(chosen.values()):
        waiting.setdefault(algorithm.collective, []).append(algorithm)
    ran: dict[CollectivePoint, Ran] = {}
    while any(waiting.values()):
        # One algorithm of each collective per run, because their variables do not conflict.
        now = [ones.pop() for ones in waiting.values() if ones]
        points = [point for point, algorithm in chosen.items() if algorithm in now]
        environment = {
            name: value for selected_algorithm in now for name, value in selected_algorithm.settings
        }
        ran |= observe_functions(bench, points, environment)
    return ran


def _find_problem(point: CollectivePoint, default: Ran, tuned: Ran, selected: Ran) -> str | None:
    unknown = Seen(None)
    if unknown in selected or not selected:
        return f"{point}: the component tuned does not run even if its algorithm is selected by variable"
    if selected == default:
        return (
            f"{point}: {functions_text(default)} runs with and without the rule: the component tuned is not "
            "in use, or selects it by default"
        )
    if tuned == selected:
        return None
    if unknown in tuned or not tuned:
        return f"{point}: a different component runs it (han, sm …): coll_tuned_priority has no effect"
    if tuned == default:
        return f"{point}: the rule has no effect: {functions_text(default)} runs with and without it"
    return f"{point}: {functions_text(tuned)} runs instead of {functions_text(selected)}"


def functions_text(ran: Ran) -> str:
    """Return the names of the functions that ran."""
    return " + ".join(sorted(map(str, ran))) or "nothing seen"


def _verify_by_abort(
    bench: Bench, rules_file: Path, environment: Mapping[str, str], points: Sequence[CollectivePoint]
) -> dict[CollectivePoint, TuneVerdict]:
    """Verify with MPICH: it accepts the rules, and aborts if a rule is broken on purpose."""
    done = bench.run(points, environment)
    if done.returncode:
        refused = f"the library refuses the rules: {_reason_text(done)}"
        return {point: TuneVerdict(f"{point}: {refused}") for point in points}
    text = rules_file.read_text()
    return {point: _check_abort(bench, json.loads(text), environment, point) for point in points}


def _check_abort(
    bench: Bench, rules: Tree, environment: Mapping[str, str], point: CollectivePoint
) -> TuneVerdict:
    try:
        tree = break_rule(rules, point.collective, point.ranks, point.bytes)
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
    return TuneVerdict(f"{point}: the call does not match the rule")


def _reason_text(done: subprocess.CompletedProcess[str]) -> str:
    return " ".join((done.stderr or done.stdout).split())[:160] or f"status {done.returncode}"


_SYMBOL = re.compile(rb"(?<=\0)ompi_coll_base_([a-z]+(?:_scatter(?:_block)?)?)_intra_(\w+)(?=\0)")
# Index of the communicator among an algorithm's arguments; the module follows.
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
    """Return the program that calls each collective once.

    With `library`, an Open MPI, including the witness.
    """
    folder = paths.source("src", "predict", "witness")
    header = make_algorithms_header(library) if library else ""
    names = ["exercise.cpp", "witness.cpp"] if library else ["exercise.cpp"]
    sources = [folder / name for name in names]
    target = "exercise-" + fingerprint(sources, header, str(compiler), compiler_identity(str(compiler)))

    def build(directory: Path) -> None:
        (directory / "algorithms.h").write_text(header, encoding="utf-8")
        # The witness's functions precede those of the library only if the program exports them.
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


def make_algorithms_header(library: Path) -> str:
    """Return the text of `algorithms.h`: all algorithms in the library's symbol table."""
    found = {(m[1].decode(), m[2].decode()) for m in _SYMBOL.finditer(library.read_bytes())}
    lines = []
    for collective, name in sorted(found):
        index = _COMMUNICATOR.get(collective)
        if index is None or (collective, name) == ("bcast", "generic"):
            continue
        segment = index + 2 if name in _SEGMENTED.get(collective, ()) else 0
        fanout = index + 3 if name in _FANNED.get(collective, ()) else 0
        symbol = f"ompi_coll_base_{collective}_intra_{name}"
        lines.append(f'ALGORITHM({symbol}, "{name}", {index}, {segment}, {fanout})')
    return "\n".join(lines) + "\n"


def read_seen(directory: Path) -> Mapping[tuple[str, int, int], frozenset[Seen]]:
    """Return the functions that ran on the ranks, by collective, communicator size and counted bytes."""
    found: dict[tuple[str, int, int], set[Seen]] = {}
    for path in directory.iterdir():
        for line in path.read_text().splitlines():
            collective, ranks, size, name, segment, fanout, _ = line.split()
            seen = Seen(None if name == "-" else name, int(segment), int(fanout))
            found.setdefault((collective, int(ranks), int(size)), set()).add(seen)
    return {key: frozenset(value) for key, value in found.items()}
