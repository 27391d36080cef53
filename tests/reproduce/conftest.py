"""Specifications of campaigns, written for a test."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.campaigns import Written


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Return what writes a specification and returns its file."""

    def write(text: str) -> Path:
        file = tmp_path / "campaign.yaml"
        file.write_text(text, "utf-8")
        return file

    return write
