"""The emulated cluster of tools/cluster.sh, for tests of what crosses nodes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.mpi import CHECKOUT, Mpi
from support.processes import run_program

_SCRIPT = CHECKOUT / "tools" / "cluster.sh"
# A unique name, so that test sessions on one machine do not use each other's cluster, and a network per
# worker of a session. Sessions have different CLUSTER_NET.
_NAME = f"halo{os.getpid()}n"
_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
_NET = os.environ.get("CLUSTER_NET", f"10.79.{_WORKER}")
_SETTINGS = {"CLUSTER_NAME": _NAME, "CLUSTER_NET": _NET, "CLUSTER_CLEAN": "1"}


class Cluster:
    """Some nodes; a plain mpiexec on node 0 fills them in order."""

    def __init__(self, nodes: int, slots: int) -> None:
        self.hosts = [f"{_NAME}{node}" for node in range(nodes)]
        self.slots = slots

    @staticmethod
    def words(command: Sequence[str | Path], node: int = 0) -> list[str]:
        """Return what runs a command on a node, in the environment below, as that command itself."""
        return [str(_SCRIPT), "exec", str(node), *map(str, command)]

    @staticmethod
    def environment(mpi: Mpi | None = None, env: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment of commands on a node, which find this MPI first."""
        # Not mpi.environment(): its oversubscription would put all ranks on node 0.
        path = {"PATH": f"{mpi.mpicc.parent}{os.pathsep}{os.environ['PATH']}"} if mpi else {}
        return {**os.environ, **path, **_SETTINGS, **(env or {})}

    @staticmethod
    def address(node: int) -> str:
        """Return a node's address."""
        return f"{_SETTINGS['CLUSTER_NET']}.{node + 1}"

    def processes(self, node: int) -> list[int]:
        """Return the numbers of the processes that run on a node."""
        done = run_program(["ip", "netns", "pids", self.hosts[node]], status=None)
        return [int(word) for word in done.stdout.split()]

    def run(
        self,
        mpi: Mpi,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        status: int | None = 0,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on node 0, for example `[*mpi.launch(4), program]`. Assert its status."""
        return run_program(self.words(command), env=self.environment(mpi, env), cwd=cwd, status=status)


def obstacle() -> str | None:
    """What keeps this machine from having a cluster, or None."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    done = _control("status")
    return done.stderr.strip() if "apt-get" in done.stderr else None


@contextmanager
def cluster(nodes: int, slots: int) -> Iterator[Cluster]:
    """Brings a cluster up, whose nodes do not share an environment, and down again."""
    done = _control("up", str(nodes), str(slots))
    if done.returncode:
        raise RuntimeError(done.stderr)
    try:
        yield Cluster(nodes, slots)
    finally:
        _control("down")


def _control(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run_program([_SCRIPT, *arguments], env={**os.environ, **_SETTINGS}, status=None)
