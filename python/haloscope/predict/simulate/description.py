"""Description of a platform for SimGrid: XML, and the host of each rank."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

from haloscope.base.errors import MachineError, UsageError
from haloscope.base.units import noun_text
from haloscope.predict.machine import Level, Machine
from haloscope.predict.machine_files import load_machine
from haloscope.predict.simulate.change import Change
from haloscope.predict.simulate.platform import (
    SPEED,
    Dragonfly,
    FatTree,
    MachinePlatform,
    Network,
    Platform,
    Torus,
)
from haloscope.predict.simulate.routes import is_routed, make_routed_xml

_HEAD = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'


def count_capacity(platform: Platform, ranks: int) -> int:
    """Return the number of ranks that fit."""
    if isinstance(platform, MachinePlatform):
        return load_machine(platform.machine).cores
    return platform.hosts(ranks) * platform.cores


def name_hosts(platform: Platform, ranks: int) -> list[str]:
    """Return the host of each rank, filled in order. Raises `UsageError` if there are too few cores."""
    room = count_capacity(platform, ranks)
    if ranks > room:
        raise UsageError(f"platform {platform.name} has cores for {noun_text(room, 'rank')}, not {ranks}")
    cores = 1 if isinstance(platform, MachinePlatform) else platform.cores
    return [f"n-{rank // cores}" for rank in range(ranks)]


def make_platform_xml(platform: Platform, ranks: int, change: Change) -> str:
    """Return SimGrid's description of the platform for `ranks` ranks."""
    if isinstance(platform, MachinePlatform):
        body = _make_machine(load_machine(platform.machine), change)
    elif isinstance(platform, (FatTree, Dragonfly)) and is_routed(platform):
        body = make_routed_xml(platform, ranks, change)
    else:
        body = _make_network(platform, ranks, change)
    return f'{_HEAD}<platform version="4.1">\n{body}\n</platform>\n'


def _make_network(network: Network, ranks: int, change: Change) -> str:
    hosts = network.hosts(ranks)
    kind = (
        "FAT_TREE"
        if isinstance(network, FatTree)
        else ("TORUS" if isinstance(network, Torus) else "DRAGONFLY")
    )
    cores, speed = network.processor
    return (
        f'<zone id="all" routing="Full">\n'
        f'<cluster id="network" prefix="n-" radical="0-{hosts - 1}" suffix="" '
        f'speed="{speed:.12g}f" core="{cores}" '
        f'bw="{change.speed(network.bandwidth)}" lat="{change.seconds(network.latency)}" '
        f'loopback_bw="{change.speed(network.loopback_bandwidth)}" '
        f'loopback_lat="{change.seconds(network.loopback_latency)}" '
        f'sharing_policy="{network.sharing.upper()}" '
        f'topology="{kind}" topo_parameters="{network.parameters(ranks)}"/>\n</zone>'
    )


def _make_machine(machine: Machine, change: Change) -> str:
    """Return nested zones, one per level of the machine.

    Routes inside a zone to its gate cost nothing. The route between two zones, or two cores of the smallest
    zone, is a link of the level that contains both, so latencies are exactly those of the model.
    """
    limit = 1 << 16
    if machine.cores > limit:
        raise MachineError(f"{machine.name}: more than {limit} cores cannot be simulated")
    return "\n".join(_make_zone(machine, len(machine.levels) - 1, 0, change))


def _make_zone(machine: Machine, depth: int, first: int, change: Change) -> list[str]:
    level = machine.levels[depth]
    name = f"z{depth}-{first}"
    lines = [f'<zone id="{name}" routing="Full">']
    if depth == 0:
        cores = [f"n-{core}" for core in range(first, first + level.cores)]
        lines += [f'<host id="{core}" speed="{SPEED}f"/>' for core in cores]
        lines.append(f'<router id="{name}-gate"/>')
        lines += _make_links(name, level, change)
        lines += _make_routes("route", name, [(core, "") for core in cores], (f"{name}-gate", ""))
        return [*lines, "</zone>"]
    inner = machine.levels[depth - 1].cores
    children = [f"z{depth - 1}-{position}" for position in range(first, first + level.cores, inner)]
    for position in range(first, first + level.cores, inner):
        lines += _make_zone(machine, depth - 1, position, change)
    lines.append(f'<zone id="{name}-gates" routing="None"><router id="{name}-gate"/></zone>')
    lines += _make_links(name, level, change)
    ends = [(child, f"{child}-gate") for child in children]
    lines += _make_routes("zoneRoute", name, ends, (f"{name}-gates", f"{name}-gate"))
    return [*lines, "</zone>"]


def _make_links(name: str, level: Level, change: Change) -> list[str]:
    bandwidth, latency = change.speed(level.bandwidth), change.seconds(level.latency)
    free = Change.ideal()
    return [
        f'<link id="{name}-link" bandwidth="{bandwidth}" latency="{latency}" sharing_policy="FATPIPE"/>',
        f'<link id="{name}-free" bandwidth="{free.speed(None)}" latency="0s" sharing_policy="FATPIPE"/>',
    ]


def _make_routes(tag: str, name: str, ends: list[tuple[str, str]], gate: tuple[str, str]) -> list[str]:
    """Return routes: the level's link between every two of `ends`, and a free link from each to the gate."""
    lines = []
    for index, end in enumerate(ends):
        lines += [_make_route(tag, end, other, f"{name}-link") for other in ends[index + 1 :]]
        lines.append(_make_route(tag, end, gate, f"{name}-free"))
    return lines


def _make_route(tag: str, source: tuple[str, str], to: tuple[str, str], link: str) -> str:
    gates = f" gw_src={quoteattr(source[1])} gw_dst={quoteattr(to[1])}" if source[1] else ""
    return f'<{tag} src="{source[0]}" dst="{to[0]}"{gates}><link_ctn id="{link}"/></{tag}>'
