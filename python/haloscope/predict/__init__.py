"""Predict: what collectives take on a machine, from a model of it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from haloscope.predict._formulas import ALGORITHMS, FORMULAS
    from haloscope.predict._loading import load_machine, machines
    from haloscope.predict._machine import Level, Machine
    from haloscope.predict._model import model
    from haloscope.predict._page import write_page

__all__ = [
    "ALGORITHMS",
    "FORMULAS",
    "Level",
    "Machine",
    "load_machine",
    "machines",
    "model",
    "write_page",
]

# Looked up on first use: `import haloscope` must not wait for Pydantic and Polars.
_HOMES = {
    "ALGORITHMS": "_formulas",
    "FORMULAS": "_formulas",
    "Level": "_machine",
    "Machine": "_machine",
    "load_machine": "_loading",
    "machines": "_loading",
    "model": "_model",
    "write_page": "_page",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'haloscope.predict' has no attribute {name!r}")
    return getattr(import_module(f"haloscope.predict.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
