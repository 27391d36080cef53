"""A proposed mapping of ranks to nodes, and its gain."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from haloscope.base.arrays import Integers
from haloscope.base.units import bytes_text, noun_text, percent_text, time_text
from haloscope.predict.machine import Machine
from haloscope.predict.machine_files import load_machine
from haloscope.predict.placement.levels import Sections, divide_slots, sum_message_times
from haloscope.predict.placement.nodes import Nodes, read_nodes, read_recorded_nodes
from haloscope.predict.placement.parting import partition_ranks
from haloscope.predict.placement.traffic import Traffic
from haloscope.profile import Profile

# Smallest reduction of the bytes between nodes for which a mapping is proposed.
WORTH = 0.05


@dataclass(frozen=True)
class Proposal:
    """The present and the proposed slot of each rank; slots are numbered node by node.

    `before` and `after` are slots by rank. Without a machine model, the order within a node is arbitrary.
    """

    traffic: Traffic
    nodes: Nodes
    before: Integers
    after: Integers
    machine: Machine | None = None

    @property
    def bytes_before(self) -> int:
        """Bytes between nodes with the present placement."""
        return self.traffic.count_remote_bytes(self.nodes.by_slot[self.before])

    @property
    def bytes_after(self) -> int:
        """Bytes between nodes with the proposed placement."""
        return self.traffic.count_remote_bytes(self.nodes.by_slot[self.after])

    @property
    def is_worth_it(self) -> bool:
        """Whether the bytes between nodes would be at least 5 % fewer."""
        return self.bytes_before > 0 and self.bytes_after <= (1 - WORTH) * self.bytes_before

    @property
    def groups(self) -> list[list[int]]:
        """The ranks of each node in the proposal, by slot."""
        order = np.argsort(self.after, kind="stable")
        parts = np.split(order, np.cumsum(self.nodes.ranks)[:-1])
        return [part.tolist() for part in parts]

    @property
    def times(self) -> tuple[float, float] | None:
        """Seconds before and after of the rank whose messages take longest, from the machine model.

        They are the sums over all messages that the rank receives. None without a model.
        """
        if self.machine is None:
            return None
        both = (
            sum_message_times(self.traffic, self.nodes, self.machine, slots)
            for slots in (self.before, self.after)
        )
        before, after = (float(times.max()) for times in both)
        return before, after

    def figures(self) -> dict[str, Any]:
        """Return the proposal as an object for JSON: bytes, seconds, nodes and their ranks."""
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
        """Return the proposal as lines."""
        total, before, after = self.traffic.total, self.bytes_before, self.bytes_after
        lines = [
            f"{noun_text(self.traffic.ranks, 'rank')} on {self.nodes}: {percent_text(before, total)} of "
            f"{bytes_text(total)} go between nodes"
        ]
        if not self.is_worth_it:
            best = f", and the best mapping found has {percent_text(after, total)}" if after < before else ""
            return [*lines, f"nothing is proposed: no mapping found reduces these by 5 %{best}"]
        lines.append(
            f"with the proposed mapping {percent_text(after, total)}: "
            f"{percent_text(before - after, before)} fewer bytes"
        )
        if self.times:
            old, new = map(time_text, self.times)
            lines.append(
                f"the rank with the longest messages receives for {new} instead of {old}, by the model"
            )
        return lines


def propose_placement(
    profile: str | os.PathLike[str], hosts: str | None = None, machine: str | os.PathLike[str] | None = None
) -> Proposal:
    """Find a mapping of ranks to nodes with few bytes between nodes.

    Args:
        profile: The profile with the messages.
        hosts: Nodes to run on (`8`, `a:4,b:4`, or a host file), which the launcher fills in this order. By
            default those of the profile.
        machine: Machine model of `haloscope bench p2p`. Its levels are then used, and messages have times.

    Raises:
        UsageError: There is nothing to place, or the hosts have too few slots.
        ProfileError: The profile cannot be read.
        MachineError: The machine model cannot be read.
        ComponentError: Scotch is missing.
    """

    with Profile(profile) as opened:
        traffic = Traffic.of(opened)
        if hosts is None:
            nodes, node = read_recorded_nodes(opened)
        else:
            nodes = read_nodes(hosts, traffic.ranks)
            node = nodes.by_slot
    model = None if machine is None else load_machine(os.fspath(machine))
    before = _assign_slots(nodes, node)
    parts = divide_slots(nodes, model)
    return Proposal(traffic, nodes, before, _arrange_ranks(traffic, nodes, before, parts), model)


def _assign_slots(nodes: Nodes, node: Integers) -> Integers:
    """Return a slot per rank, ascending on each node."""
    slots = np.empty(len(node), dtype=np.int64)
    slots[np.argsort(node, kind="stable")] = np.arange(len(node))
    return slots


def _arrange_ranks(traffic: Traffic, nodes: Nodes, before: Integers, levels: list[Sections]) -> Integers:
    """Return the slots of ranks, divided level by level from the outermost to the innermost."""
    after: Integers = before.copy()
    for sizes in levels:
        ends = np.cumsum(sizes.inner)
        for first, last in sizes.spans:
            ranks = np.argsort(after, kind="stable")[first:last]
            bounds = [end for end in ends if first < end <= last]
            widths = np.diff([first, *bounds]).tolist()
            given = np.repeat(np.arange(len(widths)), widths)
            order = np.argsort(ranks, kind="stable")  # ranks ascend within a part
            members = ranks[order]
            part = partition_ranks(traffic.links.select(members), widths, given[order])
            after[members[np.argsort(part, kind="stable")]] = np.arange(first, last)
    return after


# Its name in `import haloscope`.
propose = propose_placement
