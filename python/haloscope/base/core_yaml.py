"""Reads YAML by the core schema of version 1.2: `no`, `12:30`, `1_000` and dates are text, and 010 is ten.

PyYAML's own loaders follow version 1.1, by which these are other values.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

_BRACKET = re.compile(r"[\[\]{}]")
_DEEPEST = 100


class CoreLoader(yaml.SafeLoader):
    """A loader for the plain types: null, truth values, whole numbers, other numbers and text."""

    yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012 - declared so in PyYAML

    def __init__(self, text: str | bytes) -> None:
        """Take a whole document. Raises `YAMLError` for deep nesting, whose square PyYAML needs in time."""
        depth = 0
        for bracket in _BRACKET.findall(text.decode("latin-1") if isinstance(text, bytes) else text):
            depth = depth + 1 if bracket in "[{" else max(depth - 1, 0)
            if depth > _DEEPEST:
                raise yaml.YAMLError("nested too deeply")
        super().__init__(text)


def _construct_int(loader: CoreLoader, node: yaml.ScalarNode) -> int:
    text = str(loader.construct_scalar(node))
    return int(text, 0) if text[:2] in ("0o", "0x") else int(text)


_FLOAT = r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
# In the order in which they are tried.
for _kind, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", _FLOAT, list("-+.0123456789")),
):
    CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", re.compile(rf"(?:{_pattern})\Z"), _first)
CoreLoader.add_constructor("tag:yaml.org,2002:int", _construct_int)
