"""Debian's Slurm on the emulated cluster: a controller, a daemon for each node, and munge of its own."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from support.cluster import Cluster, cluster, obstacle
from support.limits import HANG
from support.processes import run_program

_PACKAGES = "apt-get install slurm-wlm munge"
# A node that does not answer for so long is down. A machine may have no core for a node for a while.
_SILENCE = 60
_CONFIGURATION = """
ClusterName=emulated
SlurmctldHost={controller}({address})
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={base}/munge.socket
StateSaveLocation={base}/state
SlurmdSpoolDir={base}/spool.%n
SlurmctldPidFile={base}/slurmctld.pid
SlurmdPidFile={base}/slurmd.%n.pid
SlurmctldLogFile={base}/slurmctld.log
SlurmdLogFile={base}/slurmd.%n.log
TmpFS={base}/tmp.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
SchedulerParameters=sched_interval=1,bf_interval=1
SlurmdTimeout={silence}
MessageTimeout=30
MpiDefault=pmix
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
{nodes}
PartitionName=all Nodes={names} Default=YES MaxTime=60 State=UP
"""
_NODE = (
    "NodeName={name} NodeAddr={address} CPUs={cores} Boards=1 SocketsPerBoard=1 CoresPerSocket={cores} "
    "ThreadsPerCore=1 RealMemory=1000 State=UNKNOWN"
)


class Slurm:
    """A batch system whose controller and nodes may be killed. Its commands are called on the first node."""

    def __init__(self, up: Cluster, base: Path, cores: int) -> None:
        self.cluster, self.cores = up, cores
        self._base = base
        self._controller: subprocess.Popen[bytes] | None = None
        self._daemons: dict[int, subprocess.Popen[bytes]] = {}
        self._munge: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """What its commands need."""
        # With PMIx's store in shared memory 9 of 573 starts of Open MPI ended in MPI_Init on a busy machine,
        # whatever the program: a rank calls a null pointer. With the other store none of 411 did.
        return {"SLURM_CONF": str(self._base / "slurm.conf"), "PMIX_MCA_gds": "hash"}

    def words(self, command: Sequence[str | Path]) -> list[str]:
        """Return the words that call a command on the first node, as `sinfo`, or what calls `sbatch`."""
        return self.cluster.words(command)

    def run(self, *command: str | Path) -> str:
        """Return what a command prints; it must succeed."""
        return run_program(self.words(command), env=self.cluster.environment(env=self.environment)).stdout

    def start(self) -> None:
        """Bring everything up, and wait until all nodes are idle."""
        self._configure()
        self._munge = self._started(0, ["munged", "--foreground", "--force", *self._munge_options()])
        _until((self._base / "munge.socket").exists, self._said)
        self.start_controller()
        for node in range(len(self.cluster.hosts)):
            self._daemons[node] = self._started(node, ["slurmd", "-D"])
        _until(lambda: self._states() == ["idle"] * len(self.cluster.hosts), self._said)

    def start_controller(self) -> None:
        """Start the controller with its previous state."""
        self._controller = self._started(0, ["slurmctld", "-D"])

    def wait_until_saved(self) -> None:
        """Wait until the controller has saved its state; it does so some seconds later."""
        begun = time.time()
        saved = self._base / "state" / "job_state"
        _until(lambda: saved.exists() and saved.stat().st_mtime > begun, self._said)

    def kill_controller(self) -> None:
        """Kill it as if its machine were gone."""
        assert self._controller is not None
        self._controller.kill()
        self._controller.wait()

    def kill_node(self, node: int) -> None:
        """Kill all that runs on a node, and what would start more there."""
        daemon = self._daemons.pop(node)
        daemon.kill()
        daemon.wait()
        _kill_all(self.cluster.processes(node))

    def busy_nodes(self) -> list[int]:
        """Return the nodes on which jobs run."""
        nodes = self.run("squeue", "-h", "-t", "running", "-o", "%N").split()
        return [self.cluster.hosts.index(name) for name in nodes if name in self.cluster.hosts]

    def wait_until_idle(self) -> None:
        """Wait until no job is left; those of a node that is gone end when it has been silent for long."""
        _until(lambda: self.run("squeue", "-h") == "", self._said)

    def stop(self) -> None:
        """End everything; nothing of it is left."""
        mine = [self._controller, *self._daemons.values(), self._munge]
        for process in filter(None, mine):
            process.kill()
            process.wait()
        for node in range(len(self.cluster.hosts)):
            _kill_all(self.cluster.processes(node))

    def _configure(self) -> None:
        names, cores = self.cluster.hosts, self.cores
        addresses = [self.cluster.address(node) for node in range(len(names))]
        nodes = [
            _NODE.format(name=name, address=address, cores=cores)
            for name, address in zip(names, addresses, strict=True)
        ]
        for name in names:
            (self._base / f"spool.{name}").mkdir()
            (self._base / f"tmp.{name}").mkdir()
        (self._base / "state").mkdir()
        text = _CONFIGURATION.format(
            controller=names[0],
            address=addresses[0],
            base=self._base,
            silence=_SILENCE,
            nodes="\n".join(nodes),
            names=",".join(names),
        )
        (self._base / "slurm.conf").write_text(text, "utf-8")
        (self._base / "cgroup.conf").write_text("CgroupAutomount=no\n", "utf-8")
        key = self._base / "munge.key"
        key.touch(0o600)
        key.write_bytes(secrets.token_bytes(128))

    def _munge_options(self) -> list[str]:
        kinds = {"key-file": "key", "log-file": "log", "pid-file": "pid", "seed-file": "seed"}
        options = {name: self._base / f"munge.{suffix}" for name, suffix in kinds.items()}
        return [
            f"--{name}={path}" for name, path in {**options, "socket": self._base / "munge.socket"}.items()
        ]

    def _started(self, node: int, command: Sequence[str]) -> subprocess.Popen[bytes]:
        # `cluster.sh exec` becomes the command, so that its process is the one to kill.
        with (self._base / f"{command[0]}.{node}.out").open("ab") as output:
            return subprocess.Popen(
                self.cluster.words(command, node),
                env=self.cluster.environment(env={**self.environment, "PATH": _path()}),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def _states(self) -> list[str]:
        done = run_program(
            self.words(["sinfo", "-h", "-N", "-o", "%T"]),
            env=self.cluster.environment(env=self.environment),
            status=None,
        )
        return done.stdout.split()

    def _said(self) -> str:
        """Return the ends of all logs, for a message."""
        logs = sorted([*self._base.glob("*.log"), *self._base.glob("*.out")])
        return "\n".join(f"{log.name}: {log.read_text('utf-8', 'replace')[-1000:]}" for log in logs)


def slurm_obstacle() -> str | None:
    """Return what keeps this machine from having Slurm on an emulated cluster, or None."""
    lacks = [name for name in ("munged", "slurmctld", "slurmd") if shutil.which(name, path=_path()) is None]
    return f"no {lacks[0]}: {_PACKAGES}" if lacks else obstacle()


@contextmanager
def slurm(nodes: int, cores: int, base: Path) -> Iterator[Slurm]:
    """Bring Slurm up on some nodes, with all of its files in a directory, and down again."""
    with cluster(nodes, cores) as up:
        found = Slurm(up, base, cores)
        try:
            found.start()
            yield found
        finally:
            found.stop()


def _path() -> str:
    return f"{os.environ['PATH']}{os.pathsep}/usr/sbin"  # where daemons are; not on everybody's PATH


def _until(holds: Callable[[], bool], said: Callable[[], str]) -> None:
    end = time.monotonic() + HANG
    while not holds():
        assert time.monotonic() < end, said()
        time.sleep(0.2)


def _kill_all(processes: Sequence[int]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
