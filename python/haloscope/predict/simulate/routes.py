"""Networks with a route for each pair of hosts: routings that SimGrid does not have."""

from __future__ import annotations

import random
from collections.abc import Iterator
from decimal import Decimal
from math import prod
from typing import NamedTuple

from haloscope.base.errors import MachineError
from haloscope.predict.simulate.change import Change
from haloscope.predict.simulate.platform import Dragonfly, FatTree

_MOST_HOSTS = 256
Node = tuple[int, ...]


class Hop(NamedTuple):
    """A directed link; `width` is its bandwidth in links of the platform, `copy` one of several cables."""

    source: Node
    target: Node
    width: int = 1
    copy: int = 0


def is_routed(network: object) -> bool:
    """Return whether a network needs its own routes."""
    return isinstance(network, (FatTree, Dragonfly)) and network.routing in ("random", "valiant")


def list_route(network: FatTree | Dragonfly, ranks: int, source: int, target: int) -> list[Hop]:
    """Return the links from a host to a different one. Random choices depend on the two hosts only."""
    chosen = random.Random(source * _MOST_HOSTS + target)
    if isinstance(network, FatTree):
        return list(_climb(network, ranks, source, target, chosen))
    return list(_fly(network, ranks, source, target, chosen))


def _climb(tree: FatTree, ranks: int, source: int, target: int, chosen: random.Random) -> Iterator[Hop]:
    """Go up to any of the lowest switches above both hosts, and down.

    A switch of level k is (k, its position among the groups of hosts, the choices on the way up to it).
    """
    down, up, parallel = tree.levels(ranks)
    groups = [prod(down[:level]) for level in range(len(down) + 1)]
    top = next(level for level, size in enumerate(groups) if source // size == target // size)
    choices = tuple(chosen.randrange(width) for width in up[:top])

    def node(host: int, level: int) -> Node:
        return (level, host // groups[level], *choices[:level])

    for level in range(top):
        yield Hop(node(source, level), node(source, level + 1), copy=chosen.randrange(parallel[level]))
    for level in reversed(range(top)):
        yield Hop(node(target, level + 1), node(target, level), copy=chosen.randrange(parallel[level]))


def _fly(network: Dragonfly, ranks: int, source: int, target: int, chosen: random.Random) -> Iterator[Hop]:
    """Go to the target's group by a random third one, each way minimal as SimGrid's is.

    A router is (group, chassis, router). Router j in the first chassis of group i has the link to group j.
    """
    groups, chassis, routers, nodes = network.sizes(ranks)
    between_groups, between_chassis, between_routers = network.links

    def router(host: int) -> Node:
        rest, number = divmod(host // nodes, routers)
        return (rest // chassis, rest % chassis, number)

    def within(here: Node, there: Node) -> Iterator[Hop]:
        corner = (here[0], here[1], there[2])
        if here[2] != there[2]:
            yield Hop(here, corner, between_routers)
        if here[1] != there[1]:
            yield Hop(corner, there, between_chassis)

    here, end = router(source), router(target)
    yield Hop((source,), here)
    stops = [end[0]] if here[0] != end[0] else []
    others = [group for group in range(groups) if group not in (here[0], end[0])]
    if stops and others:
        stops.insert(0, chosen.choice(others))
    for group in stops:
        gate, arrival = (here[0], 0, group), (group, 0, here[0])
        yield from within(here, gate)
        yield Hop(gate, arrival, between_groups)
        here = arrival
    yield from within(here, end)
    yield Hop(end, (target,))


def make_routed_xml(network: FatTree | Dragonfly, ranks: int, change: Change) -> str:
    """Return SimGrid's description of the hosts, links and routes that `ranks` ranks use.

    Raises:
        MachineError: There are too many routes.
    """
    hosts = network.count_hosts(ranks)
    if hosts > _MOST_HOSTS:
        raise MachineError(
            f"{network.name}: routing {network.routing} lists all routes, "
            f"of at most {_MOST_HOSTS} hosts, not {hosts}"
        )
    cores, speed = network.processor
    names: dict[Hop, str] = {}
    routes = []
    for source in range(hosts):
        routes.append(f'<route src="n-{source}" dst="n-{source}"><link_ctn id="loop-{source}"/></route>')
        for target in range(hosts):
            if source == target:
                continue
            links = [
                _undirected(link) if network.sharing == "shared" else link
                for link in list_route(network, ranks, source, target)
            ]
            used = "".join(f'<link_ctn id="{names.setdefault(link, f"l-{len(names)}")}"/>' for link in links)
            routes.append(f'<route src="n-{source}" dst="n-{target}" symmetrical="NO">{used}</route>')
    policy = "FATPIPE" if network.sharing == "fatpipe" else "SHARED"
    lines = [f'<host id="n-{host}" speed="{speed:.12g}f" core="{cores}"/>' for host in range(hosts)]
    lines += [
        f'<link id="loop-{host}" bandwidth="{change.speed(network.loopback_bandwidth)}" '
        f'latency="{change.seconds(network.loopback_latency)}" sharing_policy="FATPIPE"/>'
        for host in range(hosts)
    ]
    lines += [
        f'<link id="{name}" bandwidth="{change.speed(Decimal(link.width) * network.bandwidth)}" '
        f'latency="{change.seconds(network.latency)}" sharing_policy="{policy}"/>'
        for link, name in names.items()
    ]
    return "\n".join(['<zone id="all" routing="Full">', *lines, *routes, "</zone>"])


def _undirected(link: Hop) -> Hop:
    first, second = sorted((link.source, link.target))
    return link._replace(source=first, target=second)
