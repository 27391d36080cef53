"""Markers for Python programs: `with haloscope.region("name"):` and the same as decorators."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import ContextDecorator
from types import TracebackType
from typing import Any


def _do_nothing(*_: object) -> None:
    """The marker of a program that is not profiled: does nothing."""


def _entry(name: str, *kinds: Any) -> Callable[..., None]:
    """Return a function of the preloaded recorder; without one, a function that does nothing."""
    try:
        function = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError):
        return _do_nothing
    function.argtypes = kinds
    function.restype = None
    found: Callable[..., None] = function
    return found


_begin = _entry("haloscope_region_begin", ctypes.c_char_p)
_end = _entry("haloscope_region_end", ctypes.c_char_p)
_comm_begin = _entry("haloscope_comm_region_begin", ctypes.c_char_p)
_comm_end = _entry("haloscope_comm_region_end", ctypes.c_char_p)
_value = _entry("haloscope_value", ctypes.c_char_p, ctypes.c_double)
_metadata = _entry("haloscope_metadata", ctypes.c_char_p, ctypes.c_char_p)


def _encode(name: str) -> bytes:
    """Return a C string. Raises `ValueError` for a NUL, behind which the name would be lost."""
    encoded = name.encode("utf-8", "surrogateescape")
    if b"\0" in encoded:
        raise ValueError(f"{name!r}: a name can't hold a NUL character")
    return encoded


class _Region(ContextDecorator):
    """A phase of the program, for `with` or as a decorator; it may nest and recurse."""

    __slots__ = ("_begin", "_end", "_name")

    def __init__(self, name: str, begin: Callable[..., None], end: Callable[..., None]) -> None:
        self._name = _encode(name)
        self._begin = begin
        self._end = end

    def __enter__(self) -> None:
        self._begin(self._name)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end(self._name)


def region(name: str) -> _Region:
    """Mark a phase of the program.

    Examples:
        >>> with region("assemble"):
        ...     pass
        >>> @region("solve")
        ... def solve(): ...
    """
    return _Region(name, _begin, _end)


def comm_region(name: str) -> _Region:
    """Mark a phase whose MPI calls form one logical pattern."""
    return _Region(name, _comm_begin, _comm_end)


def value(name: str, number: float) -> None:
    """Record a number with the current instance of the innermost region."""
    if _value is not _do_nothing:
        _value(_encode(name), float(number))


def metadata(key: str, text: object) -> None:
    """Record a text for the whole run, such as `metadata("case", "wing")`.

    It becomes a row of the profile's table `info`. The last text of a key is kept.
    """
    if _metadata is not _do_nothing:
        _metadata(_encode(key), _encode(str(text)))
