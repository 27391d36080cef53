"""Topology of a node by hwloc, pairs of cores, and launches of ranks on them."""

from __future__ import annotations

import os
import re
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
_WORD = re.compile(r"(0x)?[0-9a-fA-F]{1,8}")  # of a cpuset
# From the nearest to the farthest. If the same cores share several levels, the first one is used.
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
    """A level of the topology, which `cores` consecutive cores share."""

    name: str
    cores: int


@dataclass(frozen=True)
class Topology:
    """Cores in the order of hwloc, each with its hardware threads, and the shared levels."""

    cores: tuple[tuple[int, ...], ...]
    levels: tuple[Shared, ...]
    remarks: tuple[str, ...] = field(default=())
    """Problems of the topology, one line each."""

    def target(self, level: int) -> int:
        """Return the first core that shares this level with core 0, and no smaller one."""
        return self.levels[level - 1].cores if level else 1

    def name(self, first: int, second: int) -> str:
        """Return the smallest level that two cores share."""
        for level in self.levels:
            if first // level.cores == second // level.cores:
                return level.name
        return "node"


def topology() -> Topology:
    """Return the topology of this machine or of the file `$HWLOC_XMLFILE`; flat without hwloc."""
    tool = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
    if tool is None:
        return _make_flat(f"hwloc is not installed, so all cores are treated as equal: {_REMEDY}")
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
        return _make_flat(f"{tool} does not answer ({error}), so all cores are treated as equal")
    if done.returncode or not done.stdout.strip():
        if given:
            raise MachineError(f"{given}: hwloc cannot read it; unset HWLOC_XMLFILE for this node")
        return _make_flat(f"{tool} fails, so all cores are treated as equal")
    # The affinity of this process does not apply to the topology of another machine.
    return parse(done.stdout, None if given else os.sched_getaffinity(0))


def parse(text: str, allowed: Iterable[int] | None = None) -> Topology:
    """Return the topology in hwloc's XML, with only the cores that have `allowed` processors."""
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
    cores = cores or [(next(iter(processors)),) for kind, processors in found if kind == "PU"]
    if not cores:
        raise MachineError("hwloc finds no usable cores")
    return _find_levels(cores, found)


def _processors(cpuset: str) -> set[int]:
    """Return the processors of hwloc's `0x00000001,0xffffffff`; an infinite set begins with `0xf...f`."""
    words = [word for word in cpuset.split(",") if "..." not in word]
    bits = 0
    for word in words:
        if word and not _WORD.fullmatch(word):
            raise MachineError("hwloc's XML is damaged (a cpuset is not a list of numbers)")
        bits = bits << 32 | (int(word, 16) if word else 0)
    return {index for index in range(bits.bit_length()) if bits >> index & 1}


def _find_levels(cores: Sequence[tuple[int, ...]], found: Sequence[tuple[str, frozenset[int]]]) -> Topology:
    core_of = {processor: index for index, core in enumerate(cores) for processor in core}
    levels: list[Shared] = []
    remarks = []
    for kind, name in _NAMES.items():
        groups = [
            sorted({core_of[processor] for processor in processors if processor in core_of})
            for other, processors in found
            if other == kind
        ]
        sizes = Counter(len(group) for group in groups if group)
        if not sizes or max(sizes) == 1:
            continue
        size = max(sizes)
        if len(sizes) > 1 or not _are_consecutive(groups) or len(cores) % size:
            remarks.append(f"{name}: not shared by equal numbers of consecutive cores; ignored")
        else:
            levels.append(Shared(name, size))
    nested = _select_nested(levels, len(cores), remarks)
    return Topology(tuple(cores), nested, tuple(remarks))


def _are_consecutive(groups: Sequence[Sequence[int]]) -> bool:
    return all(b == a + 1 for group in groups for a, b in pairwise(group)) and all(
        group[0] % len(group) == 0 for group in groups if group
    )


def _select_nested(levels: Sequence[Shared], cores: int, remarks: list[str]) -> tuple[Shared, ...]:
    """Return the levels whose sizes are multiples of each other; the last one contains all cores."""
    nested: list[Shared] = []
    for level in sorted(levels, key=lambda level: level.cores):
        if not nested or (level.cores > nested[-1].cores and level.cores % nested[-1].cores == 0):
            nested.append(level)
        elif level.cores != nested[-1].cores:
            remarks.append(f"{level.name}: does not consist of whole {nested[-1].name}s; ignored")
    if cores > 1 and (not nested or nested[-1].cores != cores):
        nested.append(Shared("node", cores))
    return tuple(nested)


def _make_flat(remark: str) -> Topology:
    cores = tuple((processor,) for processor in sorted(os.sched_getaffinity(0)))
    return Topology(cores, (Shared("node", len(cores)),) if len(cores) > 1 else (), (remark,))


SMT = "SMT"
NETWORK = "network"
LEAF = "leaf switch"


@dataclass(frozen=True)
class Pair:
    """Two cores, numbered over all nodes, and the smallest level that they share."""

    first: int
    second: int
    level: str


