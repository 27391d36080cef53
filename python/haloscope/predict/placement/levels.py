"""Nested parts of a machine, and times of messages between its cores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haloscope.base.arrays import Floats, Integers
from haloscope.base.errors import UsageError
from haloscope.base.units import noun_text
from haloscope.predict.machine import Machine
from haloscope.predict.placement.nodes import Nodes
from haloscope.predict.placement.traffic import Traffic


@dataclass(frozen=True)
class Sections:
    """One step of the division of slots: sections `outer` into `inner`, as sizes in the order of slots."""

    outer: tuple[int, ...]
    inner: tuple[int, ...]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """First and last (exclusive) slot of each outer section."""
        ends = np.cumsum(self.outer).tolist()
        return list(zip([0, *ends[:-1]], ends, strict=True))


def divide_slots(nodes: Nodes, machine: Machine | None) -> list[Sections]:
    """Return the division of all slots, step by step: into nodes, or by the levels of a machine.

    Levels of the machine are used only if every core of a node has a rank; otherwise the cores are unknown.
    """
    ranks = sum(nodes.ranks)
    sizes = [nodes.ranks]
    if machine is not None:
        node = count_node_cores(nodes, machine)
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


def count_node_cores(nodes: Nodes, machine: Machine) -> int:
    """Return the cores per node of the machine. Raises `UsageError` if the ranks do not fit."""
    unit = machine.node_cores
    if max(nodes.ranks) > unit or len(nodes.ranks) * unit > machine.cores:
        raise UsageError(
            f"{machine.name}: has {noun_text(machine.cores // unit, 'node')} of {noun_text(unit, 'core')},"
            " but the"
            f" ranks are on {nodes}"
        )
    return unit


def sum_message_times(traffic: Traffic, nodes: Nodes, machine: Machine, slots: Integers) -> Floats:
    """Return the total time (s) of the messages that each rank receives, shape (ranks,)."""
    node = nodes.by_slot[slots]
    core = node * count_node_cores(nodes, machine) + slots - nodes.first[node]
    mean = traffic.bytes / traffic.messages
    seconds = np.zeros(len(mean))
    is_remote = traffic.senders != traffic.receivers
    pending = is_remote.copy()
    for level in machine.levels:
        unit = core // level.cores
        chosen = pending & (unit[traffic.senders] == unit[traffic.receivers])
        seconds[chosen] = traffic.messages[chosen] * np.array(
            [level.message_time(size) for size in mean[chosen].tolist()]
        )
        pending &= ~chosen
    return np.bincount(traffic.receivers, seconds, traffic.ranks).astype(np.float64)
