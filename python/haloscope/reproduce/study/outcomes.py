"""Running a study's parts, each once: what they left is read again after that."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from haloscope.base.errors import OutputError, UsageError
from haloscope.base.files import read_last_line, write_whole
from haloscope.reproduce.study.script import NOT_HERE
from haloscope.reproduce.study.study_folder import Part, Study

_OUTCOMES = "outcomes.json"
# The exit status of a script: as it should be, or with a value that should be exactly the paper's and is not.
# For others see script.py.
_DONE, _DIFFERS = 0, 3
State = Literal["done", "differs", "failed", "not run"]


@dataclass(frozen=True)
class PartOutcome:
    """How a part has ended; `why` tells what it failed of, or why it cannot run here."""

    part: Part
    state: State
    why: str = ""


def run_study(
    study: Study, directory: Path, *, large: bool = False, told: Callable[[str], None] = lambda _: None
) -> list[PartOutcome]:
    """Run the parts of a study that are not done yet, and return how all have ended.

    Results, a log of each part and how it ended are left in `directory`. `told` gets the title of each part
    before it begins. Raises `OutputError` if nothing can be written there, `UsageError` if it has another
    study's results.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{directory}: {error.strerror}; name another directory with -o") from None
    ended = _ended(study, directory)
    for part in study.chosen(large):
        told(part.title)
        if ended.get(part.name) in (_DONE, _DIFFERS) and _is_whole(part, directory):
            continue
        ended[part.name] = _status(study, part, directory)
        told_states = {"study": study.name, "ended": ended}
        write_whole(directory / _OUTCOMES, json.dumps(told_states, indent=1) + "\n", "list of outcomes")
    return outcomes(study, directory)


def outcomes(study: Study, directory: Path) -> list[PartOutcome]:
    """Return how the parts of a study have ended, by what is in `directory`. Raises `UsageError`."""
    ended = _ended(study, directory)
    return [_outcome(part, directory, ended.get(part.name)) for part in study.parts]


def _ended(study: Study, directory: Path) -> dict[str, int]:
    """Return the exit status of each part that has ended, by name."""
    place = directory / _OUTCOMES
    try:
        read = json.loads(place.read_text("utf-8"))
        if read["study"] != study.name:
            raise UsageError(f"{directory}: has results of the study {read['study']}; name another with -o")
        return {str(name): int(status) for name, status in read["ended"].items()}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise OutputError(f"{place}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{place}: is no list of outcomes; remove it to run all again") from None


def _outcome(part: Part, directory: Path, status: int | None) -> PartOutcome:
    if status is None:
        return PartOutcome(part, "not run")
    if status == NOT_HERE:
        why = read_last_line(directory / f"{part.name}.log").removeprefix("haloscope: ")
        return PartOutcome(part, "not run", why or "it cannot run here")
    if status not in (_DONE, _DIFFERS) or not _is_whole(part, directory):
        log = directory / f"{part.name}.log"
        return PartOutcome(
            part,
            "failed",
            f"{read_last_line(log) or 'it printed nothing'}"
            f" (exit status {status}; see {shlex.quote(str(log))})",
        )
    return PartOutcome(part, "done" if status == _DONE else "differs")


def _is_whole(part: Part, directory: Path) -> bool:
    return all((directory / name).is_file() for name in part.results)


def _status(study: Study, part: Part, directory: Path) -> int:
    """Run the script of a part, and return its exit status; what it prints goes to its log."""
    runner = [sys.executable, str(Path(__file__).with_name("script.py"))]
    command = [*runner, str(study.folder / part.script), *part.arguments]
    with (directory / f"{part.name}.log").open("wb") as log:
        done = subprocess.run(
            command,
            cwd=directory,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    return done.returncode
