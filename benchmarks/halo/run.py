"""Exchanges within a node by the halo library and with the shm library, compared with the fastest MPI method.

Topics are exchanges of two ranks, patterns with a posted receive, kinds of memory, LAMMPS, programs that are
built elsewhere, and the shared heap. Further topics are stealing helpers and a model of more helpers, small
messages, amr, and 7-point stencils and overlap on emulated nodes.

Methods alternate in one run, and so do launches with and without the shm library. A block has 20 exchanges,
of which the first 3 are not used. Buffers are rewritten before each exchange and read after it. The peer is
the MPI method that is fastest over the whole run. Copies alone are the lower bound.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import amr
import halo
import helpers
import nodes
import outside
import rings
import scale
import shm
import waiting
from programs import libraries

TOPICS = {
    "halo": lambda library, rounds: halo.measure(library, 2 * rounds),
    "limits": halo.measure_limits,
    "shm": shm.measure,
    "waiting": waiting.measure,
    "memories": waiting.measure_memories,
    "rings": rings.measure,
    "heap": waiting.measure_heap,
    "lammps": waiting.measure_lammps,
    "stealing": shm.measure_stealing,
    "helpers": helpers.measure,
    "first": shm.measure_first,
    "small": lambda library, rounds: shm.measure_small(library, 2 * rounds),
    "amr": amr.measure,
    "scale": scale.measure,
    "nodes": nodes.measure,
}
# Topics that are also measured with the other MPI libraries.
COMPARED = {"halo": halo.measure, "shm": shm.measure, "waiting": waiting.measure, "rings": rings.measure}
PROGRAMS = "outside"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=", ".join([*TOPICS, PROGRAMS]))
    parser.add_argument("--rounds", type=int, default=10, help="launches of each kind")
    parser.add_argument("--only-path", action="store_true", help="no other MPI libraries")
    parser.add_argument(
        "--programs", type=Path, help=f"for {PROGRAMS}: where NAME.openmpi and NAME.mpich are"
    )
    options = parser.parse_args()
    topics = options.topics or list(TOPICS)
    if PROGRAMS in topics and options.programs is None:
        parser.error(f"{PROGRAMS} needs --programs")
    if unknown := set(topics) - {*TOPICS, PROGRAMS}:
        parser.error(f"no such topic: {', '.join(unknown)}")
    first, *others = libraries()
    for topic in topics:
        if topic == PROGRAMS:
            for library in [first] if options.only_path else [first, *others]:
                outside.measure(library, options.rounds, options.programs.absolute())
            outside.measure_on_nodes(first, options.rounds, options.programs.absolute())
            continue
        TOPICS[topic](first, options.rounds)
        for library in [] if options.only_path else others:
            if topic in COMPARED:
                COMPARED[topic](library, options.rounds // 2)


if __name__ == "__main__":
    main()
