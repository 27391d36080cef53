"""What apps/amr defines, in NumPy, on the blocks that it says it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Block", "Mesh"]

Triple = tuple[int, int, int]
Bits: TypeAlias = npt.NDArray[np.uint64]


class Block(NamedTuple):
    """A line `block` of the program's output."""

    level: int
    at: Triple
    rank: int

    @classmethod
    def parse(cls, words: Sequence[str]) -> Block:
        level, at, rank = words
        x, y, z = map(int, at.split(","))
        return cls(int(level), (x, y, z), int(rank))


def scatter(bits: Bits) -> Bits:
    """The finaliser of SplitMix64."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ bits >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ bits >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    mixed: Bits = bits ^ bits >> np.uint64(31)
    return mixed


def initial(cells: npt.NDArray[np.int64], variable: int) -> npt.NDArray[np.float64]:
    """Of cells of unrefined blocks: a number of [0, 1) for each row of coordinates."""
    bits = scatter(np.zeros(len(cells), np.uint64)) + np.uint64(variable)
    for axis in range(3):
        bits = scatter(bits) + cells[:, axis].astype(np.uint64)
    values: npt.NDArray[np.float64] = (scatter(bits) >> np.uint64(11)).astype(float) * 2.0**-53
    return values


@dataclass(frozen=True)
class Mesh:
    """All blocks of a domain, painted on a grid of the finest level's blocks."""

    blocks: list[Block]
    roots: Triple
    cells: Triple

    @property
    def finest(self) -> int:
        return max(block.level for block in self.blocks)

    def painted(self, cells: Triple) -> np.ndarray:
        """The number of the cell that lies there, if blocks had that many; each place has one."""
        finest = self.finest
        shape = [n * c << finest for n, c in zip(self.roots, cells, strict=True)]
        grid, times = np.full(shape, -1), np.zeros(shape, int)
        count = int(np.prod(cells))
        numbers = np.arange(count).reshape(cells)
        for n, block in enumerate(self.blocks):
            width = 1 << finest - block.level
            fine = np.kron(numbers, np.ones((width,) * 3, int)) + n * count
            place = tuple(
                slice(at * c * width, (at + 1) * c * width) for at, c in zip(block.at, cells, strict=True)
            )
            grid[place] = fine
            times[place] += 1
        assert (times == 1).all()
        return grid

    def touching(self, cells: Triple, axis: int) -> np.ndarray:
        """Pairs of numbers of what touches along an axis, each once, the lower first."""
        grid = np.moveaxis(self.painted(cells), axis, 0)
        pairs = np.stack([grid[:-1].ravel(), grid[1:].ravel()], axis=1)
        return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)

    def integrals(self, variable: int, steps: int) -> tuple[float, float]:
        """Of the field and of its square. A step: between cells that touch flows a seventh of
        their difference, in units of the smaller one's volume.
        """
        count = int(np.prod(self.cells))
        levels = np.repeat([block.level for block in self.blocks], count)
        volume = 8.0**-levels
        field = initial(self._root_cells(), variable)
        pairs = np.concatenate([self.touching(self.cells, axis) for axis in range(3)])
        low, high = pairs.T
        weight = np.minimum(volume[low], volume[high]) / 7
        for _ in range(steps):
            flow = weight * (field[high] - field[low])
            gain = np.bincount(low, flow, len(field)) - np.bincount(high, flow, len(field))
            field = field + gain / volume
        return float(volume @ field), float(volume @ field**2)

    def _root_cells(self) -> np.ndarray:
        """Which cell of an unrefined block each cell is part of."""
        local = np.stack(np.unravel_index(np.arange(np.prod(self.cells)), self.cells), axis=1)
        rows = [(local + np.multiply(b.at, self.cells)) >> b.level for b in self.blocks]
        return np.concatenate(rows)

    def messages(self, variables: int) -> Counter[int]:
        """Sizes of the messages of one exchange: one for each axis and pair of ranks."""
        sizes: Counter[int] = Counter()
        for axis in range(3):
            face = int(np.prod(self.cells)) // self.cells[axis]
            together: Counter[tuple[int, int]] = Counter()
            for n, m in self.touching((1, 1, 1), axis):
                a, b = self.blocks[n], self.blocks[m]
                values = face if a.level == b.level else face // 4
                if a.rank != b.rank:
                    together[a.rank, b.rank] += values
                    together[b.rank, a.rank] += values
            sizes.update(8 * variables * values for values in together.values())
        return sizes

    def steepest(self) -> int:
        """The largest difference of levels between blocks that touch."""
        levels = np.array([block.level for block in self.blocks])
        found = [np.abs(np.diff(levels[self.touching((1, 1, 1), axis)])) for axis in range(3)]
        return max(int(differences.max(initial=0)) for differences in found)
