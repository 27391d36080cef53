"""The user's executables of a paper's own programs, which the parts of a study run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from haloscope.base.errors import UsageError
from haloscope.base.files import write_whole

_FILE = "originals.json"


def find_originals(directory: Path = Path()) -> dict[str, Path]:
    """Return the executables that the user named for a study, by program, in the directory of its results.

    Raises:
        UsageError: The list is damaged.
    """
    file = directory / _FILE
    try:
        read = json.loads(file.read_text("utf-8"))
        return {str(name): Path(path) for name, path in read.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, TypeError):
        raise UsageError(f"{file}: not a list of programs; remove it") from None


def write_originals(directory: Path, programs: Mapping[str, Path]) -> None:
    """Write the list that `find_originals` reads. Raises `OutputError` if it cannot."""
    text = json.dumps({name: str(path.resolve()) for name, path in programs.items()}, indent=1)
    write_whole(directory / _FILE, text + "\n", "list of programs")
