"""Names of functions as their authors wrote them."""

from __future__ import annotations

import ctypes
import re
from functools import cache, lru_cache
from typing import Any

_FORTRAN_FILE = re.compile(r"\.(f|for|ftn|f\d\d)$", re.IGNORECASE)
# gfortran, Intel, flang.
_MODULE_PROCEDURE = (
    re.compile(r"__(\w+?)_MOD_(\w+)"),
    re.compile(r"([a-z]\w*?)_mp_(\w+)_"),
    re.compile(r"_QM(\w+?)P(\w+)"),
)
_QUALIFIERS = re.compile(r"( const| volatile| &+| \[clone .*\])+$")
# Suffixes that compilers add to parts of a function.
_CLONE = re.compile(r"(\.(cold|constprop|isra|part|lto_priv|llvm)(\.\d+)*)+$")
# A longer name may expand to more than memory holds.
_LONGEST = 4096


@lru_cache(maxsize=1 << 16)
def readable(symbol: str, file: str | None = None) -> str:
    """Return a function's name as in the source, which is in `file` if that is known.

    C++ names are demangled. Additions of Fortran compilers are removed.
    """
    symbol = _CLONE.sub("", symbol)
    if symbol.startswith("_Z"):
        return _demangle(symbol)
    for pattern in _MODULE_PROCEDURE:
        if match := pattern.fullmatch(symbol):
            return "::".join(match.groups())
    if file is not None and _FORTRAN_FILE.search(file):
        return symbol.rstrip("_") or symbol
    return symbol


def strip_arguments(function: str) -> str:
    """Return the name of a function without its arguments; those of its template stay."""
    text = _QUALIFIERS.sub("", function)
    depth, index = 0, len(text)
    while index and (depth or index == len(text)):
        index -= 1
        depth += (text[index] == ")") - (text[index] == "(")
    name = text[:index]
    return name if text.endswith(")") and name and not name.endswith("operator") else function


def _demangle(symbol: str) -> str:
    library = _library()
    if library is None or len(symbol) > _LONGEST:
        return symbol
    status = ctypes.c_int()
    made = library.__cxa_demangle(symbol.encode(), None, None, ctypes.byref(status))
    if not made:
        return symbol
    try:
        return ctypes.string_at(made).decode(errors="replace")
    finally:
        _free()(made)


@cache
def _library() -> Any:
    """Return the C++ compiler's own library, None if there is none."""
    try:
        library = ctypes.CDLL("libstdc++.so.6")
    except OSError:
        return None
    library.__cxa_demangle.restype = ctypes.c_void_p
    library.__cxa_demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    return library


@cache
def _free() -> Any:
    free = ctypes.CDLL(None).free
    free.argtypes, free.restype = [ctypes.c_void_p], None
    return free
