"""MFEM's partition of a mesh: METIS's k-way one, then parts without a zone get half of a large part.

Laghos 3.1 uses it for a mesh from a file. METIS has indices of 32 bits, as in Debian and in Spack's default.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from haloscope import ComponentError

Ints = npt.NDArray[np.int32]
Part = tuple[int, int]  # number of zones, and of the part

_OPTIONS, _CONTIGUOUS = 40, 11  # of METIS 5: the length of the array, the index of METIS_OPTION_CONTIG
_INSERTION = 16  # libstdc++ leaves ranges up to this length to a last insertion sort


def partition(neighbours: Sequence[Sequence[int]], parts: int) -> Ints:
    """Return the part of each zone; `neighbours` are those across a face.

    Raises:
        ComponentError: METIS is not installed.
    """
    found = _metis(neighbours, parts)
    _fill_empty(found, parts)
    return found


def _metis(neighbours: Sequence[Sequence[int]], parts: int) -> Ints:
    try:
        library = ctypes.CDLL("libmetis.so.5")
    except OSError:
        raise ComponentError("METIS is not installed: apt-get install libmetis5") from None
    starts = np.cumsum([0, *map(len, neighbours)], dtype=np.int32)
    # MFEM sorts in decreasing order; METIS's result depends on it.
    flat = [zone for row in neighbours for zone in sorted(row, reverse=True)]
    graph, found = np.array(flat, np.int32), np.zeros(len(neighbours), np.int32)
    options = np.zeros(_OPTIONS, np.int32)
    library.METIS_SetDefaultOptions(_address(options))
    options[_CONTIGUOUS] = 1
    sizes = [ctypes.byref(ctypes.c_int32(number)) for number in (len(neighbours), 1)]
    count, cut = (ctypes.byref(ctypes.c_int32(number)) for number in (parts, 0))
    arrays = [_address(starts), _address(graph), None, None, None]
    status = library.METIS_PartGraphKway(
        *sizes, *arrays, count, None, None, _address(options), cut, _address(found)
    )
    if status != 1:
        raise ComponentError(f"METIS returned {status}: its indices are not of 32 bits")
    return found


def _address(array: Ints) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _fill_empty(found: Ints, parts: int) -> None:
    """Give half of the zones of a large part to each empty one, until there is none."""
    while True:
        sizes = np.bincount(found, minlength=parts)
        empty = int((sizes == 0).sum())
        if not empty:
            return
        order: list[Part] = [(int(size), part) for part, size in enumerate(sizes)]
        std_sort(order)
        # The last, largest part gives to the first, empty one, and so on.
        takers = {order[parts - 1 - n][1]: order[n][1] for n in range(empty)}
        left = {part: int(sizes[part]) // 2 for part in takers}
        for zone, part in enumerate(found.tolist()):
            if left.get(part, 0):
                left[part] -= 1
                found[zone] = takers[part]


def std_sort(items: list[Part]) -> None:
    """Sort by the number of zones alone, with equal ones in the order that libstdc++'s `std::sort` gives.

    This order determines the parts that are cut. It is the introspective sort with the median of three as
    pivot; its fallback to heaps is for worse cases than these.
    """
    _quicksort(items, 0, len(items))
    for last in range(1, len(items)):
        item, to = items[last], last
        while to and item[0] < items[to - 1][0]:
            items[to] = items[to - 1]
            to -= 1
        items[to] = item


def _quicksort(items: list[Part], first: int, last: int) -> None:
    while last - first > _INSERTION:
        at = _median(items, first + 1, first + (last - first) // 2, last - 1)
        items[first], items[at] = items[at], items[first]
        cut = _split(items, first + 1, last, items[first][0])
        _quicksort(items, cut, last)
        last = cut


def _median(items: list[Part], a: int, b: int, c: int) -> int:
    """Return the position of the median, as libstdc++ chooses among equal ones."""
    x, y, z = (items[n][0] for n in (a, b, c))
    if x < y:
        return b if y < z else c if x < z else a
    return a if x < z else c if y < z else b


def _split(items: list[Part], low: int, high: int, pivot: int) -> int:
    while True:
        while items[low][0] < pivot:
            low += 1
        high -= 1
        while pivot < items[high][0]:
            high -= 1
        if low >= high:
            return low
        items[low], items[high] = items[high], items[low]
        low += 1
