"""Possible gain of small messages by rings in shared memory, compared with MPI."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
from programs import HERE, Library, output, row

SIZES = (8, 64, 512, 1024, 2048, 4096, 8192, 16384, 32768)
WAYS = {"ring": "a ring without matching", "token": "a ring, matched by a token"}


def measure(library: Library, rounds: int) -> None:
    """Print half a ping-pong of two ranks, with alternating ways."""
    found: dict[tuple[int, str], list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as directory:
        program = str(Path(directory) / "rings")
        compiler = library.tools.compiler.with_name(library.tools.compiler.name.replace("cxx", "cc"))
        output([str(compiler), "-O2", str(HERE / "rings.c"), "-o", program])
        for _ in range(rounds):
            for line in output([*library.launch(2), program, "400", *map(str, SIZES)]).splitlines():
                bytes_of, way, time = line.split()
                found[int(bytes_of), way].append(float(time))
    for size in SIZES:
        for way, what in WAYS.items():
            row(
                library.case(f"message of {size} B: {what}"),
                np.array(found[size, way]),
                np.array(found[size, "mpi"]),
                f"{library.name}: send and receive",
            )
