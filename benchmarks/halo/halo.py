"""The halo library's exchanges, and copies alone, which are what limits all of them."""

from __future__ import annotations

import numpy as np
from programs import SIZES, Blocks, Library, exchanges, row

WAYS = ("in-place", "window", "chosen")
MPI = ("mpi-persistent", "mpi-neighbourhood", "mpi-isend", "mpi-isend-large-pages")
LIMITS = {
    "memcpy-one": "memcpy, one core",
    "memcpy-two": "memcpy, two cores",
    "cma-one": "process_vm_readv, one core",
    "cma-two": "process_vm_readv, two cores",
}
LIMITED = {"64 KiB": 64 << 10, **SIZES, "8 MiB": 8 << 20}
# Against an exchange by MPI, both with the reading.
SHARE = 0.20
# What limits the reading in place, and of it at least this is reached.
READING, REACHED = "read-other", 0.90


def best(ways: Blocks, column: int) -> str:
    """MPI's way that is fastest over the whole run."""
    names = [name for name in ways if name.startswith("mpi-")]
    return min(names, key=lambda name: float(np.median(ways[name][column])))


def measure(library: Library, blocks: int) -> None:
    """What is gained within a node: the exchange with the reading that it is for, and alone."""
    found = exchanges(library, (*WAYS, READING, *MPI), blocks, list(SIZES.values()))
    for size, count in SIZES.items():
        ways = found[count]
        reading = best(ways, 1)
        for name in WAYS:
            row(
                library.case(f"exchange of {size}, with the reading: {name}"),
                ways[name][1],
                ways[reading][1],
                f"{library.name}: {reading[4:]}",
                library.aim(SHARE) if name == "in-place" else None,
            )
        row(
            library.case(f"exchange of {size}, with the reading: in-place, buffers of small pages"),
            ways["in-place"][1],
            ways["mpi-isend"][1],
            f"{library.name}: isend",
        )
        row(
            library.case(f"exchange of {size}, with the reading: in-place, against the limit"),
            ways["in-place"][1],
            ways[READING][1],
            "reading what another core wrote",
            REACHED if library.targeted else None,
        )
        alone = best(ways, 0)
        row(
            library.case(f"exchange of {size}, without the reading: in-place"),
            ways["in-place"][0],
            ways[alone][0],
            f"{library.name}: {alone[4:]}",
        )


def measure_limits(library: Library, blocks: int) -> None:
    """Copies by one core and by two, against the exchange that they limit."""
    methods = (*LIMITS, "mpi-isend", "mpi-isend-large-pages")
    found = exchanges(library, methods, blocks, list(LIMITED.values()))
    for size, count in LIMITED.items():
        ways = found[count]
        alone = best(ways, 0)
        for name, what in LIMITS.items():
            row(
                library.case(f"limit of {size}: {what}"),
                ways[name][0],
                ways[alone][0],
                f"{library.name}: {alone[4:]}",
            )
