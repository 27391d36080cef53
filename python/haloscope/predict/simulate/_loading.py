"""Platforms: those that come with Haloscope by name, machine models by name, others by path."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import ValidationError

from haloscope.base.errors import MachineError
from haloscope.predict._loading import load_machine, machines
from haloscope.predict.simulate._platform import (
    Dragonfly,
    FatTree,
    MachinePlatform,
    Platform,
    Torus,
)

if TYPE_CHECKING:
    from importlib.abc import Traversable

__all__ = ["load_platform", "platforms"]

_SHIPPED = files("haloscope.predict.simulate") / "platforms"
_MOST_BYTES = 1 << 20
_KINDS: dict[str, type[FatTree | Torus | Dragonfly | MachinePlatform]] = {
    "fat_tree": FatTree,
    "torus": Torus,
    "dragonfly": Dragonfly,
    "machine": MachinePlatform,
}
_FORM = "docs/reference/simulate.md has the form"


def platforms() -> list[str]:
    """Return the names of the platforms that come with Haloscope, the machine models among them."""
    names = [Path(entry.name) for entry in _SHIPPED.iterdir()]
    return sorted({name.stem for name in names if name.suffix == ".yaml"} | set(machines()))


def load_platform(platform: str | Path) -> Platform:
    """Read a platform: a name from `platforms()`, or the path of a platform's or a machine's YAML.

    Raises `MachineError` for what cannot be found, read or understood.
    """
    text = str(platform)
    if text in machines():
        return MachinePlatform(name=text, machine=text)
    shipped = _SHIPPED / f"{text}.yaml"
    if text in platforms():
        return _parsed(shipped, text)
    path = Path(platform)
    if not path.suffix and not path.exists():
        known = ", ".join(platforms())
        raise MachineError(f"there is no platform {text!r}; there is {known}, or name a YAML file")
    return _parsed(path, text)


def _parsed(place: Traversable, name: str) -> Platform:
    values = _values(place, name)
    if isinstance(values, dict) and "levels" in values:  # a machine model itself
        return MachinePlatform(name=load_machine(name).name, machine=name)
    if not isinstance(values, dict):
        raise MachineError(f"{name}: is no platform; {_FORM}")
    if "machine" in values and "topology" not in values:
        values["topology"] = "machine"
    kind = _KINDS.get(str(values.get("topology")))
    if kind is None:
        raise MachineError(f"{name}: topology: is one of {', '.join(_KINDS)}; {_FORM}")
    try:
        return kind.model_validate({"name": Path(name).stem, **values})
    except ValidationError as error:
        raise MachineError(f"{name}: {_first(error)}") from None


def _values(place: Traversable, name: str) -> Any:
    try:
        with place.open("rb") as stream:
            text = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise MachineError(f"{name}: cannot be read: {error.strerror}") from None
    if len(text) > _MOST_BYTES:
        raise MachineError(f"{name}: is no platform: larger than {_MOST_BYTES} bytes")
    try:
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise MachineError(f"{name}{line}: is not YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise MachineError(f"{name}: is not YAML text") from None


def _first(error: ValidationError) -> str:
    problems = error.errors()
    place = ".".join(str(part) for part in problems[0]["loc"]) or "platform"
    said = problems[0]["msg"].removeprefix("Value error, ")
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{place}: {said}{more}; {_FORM}"
