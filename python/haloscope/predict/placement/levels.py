"""The machine as parts within parts, and what messages between its cores take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haloscope.base.arrays import Floats, Integers
from haloscope.base.errors import UsageError
from haloscope.predict.machine import Machine
from haloscope.predict.placement.nodes import Nodes
from haloscope.predict.placement.traffic import Traffic


@dataclass(frozen=True)
class Sections:
    """How sections of slots are parted further: `outer` into `inner`, sizes in the order of slots."""

    outer: tuple[int, ...]
    inner: tuple[int, ...]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """First and last (exclusive) slot of each outer section."""
        ends = np.cumsum(self.outer).tolist()
        return list(zip([0, *ends[:-1]], ends, strict=True))


def sections(nodes: Nodes, machine: Machine | None) -> list[Sections]:
    """Return how all slots are parted, step by step: into nodes, or by a machine's levels.

    Levels of the machine count where all of a node's cores have a rank: else nobody knows which have.
    """
    ranks = sum(nodes.ranks)
    sizes = [nodes.ranks]
    if machine is not None:
        node = node_cores(nodes, machine)
        if set(nodes.ranks) == {node}:
            units = [
                level.cores for level in machine.levels if level.cores < ranks and ranks % level.cores == 0
            ]
            sizes = [(unit,) * (ranks // unit) for unit in sorted({*units, node}, reverse=True)]
    steps: list[Sections] = []
    outer: tuple[int, ...] = (ranks,)
    for inner in sizes:
        if len(inner) > len(outer):
            steps.append(Sections(outer, inner))
            outer = inner
    return steps


def node_cores(nodes: Nodes, machine: Machine) -> int:
    """Return cores of the machine's nodes. Raises `UsageError` where the ranks have no room on them."""
    unit = machine.node_cores
    if max(nodes.ranks) > unit or len(nodes.ranks) * unit > machine.cores:
        raise UsageError(
            f"{machine.name}: has {machine.cores // unit} nodes of {unit} cores, the ranks are on {nodes}"
        )
    return unit


def message_times(traffic: Traffic, nodes: Nodes, machine: Machine, slots: Integers) -> Floats:
    """Return seconds of all messages that each rank receives (shape ranks), one after the other."""
    node = nodes.by_slot[slots]
    core = node * node_cores(nodes, machine) + slots - nodes.first[node]
    mean = traffic.bytes / traffic.messages
    seconds = np.zeros(len(mean))
    apart = traffic.senders != traffic.receivers
    pending = apart.copy()
    for level in machine.levels:
        unit = core // level.cores
        here = pending & (unit[traffic.senders] == unit[traffic.receivers])
        seconds[here] = traffic.messages[here] * np.array(
            [level.message_time(size) for size in mean[here].tolist()]
        )
        pending &= ~here
    return np.bincount(traffic.receivers, seconds, traffic.ranks).astype(np.float64)
