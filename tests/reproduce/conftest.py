"""Specifications of campaigns, written for a test."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from support.campaigns import Written
from support.missing import missing
from support.mpi import CHECKOUT

_WITHOUT_RUNS = (
    "test_campaign_specification",
    "test_stencil_study",
    "test_study",
    "test_study_hpcg",
    "test_study_openmpi",
    "test_study_parts",
    "test_study_regimes",
    "test_study_regions",
)
_STUDIES = CHECKOUT / "studies"


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


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """`script("hpcg-communication-patterns", "patterns")` imports it for a test, which runs in `tmp_path`."""
    before, path = set(sys.modules), list(sys.path)
    monkeypatch.chdir(tmp_path)

    def imported(study: str, name: str) -> Any:
        monkeypatch.syspath_prepend(str(_STUDIES / study))
        return importlib.import_module(name)

    yield imported
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(_STUDIES)):
            del sys.modules[name]
