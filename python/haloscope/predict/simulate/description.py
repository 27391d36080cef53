"""Writes a platform as SimGrid reads it: XML, and a file with the host of each rank."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from xml.sax.saxutils import quoteattr

from haloscope.base.errors import MachineError, UsageError
from haloscope.predict.machine import Level, Machine
from haloscope.predict.machine_files import load_machine
from haloscope.predict.simulate.platform import FatTree, MachinePlatform, Network, Platform, Torus

SPEED = 1_000_000_000
"""Flops a second of a simulated core: a second of computing is so many."""
UNLIMITED = Decimal("1e15")
_HEAD = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'


@dataclass(frozen=True)
class Change:
    """What if: all latencies and bandwidths times a factor."""

    latency: float = 1
    bandwidth: float = 1

    @classmethod
    def ideal(cls) -> Change:
        """Return the change to no latency and no limit of bandwidth."""
        return cls(0, float("inf"))

    def seconds(self, latency: Decimal) -> str:
        return f"{float(latency) * self.latency:.12g}s"

    def speed(self, bandwidth: Decimal | None) -> str:
        if bandwidth is None or self.bandwidth == float("inf"):
            return f"{UNLIMITED:f}Bps"
        return f"{float(bandwidth) * self.bandwidth:.12g}Bps"


def capacity(platform: Platform, ranks: int) -> int:
    """Return how many ranks fit."""
    if isinstance(platform, MachinePlatform):
        return load_machine(platform.machine).cores
    return platform.hosts(ranks) * platform.cores


def host_names(platform: Platform, ranks: int) -> list[str]:
    """Return the host of each rank, filled in order. Raises `UsageError` if there are too few."""
    room = capacity(platform, ranks)
    if ranks > room:
        raise UsageError(f"platform {platform.name} has room for {room} ranks, not {ranks}")
    cores = 1 if isinstance(platform, MachinePlatform) else platform.cores
    return [f"n-{rank // cores}" for rank in range(ranks)]


def platform_xml(platform: Platform, ranks: int, change: Change) -> str:
    """Return SimGrid's description of the platform for so many ranks."""
    if isinstance(platform, MachinePlatform):
        body = _machine(load_machine(platform.machine), change)
    else:
        body = _network(platform, ranks, change)
    return f'{_HEAD}<platform version="4.1">\n{body}\n</platform>\n'


def _network(network: Network, ranks: int, change: Change) -> str:
    hosts = network.hosts(ranks)
    kind = (
        "FAT_TREE"
        if isinstance(network, FatTree)
        else ("TORUS" if isinstance(network, Torus) else "DRAGONFLY")
    )
    return (
        f'<zone id="all" routing="Full">\n'
        f'<cluster id="network" prefix="n-" radical="0-{hosts - 1}" suffix="" '
        f'speed="{SPEED}f" core="{network.cores}" '
        f'bw="{change.speed(network.bandwidth)}" lat="{change.seconds(network.latency)}" '
        f'loopback_bw="{change.speed(network.loopback_bandwidth)}" '
        f'loopback_lat="{change.seconds(network.loopback_latency)}" '
        f'sharing_policy="{network.sharing.upper()}" '
        f'topology="{kind}" topo_parameters="{network.parameters(ranks)}"/>\n</zone>'
    )


def _machine(machine: Machine, change: Change) -> str:
    """Zones in zones, one for each thing that cores share.

    Ways inside a zone to its gate cost nothing; the way between two zones, or two cores of the
    smallest one, is a link of the level that holds both: latencies are the model's, exactly.
    """
    limit = 1 << 16
    if machine.cores > limit:
        raise MachineError(f"{machine.name}: more than {limit} cores cannot be simulated")
    return "\n".join(_zone(machine, len(machine.levels) - 1, 0, change))


def _zone(machine: Machine, depth: int, first: int, change: Change) -> list[str]:
    level = machine.levels[depth]
    name = f"z{depth}-{first}"
    lines = [f'<zone id="{name}" routing="Full">']
    if depth == 0:
        cores = [f"n-{core}" for core in range(first, first + level.cores)]
        lines += [f'<host id="{core}" speed="{SPEED}f"/>' for core in cores]
        lines.append(f'<router id="{name}-gate"/>')
        lines += _links(name, level, change)
        lines += _ways("route", name, [(core, "") for core in cores], (f"{name}-gate", ""))
        return [*lines, "</zone>"]
    inner = machine.levels[depth - 1].cores
    children = [f"z{depth - 1}-{at}" for at in range(first, first + level.cores, inner)]
    for at in range(first, first + level.cores, inner):
        lines += _zone(machine, depth - 1, at, change)
    lines.append(f'<zone id="{name}-gates" routing="None"><router id="{name}-gate"/></zone>')
    lines += _links(name, level, change)
    ends = [(child, f"{child}-gate") for child in children]
    lines += _ways("zoneRoute", name, ends, (f"{name}-gates", f"{name}-gate"))
    return [*lines, "</zone>"]


def _links(name: str, level: Level, change: Change) -> list[str]:
    bandwidth, latency = change.speed(level.bandwidth), change.seconds(level.latency)
    free = Change.ideal()
    return [
        f'<link id="{name}-link" bandwidth="{bandwidth}" latency="{latency}" sharing_policy="FATPIPE"/>',
        f'<link id="{name}-free" bandwidth="{free.speed(None)}" latency="0s" sharing_policy="FATPIPE"/>',
    ]


def _ways(tag: str, name: str, ends: list[tuple[str, str]], gate: tuple[str, str]) -> list[str]:
    """Return routes: between every two of `ends` the level's link, from each to the gate a free one."""
    lines = []
    for index, end in enumerate(ends):
        lines += [_way(tag, end, other, f"{name}-link") for other in ends[index + 1 :]]
        lines.append(_way(tag, end, gate, f"{name}-free"))
    return lines


def _way(tag: str, source: tuple[str, str], to: tuple[str, str], link: str) -> str:
    gates = f" gw_src={quoteattr(source[1])} gw_dst={quoteattr(to[1])}" if source[1] else ""
    return f'<{tag} src="{source[0]}" dst="{to[0]}"{gates}><link_ctn id="{link}"/></{tag}>'
