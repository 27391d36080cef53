"""The compiled kernels of `src/explain`, called by ctypes.

They compute expectations and decode hidden Markov chains over many sequences, and compute the depth of
curves. The library does not depend on Python, so one build serves every Python. Sequences are parts of one
array of values, or of rows of log densities, which is not copied. Other Python threads run at the same time.
Results do not depend on `threads`.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from haloscope.base.arrays import AnyArray, Bytes, Flags, Floats, Integers
from haloscope.base.errors import HaloscopeError

__all__ = [
    "MOST_STATES",
    "Chain",
    "Counts",
    "Posterior",
    "SequenceBounds",
    "available_threads",
    "band_depth",
    "envelope",
    "expectation",
    "gaussian_expectation",
    "gaussian_log_likelihood",
    "gaussian_posterior",
    "gaussian_viterbi",
    "instruction_sets",
    "log_likelihood",
    "medians",
    "native_library",
    "outside",
    "viterbi",
]


_LIBRARY = "libhaloscope-explain.so"


@cache
def native_library() -> ctypes.CDLL:
    """Return the library, whose functions run without the interpreter's lock."""
    path = Path(__file__).with_name(_LIBRARY)
    if not path.exists():
        path = _build_library()
    try:
        return _declare_functions(ctypes.CDLL(str(path)))
    except (OSError, AttributeError) as error:  # missing, or built from older sources
        raise HaloscopeError(
            f"{path.name} cannot be loaded ({error}): run make setup, or install again"
        ) from None


def _build_library() -> Path:
    """Return the library from the cache, or built now, on first use."""
    from haloscope.base import paths
    from haloscope.base.building import build_with_cmake
    from haloscope.base.cache import build_once, cache, fingerprint

    source = paths.source("src", "explain")
    what = "building the kernels"

    def build(directory: Path) -> None:
        build_with_cmake(source, directory, (_LIBRARY,), (), what, cache() / "kernels-build.log")

    files = [file for file in source.rglob("*") if file.is_file()]
    return build_once(f"kernels-{fingerprint(files)}", build, what, quiet=False) / _LIBRARY


def _declare_functions(found: ctypes.CDLL) -> ctypes.CDLL:
    number, wide, pointer = ctypes.c_int, ctypes.c_int64, ctypes.c_void_p
    found.haloscope_instruction_set.restype = ctypes.c_char_p
    found.haloscope_expectation.argtypes = [pointer, number, number, *[pointer] * 3]
    found.haloscope_viterbi.argtypes = [pointer, number, number, pointer]
    found.haloscope_medians.argtypes = [pointer, number, pointer]
    found.haloscope_unpack.argtypes = [pointer, wide, number, pointer, wide, pointer, pointer]
    found.haloscope_coupled.argtypes = [wide, wide, number, *[pointer] * 7]
    found.haloscope_coupled.restype = ctypes.c_double
    found.haloscope_band_depth.argtypes = [pointer, number, pointer]
    found.haloscope_envelope.argtypes = [pointer, pointer, wide, pointer, pointer]
    found.haloscope_outside.argtypes = [pointer] * 4
    found.haloscope_schedule.argtypes = [pointer] * 6
    found.haloscope_goal.argtypes = [pointer, pointer, number, number, pointer]
    found.haloscope_perfetto.argtypes = [pointer, pointer, number, number]
    found.haloscope_stretches.argtypes = [pointer] * 2
    found.haloscope_critical_path.argtypes = [*[pointer] * 3, ctypes.c_int32, wide, pointer]
    found.haloscope_critical_path.restype = wide
    found.haloscope_delays.argtypes = [pointer, pointer, wide, ctypes.c_int32, pointer, pointer]
    found.haloscope_tape.argtypes = [pointer] * 2
    found.haloscope_tape.restype = wide
    found.haloscope_replay.argtypes = [
        pointer,
        pointer,
        ctypes.c_int32,
        number,
        pointer,
        number,
        *[pointer] * 2,
    ]
    return found


MOST_STATES = 32


@dataclass(frozen=True)
class SequenceBounds:
    """Sequence s is `[begins[s] : begins[s] + lengths[s]]` of an array."""

    begins: Integers
    lengths: Integers


@dataclass(frozen=True)
class Chain:
    """Probabilities of the first state, and of each state (column) after each (row)."""

    start: Floats
    transition: Floats


@dataclass(frozen=True)
class Counts:
    """Expected counts, summed over all sequences; only `log_likelihood` is per sequence.

    `weight` is Σγ of each state, `first` and `second` are Σγ(x-μ) and Σγ(x-μ)² about the means passed by the
    caller; `start` is γ of the first instants, `transition` Σξ.
    """

    log_likelihood: Floats
    start: Floats
    transition: Floats
    weight: Floats
    first: Floats
    second: Floats


