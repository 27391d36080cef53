"""Writing what was fitted into a machine's YAML, whose other lines stay as they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from haloscope.base.files import write_whole
from haloscope.predict._loading import machine_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from haloscope.predict.fitted._parameters import FittedAlgorithm

__all__ = ["save_fitted"]

# From the key to the next one that is not indented.
_OLD = re.compile(r"^fitted:.*?(?=^[^\s#-]|\Z)", re.MULTILINE | re.DOTALL)
_HEAD = """\
# By `haloscope model --fit`: values with 95 % intervals; seconds, or factors of the levels' costs.
"""


def save_fitted(machine: str | Path, fitted: Sequence[FittedAlgorithm], output: str | Path) -> None:
    """Write the YAML of a machine, by name or path, with these models in the place of its own.

    Raises `MachineError` if it cannot be read, `OutputError` if the result cannot be written.
    """
    text = _OLD.sub("", machine_text(machine).replace(_HEAD, "")).rstrip() + "\n"
    rows = [model.model_dump(mode="json", by_alias=True, exclude_defaults=True) for model in fitted]
    text += _HEAD + yaml.safe_dump({"fitted": rows}, sort_keys=False, default_flow_style=None)
    write_whole(Path(output), text, "machine model")
