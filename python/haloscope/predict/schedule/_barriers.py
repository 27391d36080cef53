"""Barriers: messages of no bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from haloscope.predict.schedule._schedule import Plan, Schedule

__all__ = ["dissemination", "double_ring", "linear", "recursive_doubling", "tree"]


def linear(schedule: Schedule, plan: Plan) -> None:
    """All tell the root, which tells all, one after the other."""
    others = np.arange(1, plan.ranks)
    schedule.send(others, 0, 0)
    schedule.send(0, others, 0, source_step=others)


def double_ring(schedule: Schedule, plan: Plan) -> None:
    """Twice around a ring from rank 0."""
    order = np.arange(plan.ranks)
    for _ in range(2):
        schedule.send(
            order, (order + 1) % plan.ranks, 0, source_step=np.where(order, 2, 1),
            target_step=np.where((order + 1) % plan.ranks, 1, 2),
        )  # fmt: skip


def recursive_doubling(schedule: Schedule, plan: Plan) -> None:
    """Pairs at growing distances; ranks beyond a power of two come before and after."""
    left = 1 << (plan.ranks.bit_length() - 1)
    extra = np.arange(left, plan.ranks)
    schedule.send(extra, extra - left, 0)
    everyone, stride = np.arange(left), 1
    while stride < left:
        schedule.send(everyone, everyone ^ stride, 0)
        stride *= 2
    schedule.send(extra - left, extra, 0)


def tree(schedule: Schedule, plan: Plan) -> None:
    """Up a binomial tree and down again."""
    strides = [1 << i for i in range((plan.ranks - 1).bit_length())]
    for stride in strides:
        low = np.arange(0, plan.ranks - stride, 2 * stride)
        schedule.send(low + stride, low, 0)
    for stride in reversed(strides):
        low = np.arange(0, plan.ranks - stride, 2 * stride)
        schedule.send(low, low + stride, 0)


def dissemination(schedule: Schedule, plan: Plan) -> None:
    """Everyone tells the rank that is 1, 2, 4 … on."""
    everyone, stride = np.arange(plan.ranks), 1
    while stride < plan.ranks:
        schedule.send(everyone, (everyone + stride) % plan.ranks, 0)
        stride *= 2
