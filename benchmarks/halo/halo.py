"""Exchanges of the halo library, and copies alone, which are the lower bound of all exchanges."""

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
# Aim: share of the time of an exchange by MPI, both including the reading of the data.
SHARE = 0.20
# The lower bound of the reading in place, and the aim: the share of its speed.
READING, REACHED = "read-other", 0.90


def best(ways: Blocks, column: int) -> str:
    """Return the MPI method that is fastest over the whole run."""
    names = [name for name in ways if name.startswith("mpi-")]
    return min(names, key=lambda name: float(np.median(ways[name][column])))


def measure(library: Library, blocks: int) -> None:
    """Print the gain within a node: of exchanges including the reading of the data, and without it."""
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
    """Print copies by one core and by two, compared with the exchange whose time they limit."""
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
