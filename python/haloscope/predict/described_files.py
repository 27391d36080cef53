"""YAML files that describe a machine or a network: how they are found, read and refused."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.abc import Traversable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from haloscope.base.errors import MachineError

MOST_BYTES = 1 << 20


def names_in(folder: Traversable) -> list[str]:
    """Return the names of the files in a folder of ours."""
    names = [Path(entry.name) for entry in folder.iterdir()]
    return sorted(name.stem for name in names if name.suffix == ".yaml")


def find_described(text: str, folder: Traversable, known: Sequence[str], what: str) -> Traversable:
    """Return the file of a name of `known` in `folder`, else that path. Raises `MachineError`."""
    if text in names_in(folder):
        return folder / f"{text}.yaml"
    path = Path(text)
    if not path.suffix and not path.exists():
        raise MachineError(f"there is no {what} {text!r}; there is {', '.join(known)}, or name a YAML file")
    return path


def read_described(place: Traversable, name: str, what: str) -> bytes:
    """Return what is in a file. Raises `MachineError`."""
    try:
        with place.open("rb") as stream:
            text = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise MachineError(f"{name}: cannot be read: {error.strerror}") from None
    if len(text) > MOST_BYTES:
        raise MachineError(f"{name}: is no {what}: larger than {MOST_BYTES} bytes")
    return text


def parse_yaml(text: bytes, name: str) -> Any:
    """Return the values in YAML. Raises `MachineError`."""
    try:
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise MachineError(f"{name}{line}: is not YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError):  # ValueError: dates that do not exist
        raise MachineError(f"{name}: is not YAML text") from None


def invalid(error: ValidationError, name: str, what: str, page: str) -> MachineError:
    """Return the first problem of a description as an error."""
    problems = error.errors()
    place = ".".join(str(part) for part in problems[0]["loc"]) or what
    said = problems[0]["msg"].removeprefix("Value error, ")
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return MachineError(f"{name}: {place}: {said}{more}; docs/reference/{page} has the form")
