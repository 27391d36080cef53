"""Packages that only some verbs need: the extras declared in `pyproject.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

_DECLARED = re.compile(r"""([\w.-]+).*;.*\bextra == ["']([\w-]+)["']""")


# Modules that are not called like their package.
_MODULES = {"psij-python": "psij"}


@cache
def extras() -> Mapping[str, str]:
    """Return the modules of extras, each with the name of its extra."""
    from importlib.metadata import requires

    found = map(_DECLARED.match, requires("haloscope") or ())
    return {_MODULES.get(match[1], match[1]): match[2] for match in found if match and match[2] != "all"}


def remedy(error: ModuleNotFoundError) -> str | None:
    """Return the command that installs a missing package; None if no extra has it."""
    package = (error.name or "").partition(".")[0]
    extra = extras().get(package)
    return extra and f"this needs {package}: pip install 'haloscope[{extra}]'"
