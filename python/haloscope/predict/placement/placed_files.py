"""Files of a mapping for launchers."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np

from haloscope.base.files import write_directory
from haloscope.predict.placement.proposal import Proposal

_ORDER = "MPICH_RANK_ORDER"


def write_placement(proposal: Proposal, output: Path) -> None:
    """Write a directory of files atomically: rankfile, hosts, MPICH_RANK_ORDER.

    An older directory of this kind is replaced. Raises `OutputError`.
    """
    nodes, slots = proposal.nodes, proposal.after
    node = nodes.by_slot[slots].tolist()
    within = (slots - nodes.first[node]).tolist()
    hosts = [nodes.names[index] for index in node]
    with write_directory(output, _ORDER, "placement") as directory:
        lines = [
            f"rank {rank}={host} slot={slot}\n"
            for rank, (host, slot) in enumerate(zip(hosts, within, strict=True))
        ]
        (directory / "rankfile").write_text("".join(lines))
        (directory / "hosts").write_text("".join(f"{host}\n" for host in hosts))
        order = np.argsort(slots, kind="stable").tolist()
        (directory / _ORDER).write_text(",".join(map(str, order)) + "\n")


def list_usage(proposal: Proposal, directory: Path) -> list[str]:
    """Return one line per launcher with the command that uses the files."""
    count = proposal.traffic.ranks
    rankfile, hosts = (shlex.quote(str(directory.absolute() / name)) for name in ("rankfile", "hosts"))
    return [
        f"Open MPI 4:  mpiexec -n {count} --rankfile {rankfile} ./app",
        f"Open MPI 5:  mpiexec -n {count} --map-by rankfile:file={rankfile} ./app",
        f"MPICH:       mpiexec -n {count} -f {hosts} ./app",
        f"Slurm:       SLURM_HOSTFILE={hosts} srun -n {count} --distribution=arbitrary ./app",
        f"Cray MPICH:  MPICH_RANK_REORDER_METHOD=3, with {_ORDER} in the directory of the launch",
    ]


def make_mapping_text(proposal: Proposal) -> str:
    """Return the value of HALOSCOPE_PLACE: the ranks of each node, such as `0-3,8 4-7,9`."""
    return " ".join(_format_ranges(group) for group in proposal.groups)


def _format_ranges(ranks: list[int]) -> str:
    parts: list[list[int]] = []
    for rank in ranks:
        if parts and rank == parts[-1][1] + 1:
            parts[-1][1] = rank
        else:
            parts.append([rank, rank])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
