"""The cores of a node and what they share, as hwloc sees them; pairs of cores and ranks on them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

from haloscope.base.errors import LaunchError, MachineError, UsageError
from haloscope.base.launcher import complete_command
from haloscope.predict.mpi_library import Library

_REMEDY = "install it (apt-get install hwloc) for the levels of caches, NUMA domains and sockets"
# From the nearest to the farthest. If the same cores share several things, the first one is the level.
_NAMES = {
    "L2Cache": "L2",
    "L3Cache": "L3",
    "Die": "die",
    "L4Cache": "L4",
    "NUMANode": "NUMA domain",
    "Group": "group",
    "Package": "socket",
    "Machine": "node",
}


@dataclass(frozen=True)
class Shared:
    """Something that so many consecutive cores share."""

    name: str
    cores: int


@dataclass(frozen=True)
class Topology:
    """Cores in hwloc's order, each with its hardware threads, and what they share."""

    cores: tuple[tuple[int, ...], ...]
    levels: tuple[Shared, ...]
    remarks: tuple[str, ...] = field(default=())
    """What is not as it should be, a line each."""

    def target(self, level: int) -> int:
        """Return the first core that shares this level with core 0, and nothing smaller."""
        return self.levels[level - 1].cores if level else 1

    def name(self, first: int, second: int) -> str:
        """Return the smallest thing that two cores share."""
        for level in self.levels:
            if first // level.cores == second // level.cores:
                return level.name
        return "node"


