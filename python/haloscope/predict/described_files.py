"""YAML files that describe machines or networks: search, reading and errors."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.abc import Traversable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from haloscope.base.core_yaml import CoreLoader
from haloscope.base.errors import MachineError

MOST_BYTES = 1 << 20


def list_names(folder: Traversable) -> list[str]:
    """Return the names of the YAML files in a folder of the package."""
    names = [Path(entry.name) for entry in folder.iterdir()]
    return sorted(name.stem for name in names if name.suffix == ".yaml")


def find_described(text: str, folder: Traversable, known: Sequence[str], what: str) -> Traversable:
    """Return the file with a name in `folder`, or else the file at this path.

    Raises:
        MachineError: The name is neither in `folder` nor a file.
    """
    if text in list_names(folder):
        return folder / f"{text}.yaml"
    path = Path(text)
    if not path.suffix and not path.exists():
        raise MachineError(f"{what} {text!r} does not exist; give one of {', '.join(known)}, or a YAML file")
    return path


def read_described(file: Traversable, name: str, what: str) -> bytes:
    """Return the content of a file.

    Raises:
        MachineError: The file is unreadable or too large.
    """
    try:
        with file.open("rb") as stream:
            text = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise MachineError(f"{name}: cannot be read: {error.strerror}") from None
    if len(text) > MOST_BYTES:
        raise MachineError(f"{name}: not a {what}: larger than {MOST_BYTES} bytes")
    return text


def parse_yaml(text: bytes, name: str) -> Any:
    """Return the values in YAML.

    Raises:
        MachineError: The text is not YAML.
    """
    try:
        return yaml.load(text, Loader=CoreLoader)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise MachineError(f"{name}{line}: not YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError):  # ValueError: dates that do not exist
        raise MachineError(f"{name}: not YAML") from None


def make_error(error: ValidationError, name: str, what: str, page: str) -> MachineError:
    """Return the error for the first problem of a description."""
    problems = error.errors()
    key = ".".join(str(part) for part in problems[0]["loc"]) or what
    message = problems[0]["msg"].removeprefix("Value error, ")
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return MachineError(f"{name}: {key}: {message}{more}; see docs/reference/{page} for the form")
