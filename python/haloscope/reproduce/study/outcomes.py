"""Execution of the parts of a study, each once, and their outcomes."""

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
# Exit statuses of scripts: all as published, or a value differs that should be exactly that of the paper.
# script.py defines a third one, for missing components.
_DONE, _DIFFERS = 0, 3
State = Literal["done", "differs", "failed", "not run"]


@dataclass(frozen=True)
class PartOutcome:
    """The outcome of a part; `why` is the reason if it failed or cannot run on this machine."""

    part: Part
    state: State
    why: str = ""


def run_study(
    study: Study, directory: Path, *, large: bool = False, report: Callable[[str], None] = lambda _: None
) -> list[PartOutcome]:
    """Run the unfinished parts of a study, and return the outcomes of all parts.

    Args:
        study: The study.
        directory: Directory for results, logs and outcomes.
        large: Whether to run parts that take long.
        report: Receives the title of each part before it begins.

    Raises:
        OutputError: The directory cannot be written.
        UsageError: The directory has results of another study.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{directory}: {error.strerror}; give another directory with -o") from None
    ended = _read_statuses(study, directory)
    for part in study.chosen(large):
        report(part.title)
        if ended.get(part.name) in (_DONE, _DIFFERS) and _is_whole(part, directory):
            continue
        ended[part.name] = _run_part(study, part, directory)
        states = {"study": study.name, "ended": ended}
        write_whole(directory / _OUTCOMES, json.dumps(states, indent=1) + "\n", "list of outcomes")
    return list_outcomes(study, directory)


def list_outcomes(study: Study, directory: Path) -> list[PartOutcome]:
    """Return the outcomes of the parts of a study from `directory`.

    Raises:
        UsageError: The directory has results of another study.
    """
    ended = _read_statuses(study, directory)
    return [_make_outcome(part, directory, ended.get(part.name)) for part in study.parts]


def _read_statuses(study: Study, directory: Path) -> dict[str, int]:
    """Return the exit status of each finished part, by name."""
    file = directory / _OUTCOMES
    try:
        read = json.loads(file.read_text("utf-8"))
        if read["study"] != study.name:
            raise UsageError(
                f"{directory}: contains results of the study {read['study']}; give another directory with -o"
            )
        return {str(name): int(status) for name, status in read["ended"].items()}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise OutputError(f"{file}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{file}: not a list of outcomes; remove it to run all parts again") from None


def _make_outcome(part: Part, directory: Path, status: int | None) -> PartOutcome:
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


def _run_part(study: Study, part: Part, directory: Path) -> int:
    """Run the script of a part with its output in a log, and return its exit status."""
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