def topology() -> Topology:
    """Return this machine's, or that of the file `$HWLOC_XMLFILE`; flat where there is no hwloc."""
    tool = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
    if tool is None:
        return _flat(f"no hwloc here, so all cores are taken for equals: {_REMEDY}")
    given = os.environ.get("HWLOC_XMLFILE")
    try:
        # With -i a damaged file is an error; without it lstopo would take this machine instead.
        chosen = ["-i", given] if given else []
        done = subprocess.run(
            [tool, *chosen, "--of", "xml", "-"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return _flat(f"{tool} does not answer ({error}), so all cores are taken for equals")
    if done.returncode or not done.stdout.strip():
        if given:
            raise MachineError(f"{given}: hwloc cannot read it; unset HWLOC_XMLFILE for this node")
        return _flat(f"{tool} fails, so all cores are taken for equals")
    # The topology of another machine says nothing of the processors that may be used here.
    return parse(done.stdout, None if given else os.sched_getaffinity(0))


def parse(text: str, allowed: Iterable[int] | None = None) -> Topology:
    """Return the topology in hwloc's XML; only the cores with processors that are `allowed`."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise MachineError(f"hwloc's XML is damaged ({error})") from None
    usable = None if allowed is None else set(allowed)
    found: list[tuple[str, frozenset[int]]] = []
    for element in root.iter("object"):
        processors = _processors(element.get("cpuset", ""))
        if usable is not None:
            processors &= usable
        if processors:
            found.append((element.get("type", ""), frozenset(processors)))
    cores = [tuple(sorted(processors)) for kind, processors in found if kind == "Core"]
    cores = cores or [(next(iter(those)),) for kind, those in found if kind == "PU"]
    if not cores:
        raise MachineError("hwloc sees no cores that may be used here")
    return _levels(cores, found)


def _processors(cpuset: str) -> set[int]:
    """Return the processors of hwloc's `0x00000001,0xffffffff`; an infinite set begins with `0xf...f`."""
    words = [word for word in cpuset.split(",") if "..." not in word]
    bits = 0
    for word in words:
        bits = bits << 32 | (int(word, 16) if word else 0)
    return {index for index in range(bits.bit_length()) if bits >> index & 1}


def _levels(cores: Sequence[tuple[int, ...]], found: Sequence[tuple[str, frozenset[int]]]) -> Topology:
    core_of = {processor: index for index, core in enumerate(cores) for processor in core}
    levels: list[Shared] = []
    remarks = []
    for kind, name in _NAMES.items():
        groups = [
            sorted({core_of[one] for one in those if one in core_of}) for what, those in found if what == kind
        ]
        sizes = Counter(len(group) for group in groups if group)
        if not sizes or max(sizes) == 1:
            continue
        size = max(sizes)
        if len(sizes) > 1 or not _consecutive(groups) or len(cores) % size:
            remarks.append(f"{name}: not shared by equally many consecutive cores; left out")
        else:
            levels.append(Shared(name, size))
    nested = _nested(levels, len(cores), remarks)
    return Topology(tuple(cores), nested, tuple(remarks))


def _consecutive(groups: Sequence[Sequence[int]]) -> bool:
    return all(b == a + 1 for group in groups for a, b in pairwise(group)) and all(
        group[0] % len(group) == 0 for group in groups if group
    )


def _nested(levels: Sequence[Shared], cores: int, remarks: list[str]) -> tuple[Shared, ...]:
    """Return each larger than the one before and a multiple of it; the last one holds all cores."""
    kept: list[Shared] = []
    for level in sorted(levels, key=lambda level: level.cores):
        if not kept or (level.cores > kept[-1].cores and level.cores % kept[-1].cores == 0):
            kept.append(level)
        elif level.cores != kept[-1].cores:
            remarks.append(f"{level.name}: does not consist of whole {kept[-1].name}s; left out")
    if cores > 1 and (not kept or kept[-1].cores != cores):
        kept.append(Shared("node", cores))
    return tuple(kept)


def _flat(remark: str) -> Topology:
    cores = tuple((processor,) for processor in sorted(os.sched_getaffinity(0)))
    return Topology(cores, (Shared("node", len(cores)),) if len(cores) > 1 else (), (remark,))


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
class BenchSystem:
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
        """Return nodes of each leaf switch; 0 if they are not equally many consecutive ones."""
        names = list(dict.fromkeys(self.switches))
        if len(self.switches) != self.nodes or self.nodes % max(len(names), 1):
            return 0
        each = self.nodes // len(names)
        return each if list(self.switches) == [one for one in names for _ in range(each)] else 0

    def representatives(self) -> list[Pair]:
        """Return core 0 with the first core of each level that shares nothing smaller with it."""
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
        """Return two cores by their numbers. Raises `UsageError` if they do not exist."""
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
        """Return every core with every later one."""
        return [self.pair(i, j) for i in range(self.cores) for j in range(i + 1, self.cores)]

    def _said(self) -> str:
        nodes = f"{self.nodes} nodes have" if self.nodes > 1 else "this node has"
        return f"{nodes} cores 0 to {self.cores - 1} that may be used"

    def command_of_pair(self, pair: Pair, words: Sequence[str]) -> list[str]:
        """Return the command for ranks on two cores; on other nodes the first cores sleep."""
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
        """Return the command for a rank on every core, for these pairs."""
        # By place in the node, whatever the world's ranks are there.
        cpus = [core[0] for core in self.topology.cores]
        named = ",".join(f"{pair.first}-{pair.second}" for pair in pairs)
        return self._command([*words, "--by", "node"], self.cores, 0, cpus, named)

    def command_of_roll(self) -> list[str]:
        """Return the command for one rank on each node, which tells where it is."""
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
    """Return the switch above each rank, of Slurm's `spine.leaf0.node3`; empty where it is unknown."""
    addresses = [rank.get("address", "") for rank in ranks]
    if not all("." in address for address in addresses):
        return ()
    return tuple(address.rpartition(".")[0] for address in addresses)


def launcher_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return the user's launcher, on PATH or in this environment. Raises `LaunchError` if there is none."""
    found = complete_command(words)
    if found and shutil.which(found[0]) is None:
        raise LaunchError(f"{found[0]}: not found; name mpiexec, mpirun or srun after --")
    return tuple(found)
