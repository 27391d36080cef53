"""Tests of the house itself, which parse many files."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture
def parser() -> Iterator[None]:
    """Nothing is collected while code is parsed.

    CPython 3.11 loses count of its recursion if what tests with a browser left, its greenlets, goes then.
    """
    gc.collect()
    gc.disable()
    yield
    gc.enable()
