"""Fixtures of these tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.mounting import mount

__all__ = ["mount"]  # pytest finds it by name


@pytest.fixture
def live(tmp_path: Path) -> Path:
    """The directory of live records, which is to be empty after the test."""
    directory = tmp_path / "live"
    directory.mkdir()
    return directory