@dataclass(frozen=True)
class BenchSystem:
    """Nodes of equal topology, and the MPI library that starts ranks on them."""

    topology: Topology
    library: Library
    nodes: int = 1
    launcher: tuple[str, ...] = ()
    switches: tuple[str, ...] = field(default=())
    """The leaf switch of each node, if it is known."""

    @property
    def cores(self) -> int:
        return self.nodes * len(self.topology.cores)

    @property
    def levels(self) -> tuple[Shared, ...]:
        """The levels of a node, then those of the network."""
        size, own = len(self.topology.cores), self.topology.levels
        if self.nodes == 1:
            return own
        inside = [level for level in own if level.cores < size]
        node = [Shared("node", size)] if size > 1 else []
        leaf = self._count_leaf_nodes()
        switch = [Shared(LEAF, leaf * size)] if 1 < leaf < self.nodes else []
        return (*inside, *node, *switch, Shared(NETWORK, self.cores))

    def _count_leaf_nodes(self) -> int:
        """Return the number of nodes per leaf switch; 0 unless all have equally many consecutive nodes."""
        names = list(dict.fromkeys(self.switches))
        if len(self.switches) != self.nodes or self.nodes % max(len(names), 1):
            return 0
        each = self.nodes // len(names)
        return each if list(self.switches) == [name for name in names for _ in range(each)] else 0

    def representatives(self) -> list[Pair]:
        """Return the pairs of core 0 with the first core of each level outside the next smaller one."""
        first = self.topology.cores[0]
        pairs = [Pair(0, 0, SMT)] if len(first) > 1 else []
        nearest = 1
        for level in self.levels:
            pairs.append(Pair(0, nearest, level.name))
            nearest = level.cores
        if not pairs:
            raise UsageError(
                "only one core is usable, and messages need two: give the job more cores, or more nodes "
                "with --nodes"
            )
        return pairs

    def pair(self, first: int, second: int) -> Pair:
        """Return the pair of two cores, given by their numbers.

        Raises:
            UsageError: A core does not exist.
        """
        for core in (first, second):
            if not 0 <= core < self.cores:
                raise UsageError(f"core {core} does not exist: {self._describe_cores()}")
        if first == second:
            raise UsageError(f"core {first} with itself is not a pair; give two cores, such as --pair 0,1")
        # The last level contains all cores.
        level = next(level for level in self.levels if first // level.cores == second // level.cores)
        return Pair(first, second, level.name)

    def all_pairs(self) -> list[Pair]:
        """Return every core with every later one."""
        return [self.pair(i, j) for i in range(self.cores) for j in range(i + 1, self.cores)]

    def _describe_cores(self) -> str:
        nodes = f"{self.nodes} nodes have" if self.nodes > 1 else "this node has"
        return f"{nodes} the usable cores 0 to {self.cores - 1}"

    def make_pair_command(self, pair: Pair, words: Sequence[str]) -> list[str]:
        """Return the command for ranks on two cores; ranks on the first cores of other nodes sleep."""
        size = len(self.topology.cores)
        (node, first), (other, second) = divmod(pair.first, size), divmod(pair.second, size)
        cpus = self.topology.cores
        if node == other:
            chosen = cpus[0][:2] if pair.level == SMT else (cpus[first][0], cpus[second][0])
            return self._make_command(words, 2, 1, chosen, "0-1")
        on_node = [cpus[0][0]] * self.nodes
        on_node[node], on_node[other] = cpus[first][0], cpus[second][0]
        return self._make_command(words, self.nodes, self.nodes, on_node, f"{node}-{other}")

    def make_command(self, pairs: Sequence[Pair], words: Sequence[str]) -> list[str]:
        """Return the command for a rank on every core, for these pairs."""
        # By the rank within the node, as the order of ranks in the world may differ.
        cpus = [core[0] for core in self.topology.cores]
        pair_list = ",".join(f"{pair.first}-{pair.second}" for pair in pairs)
        return self._make_command([*words, "--by", "node"], self.cores, 0, cpus, pair_list)

    def make_host_command(self) -> list[str]:
        """Return the command for one rank on each node, which prints its host."""
        cpus = [self.topology.cores[0][0]] * self.nodes
        return self._make_command(["--tests", ""], self.nodes, self.nodes, cpus, "0-1")

    def _make_command(
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
    """Return the switch of each rank from Slurm's address, such as `spine.leaf0.node3`; empty if unknown."""
    addresses = [rank.get("address", "") for rank in ranks]
    if not all("." in address for address in addresses):
        return ()
    return tuple(address.rpartition(".")[0] for address in addresses)


def find_launcher(words: Sequence[str]) -> tuple[str, ...]:
    """Return the user's launcher, from PATH or this environment.

    Raises:
        LaunchError: The launcher is not found.
    """
    found = complete_command(words)
    if found and shutil.which(found[0]) is None:
        raise LaunchError(f"{found[0]}: not found; give mpiexec, mpirun or srun after --")
    return tuple(found)
