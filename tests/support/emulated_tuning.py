"""Libraries that heed files of rules as their documentation says, in this process: for tests of tuning.

The readers share no code with what writes the files.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from haloscope.predict.bench import Algorithm, Library
from haloscope.predict.tune import Bench, Point

# Open MPI's numbers of collectives.
COLLECTIVES = {
    "allgather": 0,
    "allgatherv": 1,
    "allreduce": 2,
    "alltoall": 3,
    "barrier": 6,
    "bcast": 7,
    "gather": 9,
    "reduce": 11,
    "reduce_scatter": 12,
    "reduce_scatter_block": 13,
    "scatter": 15,
}
_ALL_RANKS = {"allgather", "alltoall", "gather", "scatter"}  # Open MPI counts the bytes of all ranks
_TREE: dict[str, Any] = {
    "collective=bcast": {
        "comm_type=intra": {"avg_msg_size=any": {"algorithm=MPIR_Bcast_intra_binomial": {}}},
        "comm_type=inter": {"algorithm=MPIR_Bcast_inter_remote_send_local_bcast": {}},
    },
    "collective=ibcast": {"algorithm=MPIR_Ibcast_sched_auto": {}},
    "collective=alltoall": {
        "comm_type=intra": {"algorithm=MPIR_Alltoall_intra_pairwise": {}},
        "comm_type=inter": {"algorithm=MPIR_Alltoall_inter_pairwise_exchange": {}},
    },
    "collective=barrier": {"comm_type=intra": {"algorithm=MPIR_Barrier_intra_smp": {}}},
    "collective=exscan": {"algorithm=MPIR_Exscan_intra_recursive_doubling": {}},
}


def counted(point: Point) -> int:
    """Return the bytes that Open MPI compares with a rule's."""
    if point.collective in {"barrier", "alltoallv"}:
        return 0
    return point.bytes * (point.ranks if point.collective in _ALL_RANKS else 1)


@dataclass(frozen=True, order=True)
class TextRule:
    """A rule of Open MPI's text: from a number of ranks and bytes on."""

    collective: str
    ranks: int
    bytes: int
    number: int
    fanout: int
    segment: int


def read_text(text: str) -> list[TextRule]:
    """Return the rules of Open MPI's file; it ignores a file whose lists do not begin at 0 bytes."""
    words = [int(word) for line in text.splitlines() for word in line.partition("#")[0].split()]
    names = {number: name for name, number in COLLECTIVES.items()}
    numbers = iter(words)
    rules = []
    for _ in range(next(numbers)):
        name = names[next(numbers)]
        for _ in range(next(numbers)):
            ranks, count = next(numbers), next(numbers)
            listed = [TextRule(name, ranks, *(next(numbers) for _ in range(4))) for _ in range(count)]
            assert listed[0].bytes == 0
            rules += listed
    assert next(numbers, None) is None
    return rules


def text_choice(rules: Iterable[TextRule], point: Point) -> tuple[int, int]:
    """Return the number and segment that a call meets: of the nearest smaller communicator, the last rule."""
    mine = [rule for rule in rules if rule.collective == point.collective and rule.ranks <= point.ranks]
    nearest = [rule for rule in mine if rule.ranks == max(each.ranks for each in mine)]
    met = [rule for rule in nearest if rule.bytes <= counted(point)]
    found = max(met, key=lambda rule: rule.bytes, default=None)
    return (found.number, found.segment) if found else (0, 0)


def json_choice(text: str, point: Point) -> tuple[int, int]:
    """Return the number and segment that a call meets in Open MPI 6's JSON."""
    whole = json.loads(text)
    assert (whole["rule_file_version"], whole["module"]) == (3, "tuned")
    met = [
        (rule["alg"], rule.get("seg_size", 0))
        for entry in whole["collectives"].get(point.collective, [])
        if entry["comm_size_min"] <= point.ranks <= entry["comm_size_max"]
        for rule in entry["rules"]
        if rule["msg_size_min"] <= counted(point) <= float(rule["msg_size_max"])
    ]
    assert len(met) <= 1, "ranges overlap"
    return met[0] if met else (0, 0)


