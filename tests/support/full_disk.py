"""Exports to a full disk, which a limit on the size of files emulates."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from haloscope import OutputError
from haloscope.explain.export import TracedProfile
from support.traces import halo_trace

_ROOM = 20_000  # bytes, for a trace that needs more


def check_full_disk(write: Callable[[TracedProfile, Path], object], folder: Path, said: str) -> None:
    """Assert that the error is one line with `said`, and that nothing is left in `folder`, which is empty."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_ROOM, before[1]))
    try:
        with pytest.raises(OutputError, match=said) as caught:
            write(TracedProfile(halo_trace(2, 1000)), folder / "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "\n" not in str(caught.value)
    assert list(folder.iterdir()) == []
