"""Which cores are measured against each other, and how ranks are started on them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from haloscope.base.errors import LaunchError, UsageError
from haloscope.predict.bench._topology import Shared, Topology

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from haloscope.predict.bench._mpi_library import Library

__all__ = ["SMT", "Pair", "System", "leaf_switches"]

SMT = "SMT"
NETWORK = "network"
LEAF = "leaf switch"


@dataclass(frozen=True)
class Pair:
    """Two cores, counted through all nodes, and the smallest thing that they share."""

    first: int
    second: int
    level: str


@dataclass(frozen=True)
class System:
    """Equal nodes of some topology, and the MPI library that starts ranks on them."""

    topology: Topology
    library: Library
    nodes: int = 1
    launcher: tuple[str, ...] = ()
    switches: tuple[str, ...] = field(default=())
    """The leaf switch of each node, where that is known."""

    @property
    def cores(self) -> int:
        return self.nodes * len(self.topology.cores)

    @property
    def levels(self) -> tuple[Shared, ...]:
        """Those of a node, then the network's."""
        size, own = len(self.topology.cores), self.topology.levels
        if self.nodes == 1:
            return own
        inside = [level for level in own if level.cores < size]
        node = [Shared("node", size)] if size > 1 else []
        leaf = self._nodes_of_a_leaf()
        switch = [Shared(LEAF, leaf * size)] if 1 < leaf < self.nodes else []
        return (*inside, *node, *switch, Shared(NETWORK, self.cores))

    def _nodes_of_a_leaf(self) -> int:
        """Nodes of each leaf switch; 0 if they are not equally many consecutive ones."""
        names = list(dict.fromkeys(self.switches))
        if len(self.switches) != self.nodes or self.nodes % max(len(names), 1):
            return 0
        each = self.nodes // len(names)
        return each if list(self.switches) == [one for one in names for _ in range(each)] else 0

    def representatives(self) -> list[Pair]:
        """Core 0 with the first core of each level that shares nothing smaller with it."""
        first = self.topology.cores[0]
        pairs = [Pair(0, 0, SMT)] if len(first) > 1 else []
        nearest = 1
        for level in self.levels:
            pairs.append(Pair(0, nearest, level.name))
            nearest = level.cores
        if not pairs:
            raise UsageError(
                "there is one core to run on, and messages need two: give the job more cores, "
                "or more nodes with --nodes"
            )
        return pairs

    def pair(self, first: int, second: int) -> Pair:
        """Two cores by their numbers. Raises `UsageError` if they do not exist."""
        for core in (first, second):
            if not 0 <= core < self.cores:
                raise UsageError(f"there is no core {core}: {self._said()}")
        if first == second:
            raise UsageError(f"core {first} with itself is no pair; --pair 0,1 names two")
        level = next(
            one for one in self.levels if first // one.cores == second // one.cores
        )  # the last level holds all cores
        return Pair(first, second, level.name)

    def all_pairs(self) -> list[Pair]:
        """Every core with every later one."""
        return [self.pair(i, j) for i in range(self.cores) for j in range(i + 1, self.cores)]

    def _said(self) -> str:
        nodes = f"{self.nodes} nodes have" if self.nodes > 1 else "this node has"
        return f"{nodes} cores 0 to {self.cores - 1} that may be used"

    def command_of_pair(self, pair: Pair, words: Sequence[str]) -> list[str]:
        """Ranks on two cores; of other nodes the first cores sleep."""
        size = len(self.topology.cores)
        (node, first), (other, second) = divmod(pair.first, size), divmod(pair.second, size)
        cpus = self.topology.cores
        if node == other:
            chosen = cpus[0][:2] if pair.level == SMT else (cpus[first][0], cpus[second][0])
            return self._command(words, 2, 1, chosen, "0-1")
        on_node = [cpus[0][0]] * self.nodes
        on_node[node], on_node[other] = cpus[first][0], cpus[second][0]
        return self._command(words, self.nodes, self.nodes, on_node, f"{node}-{other}")

    def command_of_all(self, pairs: Sequence[Pair], words: Sequence[str]) -> list[str]:
        """A rank on every core, for these pairs."""
        # By place in the node, whatever the world's ranks are there.
        cpus = [core[0] for core in self.topology.cores]
        named = ",".join(f"{pair.first}-{pair.second}" for pair in pairs)
        return self._command([*words, "--by", "node"], self.cores, 0, cpus, named)

    def command_of_roll(self) -> list[str]:
        """One rank a node, which tell where they are."""
        cpus = [self.topology.cores[0][0]] * self.nodes
        return self._command(["--tests", ""], self.nodes, self.nodes, cpus, "0-1")

    def _command(
        self, words: Sequence[str], ranks: int, nodes: int, cpus: Sequence[int], pairs: str
    ) -> list[str]:
        program = [
            str(self.library.program("p2p")),
            "--pairs",
            pairs,
            "--cpus",
            ",".join(map(str, cpus)),
            *words,
        ]
        spread = nodes > 1
        name = Path(self.launcher[0]).name if self.launcher else ""
        if name == "srun":
            where = ["-N", str(self.nodes if nodes != 1 else 1), "--cpu-bind=none"]
            return [*self.launcher, "-n", str(ranks), *where, *program]
        hydra = self.library.name.startswith("MPICH")
        mapping = "node" if spread and not hydra else None
        command = self.library.launch(program, ranks, {}, mapping)
        extra = ["-ppn", "1"] if spread and hydra else []
        begin = len(self.launcher) or 1
        return [*command[:begin], *extra, *command[begin:]]


def leaf_switches(ranks: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """The switch above each rank, of Slurm's `spine.leaf0.node3`; empty where it is unknown."""
    addresses = [rank.get("address", "") for rank in ranks]
    if not all("." in address for address in addresses):
        return ()
    return tuple(address.rpartition(".")[0] for address in addresses)


def launcher_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return the user's launcher. Raises `LaunchError` if there is none of that name."""
    if words and shutil.which(words[0]) is None:
        raise LaunchError(f"{words[0]}: not found; name mpiexec, mpirun or srun after --")
    return tuple(words)
