"""A mapping of ranks to nodes, and what it would bring."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from haloscope.base.arrays import Integers
from haloscope.base.units import bytes_text, percent_text, time_text
from haloscope.predict.machine import Machine
from haloscope.predict.machine_files import load_machine
from haloscope.predict.placement.levels import Sections, message_times, sections
from haloscope.predict.placement.nodes import Nodes, read_nodes, read_recorded_nodes
from haloscope.predict.placement.parting import part_ranks
from haloscope.predict.placement.traffic import Traffic
from haloscope.profile import Profile

# Of the bytes between nodes: a mapping that spares less is not worth a job script's line.
WORTH = 0.05


@dataclass(frozen=True)
class Proposal:
    """Which slot each rank has now and which it should have; slots are numbered node by node.

    `before` and `after` are slots by rank. Without a machine model, the order within a node says nothing.
    """

    traffic: Traffic
    nodes: Nodes
    before: Integers
    after: Integers
    machine: Machine | None = None

    @property
    def bytes_before(self) -> int:
        """Bytes between nodes as ranks are placed now."""
        return self.traffic.across(self.nodes.by_slot[self.before])

    @property
    def bytes_after(self) -> int:
        """Bytes between nodes as proposed."""
        return self.traffic.across(self.nodes.by_slot[self.after])

    @property
    def is_worth_it(self) -> bool:
        """Whether at least 5 % fewer bytes would go between nodes."""
        return self.bytes_before > 0 and self.bytes_after <= (1 - WORTH) * self.bytes_before

    @property
    def groups(self) -> list[list[int]]:
        """The ranks of each node as proposed, by slot."""
        order = np.argsort(self.after, kind="stable")
        parts = np.split(order, np.cumsum(self.nodes.ranks)[:-1])
        return [part.tolist() for part in parts]

    @property
    def times(self) -> tuple[float, float] | None:
        """Seconds before and after of the rank whose messages take longest, by the machine's model.

        They are those of all messages that it receives, one after the other. None without a model.
        """
        if self.machine is None:
            return None
        both = (
            message_times(self.traffic, self.nodes, self.machine, slots)
            for slots in (self.before, self.after)
        )
        before, after = (float(times.max()) for times in both)
        return before, after

    def figures(self) -> dict[str, Any]:
        """Return all of it as JSON has it: bytes, shares, seconds, nodes and the ranks on each."""
        times = self.times
        return {
            "ranks": self.traffic.ranks,
            "nodes": [
                {"host": name, "ranks": ranks}
                for name, ranks in zip(self.nodes.names, self.groups, strict=True)
            ],
            "bytes": self.traffic.total,
            "bytes_offnode": self.bytes_before,
            "bytes_offnode_proposed": self.bytes_after,
            "proposed": self.is_worth_it,
            "message_time": times and times[0],
            "message_time_proposed": times and times[1],
        }

    def describe(self) -> list[str]:
        """Return what people want to know, in lines."""
        total, before, after = self.traffic.total, self.bytes_before, self.bytes_after
        lines = [
            f"{self.traffic.ranks} ranks on {self.nodes}: {percent_text(before, total)} of "
            f"{bytes_text(total)} go between nodes"
        ]
        if not self.is_worth_it:
            best = f", and the best mapping found has {percent_text(after, total)}" if after < before else ""
            return [*lines, f"nothing is proposed: no mapping was found that spares 5 % of these{best}"]
        lines.append(
            f"with another mapping {percent_text(after, total)}: "
            f"{percent_text(before - after, before)} fewer bytes"
        )
        if self.times:
            old, new = map(time_text, self.times)
            lines.append(
                f"the messages of the rank that has most to wait for take {new}, now {old}, by the model"
            )
        return lines


def propose_placement(
    profile: str | os.PathLike[str], hosts: str | None = None, machine: str | os.PathLike[str] | None = None
) -> Proposal:
    """Return the best mapping that was found for what a profile's ranks send each other.

    `hosts` are the nodes to run on (`8`, `a:4,b:4`, or a host file), filled in this order at present;
    without them it is where the profile was recorded. `machine` is a model of `haloscope bench p2p`: its
    levels within nodes and beyond them count, too, and messages get times. Raises `UsageError` where
    there is nothing to place or no room, `ProfileError`, `MachineError`, and `ComponentError` without Scotch.
    """

    with Profile(profile) as opened:
        traffic = Traffic.of(opened)
        if hosts is None:
            nodes, node = read_recorded_nodes(opened)
        else:
            nodes = read_nodes(hosts, traffic.ranks)
            node = nodes.by_slot
    model = None if machine is None else load_machine(os.fspath(machine))
    before = _slots(nodes, node)
    parts = sections(nodes, model)
    return Proposal(traffic, nodes, before, _arranged(traffic, nodes, before, parts), model)


def _slots(nodes: Nodes, node: Integers) -> Integers:
    """Return a slot for each rank, rising on each node."""
    slots = np.empty(len(node), dtype=np.int64)
    slots[np.argsort(node, kind="stable")] = np.arange(len(node))
    return slots


def _arranged(traffic: Traffic, nodes: Nodes, before: Integers, levels: list[Sections]) -> Integers:
    """Return the slots of ranks, parted level by level from the outermost to the nodes and into them."""
    after: Integers = before.copy()
    for sizes in levels:
        ends = np.cumsum(sizes.inner)
        for first, last in sizes.spans:
            ranks = np.argsort(after, kind="stable")[first:last]
            bounds = [end for end in ends if first < end <= last]
            widths = np.diff([first, *bounds]).tolist()
            given = np.repeat(np.arange(len(widths)), widths)
            order = np.argsort(ranks, kind="stable")  # ranks rise within a part
            members = ranks[order]
            part = part_ranks(traffic.links.select(members), widths, given[order])
            after[members[np.argsort(part, kind="stable")]] = np.arange(first, last)
    return after


# Its name in `import haloscope`.
propose = propose_placement
