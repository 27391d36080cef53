"""Emulated nodes with shaped links, and halo exchanges that are measured on them by each installed MPI."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from drawn import Interval, interval

from haloscope import ComponentError, LaunchError
from haloscope.base.mpi import find_installed_library
from haloscope.base.toolchain import toolchain

CLUSTER = Path(__file__).resolve().parents[2] / "tools" / "cluster.sh"
# The link of a node. TCP on one core is faster, so ranks that share cores wait for the link.
LINK_SPEED = 62.5e6  # bytes per second
LINK = f"{8 * LINK_SPEED / 1e6:g}mbit"
_NAME = f"study{os.getpid()}n"
_SETTINGS = {"CLUSTER_NAME": _NAME, "CLUSTER_NET": "10.77.7", "CLUSTER_NIC": LINK}
# With BBR, or with a slow start after each pause, times over shaped links vary two- to threefold.
_KERNEL = ("net.ipv4.tcp_congestion_control=reno", "net.ipv4.tcp_slow_start_after_idle=0")
# Larger buffers would complete sends whose data have not left the node. Fragments of the default size are
# whole messages, behind which the go-ahead for the message of the other direction waits.
_SOCKETS = {
    "OMPI_MCA_btl_tcp_sndbuf": "131072",
    "OMPI_MCA_btl_tcp_rcvbuf": "131072",
    "OMPI_MCA_btl_tcp_rdma_pipeline_frag_size": "131072",
}
# Runs on node 0, whose launcher starts ranks on all nodes.
_PROGRAM = """\
import json, sys
from haloscope.hide import build_shm_library_for
from haloscope.predict.bench import HaloMethod, halo, write_halo
result = halo(HaloMethod(**json.loads(sys.argv[1])), build_shm=build_shm_library_for)
write_halo(result, "json", False, sys.stdout)
"""

Record = dict[str, Any]


@dataclass(frozen=True)
class Mpi:
    """An MPI by the PATH on which it is found first."""

    abi: str
    path: str

    @property
    def slots(self) -> int:
        """The number of ranks per node. Waiting ranks of MPICH poll, and keep their core from others."""
        return 2 if self.abi == "openmpi" else 1


def find_mpis(directory: Path) -> list[Mpi]:
    """Return the MPI in use, and Debian's other one if there is one; its links are made in `directory`."""
    tools = toolchain()
    library = find_installed_library(tools.compiler)
    first = Mpi(library.abi if library else "unknown", os.environ["PATH"])
    others = [_link(abi, directory) for abi in ("openmpi", "mpich") if abi != first.abi]
    return [first, *(mpi for mpi in others if mpi is not None)]


def _link(abi: str, directory: Path) -> Mpi | None:
    """Return an MPI whose tools Debian has by names such as `mpicc.mpich`."""
    names = ("mpicc", "mpicxx", "mpiexec")
    files = {name: shutil.which(f"{name}.{abi}") for name in names}
    folder = directory.absolute() / abi
    if not all(files.values()):
        return None
    folder.mkdir(parents=True, exist_ok=True)
    # MPICH's launcher looks for the proxy in its own directory.
    for name, file in {**files, "hydra_pmi_proxy": shutil.which("hydra_pmi_proxy")}.items():
        if file and not (folder / name).exists():
            (folder / name).symlink_to(file)
    return Mpi(abi, f"{folder}{os.pathsep}{os.environ['PATH']}")


def _cluster(*words: str, mpi: Mpi | None = None, **more: Any) -> subprocess.CompletedProcess[str]:
    path = {"PATH": mpi.path} if mpi else {}
    environment = os.environ | _SETTINGS | _SOCKETS | path
    return subprocess.run([str(CLUSTER), *words], env=environment, text=True, check=False, **more)


@contextmanager
def nodes(count: int, slots: int) -> Iterator[None]:
    """Start nodes of `slots` ranks, and remove them at the end.

    Raises:
        ComponentError: This machine can have none.
    """
    if not CLUSTER.is_file():
        raise ComponentError("emulated nodes need a checkout of Haloscope, for tools/cluster.sh")
    if os.geteuid() != 0:
        raise ComponentError("emulated nodes are network namespaces, which need root")
    try:
        done = _cluster("up", str(count), str(slots), stderr=subprocess.PIPE)
        if done.returncode:
            raise ComponentError(done.stderr.strip().rpartition("\n")[2] or "emulated nodes do not start")
        for node in range(count):
            subprocess.run(
                ["nsenter", f"--net=/run/netns/{_NAME}{node}", "sysctl", "-qw", *_KERNEL], check=True
            )
        yield
    finally:
        _cluster("down")


def measure(mpi: Mpi, **method: Any) -> list[Record]:
    """Measure from node 0. Return a record per size and side; `method` are fields of `HaloMethod`."""
    command = [sys.executable, "-c", _PROGRAM, json.dumps(method)]
    done = _cluster("exec", "0", *command, mpi=mpi, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    sys.stderr.write(done.stderr)
    if done.returncode:
        raise LaunchError(done.stderr.strip().rpartition("\n")[2])
    found: list[Record] = json.loads(done.stdout)
    return found


def less(off: Record, on: Record, part: str) -> Interval:
    """Return by how many percent the shm library's side takes less time, from pairs of rounds."""
    without, with_shm = (np.median(np.array(one["samples"][part]), axis=1) for one in (off, on))
    return interval(100 * (1 - with_shm / without))
