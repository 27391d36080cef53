"""The witness: which algorithm did what, in a real run (src/predict/witness)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from haloscope.base import paths
from haloscope.base.cache import build_once, cache, fingerprint
from haloscope.base.toolchain import compiler_identity, run_logged

__all__ = ["Seen", "algorithms_header", "build_exercise", "read_seen"]

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


def build_exercise(compiler: Path, library: Path | None) -> Path:
    """The program that does each collective once; with `library`, an Open MPI, the witness too."""
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

    return build_once(target, build) / "exercise"


def algorithms_header(library: Path) -> str:
    """The text of `algorithms.h`: all algorithms that the library's symbol table names."""
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
    """What ranks saw, by collective, communicator size and counted bytes."""
    found: dict[tuple[str, int, int], set[Seen]] = {}
    for path in directory.iterdir():
        for line in path.read_text().splitlines():
            collective, ranks, size, name, segment, fanout, _ = line.split()
            seen = Seen(None if name == "-" else name, int(segment), int(fanout))
            found.setdefault((collective, int(ranks), int(size)), set()).add(seen)
    return {key: frozenset(value) for key, value in found.items()}
