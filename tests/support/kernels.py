"""Another build of the native kernels, such as one with sanitizers, instead of the installed one."""

from __future__ import annotations

import ctypes

from haloscope import explain


def use_kernels(path: str) -> None:
    """Let this process use the library at `path`; before anything else has asked for the kernels."""
    load = ctypes.CDLL
    ctypes.CDLL = lambda _: load(path)  # type: ignore[misc, assignment]
    try:
        kept = explain.native_library()
    finally:
        ctypes.CDLL = load  # type: ignore[misc]
    assert kept._name == path, "the kernels have been loaded before"