@dataclass(frozen=True)
class Posterior:
    """Probabilities of the states, (points, states); the other fields are those of `Counts`."""

    log_likelihood: Floats
    start: Floats
    transition: Floats
    posterior: Floats


def gaussian_expectation(
    values: Floats, places: SequenceBounds, chain: Chain, means: Floats, stds: Floats, threads: int = 1
) -> Counts:
    """Return the statistics of one step of expectation-maximisation."""
    batch = _Batch.from_arguments(places, chain, values=values, means=means, stds=stds)
    likelihood, sums, _ = batch.expectation(threads, counting=True, posterior=False)
    return Counts(likelihood, *_parts(sums, batch.states))


def gaussian_log_likelihood(
    values: Floats, places: SequenceBounds, chain: Chain, means: Floats, stds: Floats, threads: int = 1
) -> Floats:
    """Return the natural log likelihood of each sequence, shape (sequences,)."""
    batch = _Batch.from_arguments(places, chain, values=values, means=means, stds=stds)
    return batch.expectation(threads, counting=False, posterior=False)[0]


def gaussian_posterior(
    values: Floats, places: SequenceBounds, chain: Chain, means: Floats, stds: Floats, threads: int = 1
) -> Floats:
    """Return the probability of each state at each point, (points, states); NaN outside all sequences."""
    batch = _Batch.from_arguments(places, chain, values=values, means=means, stds=stds)
    return batch.expectation(threads, counting=False, posterior=True)[2]


def gaussian_viterbi(
    values: Floats, places: SequenceBounds, chain: Chain, means: Floats, stds: Floats, threads: int = 1
) -> Bytes:
    """Return the most likely states, laid out as `values`; 255 outside all sequences."""
    batch = _Batch.from_arguments(places, chain, values=values, means=means, stds=stds)
    return batch.viterbi(threads)


def expectation(log_density: Floats, places: SequenceBounds, chain: Chain, threads: int = 1) -> Posterior:
    """Return posterior and expected transitions from log densities, (points, states), of any family."""
    batch = _Batch.from_arguments(places, chain, log_density=log_density)
    likelihood, sums, posterior = batch.expectation(threads, counting=True, posterior=True)
    start, transition, *_ = _parts(sums, batch.states)
    return Posterior(likelihood, start, transition, posterior)


def log_likelihood(log_density: Floats, places: SequenceBounds, chain: Chain, threads: int = 1) -> Floats:
    """Return the natural log likelihood of each sequence, shape (sequences,)."""
    batch = _Batch.from_arguments(places, chain, log_density=log_density)
    return batch.expectation(threads, counting=False, posterior=False)[0]


def viterbi(log_density: Floats, places: SequenceBounds, chain: Chain, threads: int = 1) -> Bytes:
    """Return the most likely state of each point, shape (points,); 255 outside all sequences."""
    return _Batch.from_arguments(places, chain, log_density=log_density).viterbi(threads)


def medians(values: Floats, places: SequenceBounds, threads: int = 1) -> Floats:
    """Return the median of each sequence, none of which may be empty or have NaN."""
    if len(places.lengths) and places.lengths.min() < 1:
        raise ValueError("a sequence is empty")
    return _Batch.from_arguments(places, Chain(np.ones(1), np.ones((1, 1))), values=values).medians(threads)


def instruction_sets() -> list[str]:
    """Return the instruction sets that this processor has; the first one is used."""
    names: list[str] = []
    while name := native_library().haloscope_instruction_set(len(names)):
        names.append(name.decode())
    return names


def available_threads() -> int:
    """Return the number of processors that this process may run on."""
    return len(os.sched_getaffinity(0))


# The index of the instruction set in the list; tests change it.
_instruction_set = 0


