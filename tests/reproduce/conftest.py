"""Specifications of campaigns, written for a test."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from support.campaigns import Written
from support.missing import missing

_WITHOUT_RUNS = ("test_campaign_specification", "test_study", "test_study_parts")


@pytest.fixture(autouse=True)
def runs(request: pytest.FixtureRequest) -> None:
    """Skip a test of a module that runs campaigns where PSI/J is missing."""
    if request.module.__name__ not in _WITHOUT_RUNS and find_spec("psij") is None:
        missing("psij is missing: pip install 'haloscope[campaign]'")


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Return what writes a specification and returns its file."""

    def write(text: str) -> Path:
        file = tmp_path / "campaign.yaml"
        file.write_text(text, "utf-8")
        return file

    return write
