"""Sizes of networks that a platform leaves open: the smallest that holds the ranks."""

from __future__ import annotations

from itertools import product
from math import prod

__all__ = ["fitting_dragonfly", "fitting_tree", "near_cube"]


def near_cube(count: int) -> tuple[int, int, int]:
    """The three factors of `count` with the smallest sum, largest first."""
    best = (count, 1, 1)
    for z in range(1, round(count ** (1 / 3)) + 2):
        if count % z:
            continue
        for y in range(z, int((count // z) ** 0.5) + 1):
            if count // z % y == 0 and count // z // y + y + z < sum(best):
                best = (count // z // y, y, z)
    return best


def fitting_tree(hosts: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Two levels up to 64 hosts, three above, all of one width, with half as many links up."""
    levels = 2 if hosts <= 64 else 3
    width = next(width for width in range(2, hosts + 2) if width**levels >= hosts)
    up = (1, *((max(1, width // 2),) * (levels - 1)))
    return (width,) * levels, up, (1,) * levels


def fitting_dragonfly(hosts: int) -> tuple[int, int, int, int]:
    """Powers of two; no more groups than routers a chassis, which SimGrid needs."""
    nodes = 2 if hosts <= 1024 else 4
    powers = [1 << power for power in range(10)]
    shapes = [
        (groups, chassis, routers, nodes)
        for groups, chassis, routers in product(powers, repeat=3)
        if chassis <= routers and groups <= routers <= 4 * groups
    ]
    fitting = [shape for shape in shapes if prod(shape) >= hosts]
    return min(fitting, key=lambda shape: (prod(shape), sum(shape)))
