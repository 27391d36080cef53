"""The cores of a node and what they share, as hwloc sees them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from haloscope.base.errors import MachineError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Shared", "Topology", "parse", "topology"]

_REMEDY = "install it (apt-get install hwloc) for the levels of caches, NUMA domains and sockets"
# From the nearest to the farthest; of things that are shared by the same cores the first is named.
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
        """The first core that shares this level with core 0, and nothing smaller."""
        return self.levels[level - 1].cores if level else 1

    def name(self, first: int, second: int) -> str:
        """The smallest thing that two cores share."""
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
        # Named like this, a file that is damaged is an error, not this machine instead.
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
    # A synthetic or foreign topology says nothing of the processors that we may use.
    return parse(done.stdout, None if given else os.sched_getaffinity(0))


def parse(text: str, allowed: Iterable[int] | None = None) -> Topology:
    """The topology in hwloc's XML; only the cores with processors that are `allowed`."""
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
    """Of hwloc's `0x00000001,0xffffffff`; an infinite set begins with `0xf...f`."""
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
    """Each larger than the one before and a multiple of it; the last one holds all cores."""
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