_CONDITION = re.compile(r"(comm_size|avg_msg_size|total_msg_size)<=(\d+)")


def tree_leaf(tree: Mapping[str, Any], point: Point) -> str:
    """Return the function that MPICH's tree chooses for a call: at each level the first that holds."""
    total = point.bytes * (point.ranks if point.collective in {"allgather", "gather", "scatter"} else 1)
    values = {"comm_size": point.ranks, "avg_msg_size": point.bytes, "total_msg_size": total}
    node = tree[f"collective={point.collective}"]["comm_type=intra"]
    while True:
        for key, inner in node.items():
            if key.startswith("algorithm="):
                return str(key.partition("=")[2])
            condition = _CONDITION.fullmatch(key)
            if key.endswith("=any") or (condition and values[condition[1]] <= int(condition[2])):
                node = inner
                break
        else:
            raise AssertionError(f"no branch of {list(node)} holds for {point}")


@dataclass(frozen=True)
class _Emulated:
    """A library with seven algorithms of each collective; each takes segments and a fan-out."""

    name: str

    def collectives(self) -> tuple[str, ...]:
        return tuple(COLLECTIVES)

    def algorithms(self, collective: str) -> tuple[Algorithm, ...]:
        stem = f"OMPI_MCA_coll_tuned_{collective}_algorithm"
        numbered = (
            Algorithm(
                collective,
                f"way{number}",
                number,
                ((stem, str(number)),),
                (f"{stem}_segmentsize",),
                (f"{stem}_fanout",),
            )
            for number in range(1, 8)
        )
        return (Algorithm(collective), *numbered)


@dataclass(frozen=True)
class EmulatedBench(Bench):
    """Where rules are tried without a run: each collective does what rules and variables say."""

    ignores: frozenset[str] = frozenset()
    """Collectives of which rules have no effect."""

    def run(
        self, points: Iterable[Point], environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        if self.form == "mpich-json":
            return self._run_mpich(points, environment)
        lines = []
        for point in points:
            number, segment = self._asked(point, environment)
            name = f"did{number}" if number else "own"
            lines.append(f"{point.collective} {point.ranks} {counted(point)} {name} {segment} 0 1\n")
        (Path(environment["HALOSCOPE_WITNESS"]) / "0").write_text("".join(lines))
        return subprocess.CompletedProcess([], 0, "", "")

    def _asked(self, point: Point, environment: Mapping[str, str]) -> tuple[int, int]:
        stem = f"OMPI_MCA_coll_tuned_{point.collective}_algorithm"
        if stem in environment:
            return int(environment[stem]), int(environment.get(f"{stem}_segmentsize", 0))
        file = environment.get("OMPI_MCA_coll_tuned_dynamic_rules_filename")
        if file is None or point.collective in self.ignores:
            return 0, 0
        text = Path(file).read_text()
        return (
            text_choice(read_text(text), point) if self.form == "openmpi-text" else json_choice(text, point)
        )

    def _run_mpich(
        self, points: Iterable[Point], environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        tree = json.loads(Path(environment["MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"]).read_text())
        for point in points:
            function = tree_leaf(tree, point)
            if not function.startswith(f"MPIR_{point.collective.capitalize()}_"):
                return subprocess.CompletedProcess([], 1, "", f"mpir_coll.h: {function}")
        return subprocess.CompletedProcess([], 0, "", "")


def emulated_bench(directory: Path, form: str = "openmpi-text", ignores: Iterable[str] = ()) -> EmulatedBench:
    """Return a library that reads rules in this form; `directory` gets its file."""
    names = {"openmpi-text": "Open MPI 4.9.9", "openmpi-json": "Open MPI 6.0.0", "mpich-json": "MPICH 4.9"}
    file = directory / "libmpi.so"
    file.write_bytes(b"\0" + json.dumps(_TREE).replace(" ", "").encode() + b"\0")
    library = cast(Library, _Emulated(names[form]))
    return EmulatedBench(library, file, Path("mpicc"), cast(Any, form), None, frozenset(ignores))


def own_leaf(point: Point) -> str:
    """Return the function of the library's own tree for a call."""
    return tree_leaf(_TREE, point)
