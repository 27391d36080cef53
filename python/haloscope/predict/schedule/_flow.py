"""Segments that flow down or up a tree: Open MPI's generic broadcast and reduction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from haloscope.predict._trees import Tree
    from haloscope.predict.schedule._schedule import Schedule

    Integers = NDArray[np.int64]

__all__ = ["flow_down", "flow_up", "parts"]


def parts(size: int, segment: int) -> Integers:
    """Bytes of each segment; the last one is what is left. 0: all in one."""
    segment = min(segment, size) or max(size, 1)
    whole, rest = divmod(size, segment)
    return np.array([segment] * whole + [rest] * bool(rest) or [0], np.int64)


def flow_down(
    schedule: Schedule, tree: Tree, sizes: Integers, *, other: Integers | None = None
) -> None:
    """A rank sends each segment to all its children, then the next one.

    The receive of the next segment is posted before one is passed on. Children of even rank get the
    `other` segments, if there are any.
    """
    parents, children = _edges(tree, 0)
    second = sizes if other is None else other
    count, number = max(len(sizes), len(second)), len(parents)
    columns = [np.pad(part, (0, count - len(part)), constant_values=-1) for part in (sizes, second)]
    bytes_ = np.where(children % 2, columns[0][:, None], columns[1][:, None])
    step = np.broadcast_to(2 * np.arange(count)[:, None], (count, number))
    exists = bytes_ >= 0
    schedule.send(
        np.broadcast_to(parents, (count, number))[exists],
        np.broadcast_to(children, (count, number))[exists], bytes_[exists],
        source_step=step[exists] + 2, target_step=step[exists] + 1, meets=False,
    )  # fmt: skip


def flow_up(schedule: Schedule, tree: Tree, sizes: Integers, root: int = 0) -> None:
    """A rank adds each segment of all its children in their order, and passes the sum on."""
    parents, children = _edges(tree, root)
    # Whatever a rank has to wait for comes before what it sends.
    order = np.argsort(-_depth(tree, root)[parents], kind="stable")
    parents, children = parents[order], children[order]
    count, number = len(sizes), len(parents)
    step = np.repeat(2 * np.arange(count), number)
    all_sizes = np.repeat(sizes, number)
    schedule.send(
        np.tile(children, count), np.tile(parents, count), all_sizes,
        source_step=step + 2, target_step=step + 1, added=all_sizes, meets=False,
    )  # fmt: skip


def _edges(tree: Tree, root: int) -> tuple[Integers, Integers]:
    """Parents and children, from the root on."""
    order, edges = [root], []
    for parent in order:
        edges += [(parent, child) for child in tree[parent]]
        order += tree[parent]
    parents, children = np.array(edges, np.int64).reshape(-1, 2).T
    return parents, children


def _depth(tree: Tree, root: int) -> Integers:
    depth = np.zeros(len(tree), np.int64)
    for parent, child in zip(*_edges(tree, root), strict=True):
        depth[child] = depth[parent] + 1
    return depth
