"""Machine models from YAML: those that come with Haloscope by name, other people's by path."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from pydantic import ValidationError

from haloscope.base.errors import MachineError
from haloscope.predict._machine import Machine

if TYPE_CHECKING:
    from importlib.abc import Traversable

    from pydantic_core import ErrorDetails

__all__ = ["load_machine", "machine_text", "machines"]

_SHIPPED = files("haloscope.predict") / "machines"
_MOST_BYTES = 1 << 20


def machines() -> list[str]:
    """Return the names of the machine models that come with Haloscope."""
    names = [Path(entry.name) for entry in _SHIPPED.iterdir()]
    return sorted(name.stem for name in names if name.suffix == ".yaml")


def load_machine(machine: str | Path) -> Machine:
    """Read a machine model: a name from `machines()`, or the path of a YAML file.

    Raises `MachineError` for what cannot be found, read or understood.
    """
    return _parsed(_bytes(_place(machine), str(machine)), str(machine))


def machine_text(machine: str | Path) -> str:
    """The YAML of a machine that `load_machine` can read."""
    text = _bytes(_place(machine), str(machine))
    _parsed(text, str(machine))
    return text.decode()


def _place(machine: str | Path) -> Traversable:
    text = str(machine)
    if text in machines():
        return _SHIPPED / f"{text}.yaml"
    path = Path(machine)
    if not path.suffix and not path.exists():
        known = ", ".join(machines())
        raise MachineError(f"there is no machine {text!r}; there is {known}, or name a YAML file")
    return path


def _bytes(place: Traversable, name: str) -> bytes:
    try:
        with place.open("rb") as stream:
            text = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise MachineError(f"{name}: cannot be read: {error.strerror}") from None
    if len(text) > _MOST_BYTES:
        raise MachineError(f"{name}: is no machine model: larger than {_MOST_BYTES} bytes")
    return text


def _parsed(text: bytes, name: str) -> Machine:
    try:
        return Machine.model_validate(yaml.safe_load(text))
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise MachineError(f"{name}{line}: is not YAML: {error.problem}") from None
    except ValidationError as error:
        raise MachineError(f"{name}: {_first(error.errors())}") from None
    except (yaml.YAMLError, ValueError, RecursionError):  # ValueError: dates that do not exist
        raise MachineError(f"{name}: is not YAML text") from None


def _first(problems: list[ErrorDetails]) -> str:
    problem = problems[0]
    place = ".".join(str(part) for part in problem["loc"]) or "machine model"
    said = problem["msg"].removeprefix("Value error, ")
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{place}: {said}{more}; docs/reference/model.md has the form"
