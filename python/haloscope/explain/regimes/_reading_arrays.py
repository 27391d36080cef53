"""Timings from NumPy arrays: a matrix whose rows are ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from haloscope.base.errors import ProfileError
from haloscope.explain.regimes._checking import checked

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from haloscope.explain.regimes._timings import Timings

__all__ = ["of_matrix", "read_arrays"]


def read_arrays(path: Path, region: str | None) -> Timings:
    """Read `.npy`, or `.npz` with `duration` and, if need be, `rank`, `host` and other matrices."""
    with path.open("rb") as stream:  # np.load leaves what it opens itself open if it is damaged
        loaded = np.load(stream, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return of_matrix(path, region, {"duration": loaded})
        arrays = {name: loaded[name] for name in loaded.files}
    if len(arrays) == 1:
        arrays = {"duration": next(iter(arrays.values()))}
    if "duration" not in arrays:
        raise ProfileError(
            f"{path}: none of its arrays is called duration: {', '.join(arrays) or 'it has none'}"
        )
    return of_matrix(path, region, arrays)


def of_matrix(path: Path, region: str | None, arrays: dict[str, NDArray[np.generic]]) -> Timings:
    """Return the matrix `duration`, with `rank` and `host` of its rows and others of its shape."""
    durations = _numbers(path, "duration", arrays["duration"])
    if durations.ndim == 1 or (durations.ndim == 2 and durations.shape[1] == 1):
        arrays = {
            name: array.reshape(1, -1) if array.shape == durations.shape else array
            for name, array in arrays.items()
        }
        durations = durations.reshape(1, -1)
    if durations.ndim != 2:
        raise ProfileError(
            f"{path}: is no matrix of ranks × instances: it has {durations.ndim} dimensions"
        )
    ranks = _of_each_rank(path, arrays, "rank", len(durations))
    hosts = _of_each_rank(path, arrays, "host", len(durations))
    others = {
        name: _numbers(path, name, array)
        for name, array in arrays.items()
        if name != "duration" and array.shape == durations.shape
    }
    numbers = np.arange(len(durations)) if ranks is None else ranks.astype(np.int64)
    names = [None] * len(durations) if hosts is None else [str(host) for host in hosts]
    return checked(path.stem, region, durations, numbers, names, others)


def _numbers(path: Path, name: str, array: NDArray[np.generic]) -> NDArray[np.float64]:
    if array.dtype.kind not in "fiu":
        raise ProfileError(f"{path}: {name} is {array.dtype}, not numbers")
    return np.ascontiguousarray(array, dtype=np.float64)


def _of_each_rank(
    path: Path, arrays: dict[str, NDArray[np.generic]], name: str, ranks: int
) -> NDArray[np.generic] | None:
    if name in arrays and arrays[name].shape != (ranks,):
        raise ProfileError(f"{path}: {name} has not one value for each of {ranks} ranks")
    return arrays.get(name)