class _Struct(ctypes.Structure):
    """`Batch` in src/explain/batch.hpp."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("values", "log_density", "begins", "lengths")),
        ("sequences", ctypes.c_int64),
        ("states", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in ("start", "transition", "means", "deviations")),
    )


@dataclass(frozen=True)
class _Batch:
    """Checked arguments: the arrays are kept alive with the pointers to them."""

    struct: _Struct
    arrays: tuple[AnyArray | None, ...]
    points: int
    states: int
    sequences: int

    @classmethod
    def from_arguments(
        cls,
        places: SequenceBounds,
        chain: Chain,
        *,
        values: Floats | None = None,
        log_density: Floats | None = None,
        means: Floats | None = None,
        stds: Floats | None = None,
    ) -> _Batch:
        begins, lengths = places.begins, places.lengths
        given = log_density if values is None else values
        assert given is not None
        states, points = len(chain.start), len(given)
        shapes = [(points,), (points, states), *[(len(begins),)] * 2]
        parameters = [(states,), (states, states), *[(states,)] * 2]
        arrays = (values, log_density, begins, lengths, chain.start, chain.transition, means, stds)
        for array, shape in zip(arrays, shapes + parameters, strict=True):
            _check(array, shape, np.int64 if array is begins or array is lengths else np.float64)
        if not 1 <= states <= MOST_STATES:
            raise ValueError(f"{states} states: 1 to {MOST_STATES} are possible")
        if len(begins) and (begins.min() < 0 or lengths.min() < 0 or (begins + lengths).max() > points):
            raise ValueError("a sequence is not within the points")
        pointers = [None if array is None else array.ctypes.data for array in arrays]
        struct = _Struct(*pointers[:4], len(begins), states, *pointers[4:])
        return cls(struct, arrays, points, states, len(begins))

    def expectation(self, threads: int, *, counting: bool, posterior: bool) -> tuple[Floats, Floats, Floats]:
        likelihood = np.zeros(self.sequences)
        sums = np.zeros(self.states * (self.states + 4) if counting else 0)
        rows = np.full((self.points if posterior else 0, self.states), np.nan)
        status = native_library().haloscope_expectation(
            ctypes.byref(self.struct),
            threads,
            _instruction_set,
            likelihood.ctypes.data,
            sums.ctypes.data if counting else None,
            rows.ctypes.data if posterior else None,
        )
        _succeed(status)
        return likelihood, sums, rows

    @property
    def whole(self) -> bool:
        """True if the sequences cover the array, one after the other."""
        begins, lengths = self.arrays[2], self.arrays[3]
        assert begins is not None
        assert lengths is not None
        ends = np.cumsum(lengths)
        return bool((begins == ends - lengths).all() and ends[-1:].sum() == self.points)

    def medians(self, threads: int) -> Floats:
        found = np.empty(self.sequences)
        _succeed(native_library().haloscope_medians(ctypes.byref(self.struct), threads, found.ctypes.data))
        return found

    def viterbi(self, threads: int) -> Bytes:
        # The kernel fills the points of sequences only.
        whole = self.whole
        states = np.empty(self.points, np.uint8) if whole else np.full(self.points, 255, np.uint8)
        _succeed(
            native_library().haloscope_viterbi(
                ctypes.byref(self.struct), threads, _instruction_set, states.ctypes.data
            )
        )
        return states


def _check(array: AnyArray | None, shape: tuple[int, ...], kind: type) -> None:
    if array is not None and not (array.dtype == kind and array.shape == shape and array.flags.c_contiguous):
        wanted = f"a contiguous array of {kind.__name__}, {shape}"
        raise ValueError(f"{array.dtype} {array.shape} where {wanted} is needed")


def _succeed(status: int) -> None:
    if status:
        raise MemoryError


def _parts(sums: Floats, states: int) -> tuple[Floats, ...]:
    """Return start, transition, weight, first and second moments."""
    start, transition, *rest = np.split(sums, np.cumsum([states, states * states, states, states]))
    return (start, transition.reshape(states, states), *rest)


class _Curves(ctypes.Structure):
    """`Curves` in src/explain/depth.cpp."""

    _fields_ = (("values", ctypes.c_void_p), ("count", ctypes.c_int64), ("points", ctypes.c_int64))


def band_depth(curves: Floats, threads: int) -> Floats:
    """Return for each of two or more curves the share of points and pairs of curves between which it lies.

    `curves` is (curves, points) and contiguous, as below. Raises `ValueError` for NaN.
    """
    depth = np.empty(len(curves))
    status = native_library().haloscope_band_depth(_curves(curves), threads, depth.ctypes.data)
    if status == 2:
        raise ValueError("a curve has NaN")
    if status:
        raise MemoryError
    return depth


def envelope(curves: Floats, chosen: Integers) -> tuple[Floats, Floats]:
    """Return the smallest and the largest of the `chosen` curves, at least one, at each point."""
    low, high = np.empty((2, curves.shape[1]))
    index = np.ascontiguousarray(chosen, dtype=np.int64)
    if not index.size or index.min() < 0 or index.max() >= len(curves):
        raise IndexError("there are no such curves")
    native_library().haloscope_envelope(
        _curves(curves), index.ctypes.data, index.size, low.ctypes.data, high.ctypes.data
    )
    return low, high


def outside(curves: Floats, low: Floats, high: Floats) -> Flags:
    """Return whether each curve is below `low` or above `high`, (points,) each, anywhere."""
    found = np.empty(len(curves), dtype=np.bool_)
    bounds = [np.broadcast_to(bound, curves.shape[1:]).astype(np.float64) for bound in (low, high)]
    native_library().haloscope_outside(
        _curves(curves), *(bound.ctypes.data for bound in bounds), found.ctypes.data
    )
    return found


def _curves(curves: Floats) -> object:
    if not (curves.ndim == 2 and curves.dtype == np.float64 and curves.flags.c_contiguous):
        raise ValueError(f"{curves.dtype} {curves.shape}: a contiguous matrix of float64 is needed")
    return ctypes.byref(_Curves(curves.ctypes.data, *curves.shape))
