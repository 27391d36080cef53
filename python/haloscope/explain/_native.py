"""The library of `src/explain`: compiled code that knows nothing of Python."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

from haloscope.base.errors import HaloscopeError

__all__ = ["library"]


@cache
def library() -> ctypes.CDLL:
    """Return the library, whose functions run without the interpreter's lock."""
    path = Path(__file__).with_name("libhaloscope-explain.so")
    try:
        return _declared(ctypes.CDLL(str(path)))
    except (OSError, AttributeError) as error:  # it is not there, or from older sources
        raise HaloscopeError(
            f"{path.name} cannot be loaded ({error}): run make setup, or install again"
        ) from None


def _declared(found: ctypes.CDLL) -> ctypes.CDLL:
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
    return found
