"""What to do about a test that cannot run here. No test skips by other means."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def missing(what: str) -> NoReturn:
    """Skip the test; in CI, where everything must be installed, fail it."""
    if os.environ.get("CI") == "true":
        pytest.fail(what, pytrace=False)
    pytest.skip(what)


def impossible(why: str) -> NoReturn:
    """Skip the test, also in CI: no package would help, as the MPI library does not have a feature."""
    pytest.skip(why)
