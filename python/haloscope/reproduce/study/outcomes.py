"""Execution of the parts of a study, each once, and their outcomes."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from haloscope.base.errors import OutputError, UsageError
from haloscope.base.files import read_last_line, write_whole
from haloscope.base.texts import parse_json
from haloscope.reproduce.study.conditions import Conditions, observe_conditions
from haloscope.reproduce.study.originals import check_originals, find_originals, write_originals
from haloscope.reproduce.study.reproduced import find_name_error
from haloscope.reproduce.study.script import NOT_HERE
from haloscope.reproduce.study.study_folder import Part, Study

_OUTCOMES = "outcomes.json"
_DONE = 0  # the exit status of a script with results; script.py defines the one for missing components
State = Literal["done", "failed", "not run"]


@dataclass(frozen=True)
class PartOutcome:
    """The outcome of a part, and where and when it ran; `why` is the reason if it has no results."""

    part: Part
    state: State
    why: str = ""
    conditions: Conditions | None = None


@dataclass(frozen=True)
class _Ended:
    """The exit status of a part's script, and where it ran."""

    status: int
    conditions: Conditions


def run_study(
    study: Study,
    directory: Path,
    *,
    large: bool = False,
    originals: Mapping[str, Path] | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> list[PartOutcome]:
    """Run the unfinished parts of a study, and return the outcomes of all parts.

    Args:
        study: The study.
        directory: Directory for results, logs and outcomes.
        large: Whether to run parts that take long.
        originals: The user's executables of the paper's own programs, by name.
        report: Receives the title of each part before it begins.

    Raises:
        OutputError: The directory cannot be written.
        UsageError: The directory has results of another study, or the study runs no such original.
    """
    given = {name: path.resolve() for name, path in (originals or {}).items()}
    check_originals(study.programs(), given)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{directory}: {error.strerror}; give another directory with -o") from None
    ended = _read_ended(study, directory)
    known = find_originals(directory)
    if given:
        write_originals(directory, known | given)
    for part in study.chosen(large, given):
        report(part.title)
        is_new = any(known.get(name) != given[name] for name in part.originals if name in given)
        is_done = part.name in ended and ended[part.name].status == _DONE
        if is_done and not is_new and not _find_error(study, part, directory):
            continue
        ended[part.name] = _run_part(study, part, directory)
        states = {"study": study.name, "ended": {name: asdict(one) for name, one in ended.items()}}
        write_whole(directory / _OUTCOMES, json.dumps(states, indent=1) + "\n", "list of outcomes")
    return list_outcomes(study, directory)


def list_outcomes(study: Study, directory: Path) -> list[PartOutcome]:
    """Return the outcomes of the parts of a study from `directory`.

    Raises:
        UsageError: The directory has results of another study.
    """
    ended = _read_ended(study, directory)
    return [_make_outcome(study, part, directory, ended.get(part.name)) for part in study.parts]


def _read_ended(study: Study, directory: Path) -> dict[str, _Ended]:
    """Return how the finished parts ended, by name."""
    file = directory / _OUTCOMES
    try:
        read = parse_json(file.read_text("utf-8"))
        if read["study"] != study.name:
            raise UsageError(
                f"{directory}: contains results of the study {read['study']}; give another directory with -o"
            )
        return {
            str(name): _Ended(int(one["status"]), Conditions(**one["conditions"]))
            for name, one in read["ended"].items()
        }
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise OutputError(f"{file}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{file}: not a list of outcomes; remove it to run all parts again") from None


def _make_outcome(study: Study, part: Part, directory: Path, ended: _Ended | None) -> PartOutcome:
    if ended is None:
        programs = " ".join(f"--with {name}=PATH" for name in part.originals)
        return PartOutcome(part, "not run", programs and f"give it {programs}")
    log = directory / f"{part.name}.log"
    if ended.status == NOT_HERE:
        why = read_last_line(log).removeprefix("haloscope: ")
        return PartOutcome(part, "not run", why or "it cannot run here", ended.conditions)
    where = f"see {shlex.quote(str(log))}"
    if ended.status != _DONE:
        why = f"{read_last_line(log) or 'it printed nothing'} (exit status {ended.status}; {where})"
        return PartOutcome(part, "failed", why, ended.conditions)
    error = _find_error(study, part, directory)
    return PartOutcome(part, "failed" if error else "done", error and f"{error} ({where})", ended.conditions)


def _find_error(study: Study, part: Part, directory: Path) -> str:
    """Return which result of a part is missing; empty if all are there."""
    missing = [name for name in part.results if not (directory / name).is_file()]
    if missing:
        return f"it wrote no {missing[0]}"
    return find_name_error(study.published, part, directory)


def _run_part(study: Study, part: Part, directory: Path) -> _Ended:
    """Run the script of a part with its output in a log."""
    runner = [sys.executable, str(Path(__file__).with_name("script.py"))]
    command = [*runner, str(study.folder / part.script), *part.arguments]
    with (directory / f"{part.name}.log").open("wb") as log, observe_conditions() as conditions:
        done = subprocess.run(
            command,
            cwd=directory,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    return _Ended(done.returncode, conditions)
