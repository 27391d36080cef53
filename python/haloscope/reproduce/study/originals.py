"""The user's executables of a paper's own programs, which the parts of a study run."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path

from haloscope.base.errors import UsageError, printable
from haloscope.base.files import write_whole
from haloscope.base.texts import parse_json

_FILE = "originals.json"


def check_originals(known: Collection[str], given: Mapping[str, Path]) -> None:
    """Raise `UsageError` if a program is not one of the known ones, or its file cannot be executed."""
    for name, path in given.items():
        if name not in known:
            there = ", ".join(sorted(known)) or "none"
            raise UsageError(f"no chosen study runs {printable(name)}; known programs: {there}")
        if not os.access(path, os.X_OK) or path.is_dir():
            raise UsageError(f"{path}: not an executable file; give that of {name} with --with")


def find_originals(directory: Path = Path()) -> dict[str, Path]:
    """Return the executables that the user named for a study, by program, in the directory of its results.

    Raises:
        UsageError: The list is damaged.
    """
    file = directory / _FILE
    try:
        read = parse_json(file.read_text("utf-8"))
        return {str(name): Path(path) for name, path in read.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, TypeError):
        raise UsageError(f"{file}: not a list of programs; remove it") from None


def write_originals(directory: Path, programs: Mapping[str, Path]) -> None:
    """Write the list that `find_originals` reads. Raises `OutputError` if it cannot."""
    text = json.dumps({name: str(path.resolve()) for name, path in programs.items()}, indent=1)
    write_whole(directory / _FILE, text + "\n", "list of programs")
