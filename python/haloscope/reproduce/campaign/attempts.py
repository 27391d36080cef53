"""Attempts of runs: their directories, requests and results."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from haloscope.base.errors import HaloscopeError, OutputError
from haloscope.base.files import read_end, read_last_line
from haloscope.base.launcher import complete_command
from haloscope.base.texts import parse_json, parse_whole
from haloscope.base.units import duration_text
from haloscope.reproduce.campaign.expressions import format_value
from haloscope.reproduce.campaign.points import Point
from haloscope.reproduce.campaign.specification import CampaignProgram, Specification, Variant
from haloscope.watch import SETTINGS

PROFILE = "profile.halo"
RESULT = "result.json"
_MOST_OUTPUT = 1 << 24
_Seconds = Annotated[float, Field(ge=0, le=1e11)]  # up to the year 5000, for times of day
# Prefixes of stored environment variables, in addition to those of the specification: they affect MPI
# programs.
_KEPT = (
    *("FI_", "FLUX_", "GOMP_", "HALOSCOPE_", "HWLOC_", "HYDRA_", "I_MPI_", "KMP_", "LD_", "LOADEDMODULES"),
    *("LSB_", "MPICH_", "MPIR_", "MV2_", "OMPI_", "OMP_", "PATH", "PBS_", "PMIX_", "PRTE_", "SLURM_", "UCX_"),
)


@dataclass(frozen=True)
class Ending:
    """The end of an attempt: the outcome (`done`, `failed`, `interrupted`, `lost`, `cut off`), its reason,
    and the results."""

    outcome: str
    reason: str | None = None
    seconds: float | None = None
    host: str | None = None
    figures: Mapping[str, float] = field(default_factory=dict)


class RunResult(BaseModel, strict=True):
    """The result that an attempt wrote; `started` is seconds since 1970."""

    exit_status: int
    seconds: _Seconds
    started: _Seconds | None = None
    host: str | None = None
    ended_by: str | None = None
    error: str | None = None
    abandoned: bool = False


def read_result(attempt: Path) -> RunResult:
    """Return the result of an attempt. Raises `OSError` if it has none, `ValueError` if it is damaged."""
    return RunResult.model_validate(parse_json((attempt / RESULT).read_text("utf-8")))


def prepare(
    attempt: Path, point: Point, specification: Specification, program_path: Path | None, root: Path
) -> None:
    """Create the directory of an attempt with its request.

    Raises:
        OutputError: The directory cannot be written.
    """
    system, program = specification.systems[point.system], specification.programs[point.program]
    words = [
        str(program_path) if word.startswith("application:") and program_path else word
        for word in point.words
    ]
    variant = specification.variants[point.variant]
    is_here = system.executor == "local" and not system.modules
    request = {
        "words": _wrap_command(complete_command(words) if is_here else words, variant),
        "command": shlex.join(words),
        "environment": {
            **point.environment,
            **_make_metadata(point, specification),
            **({"CALI_CONFIG": variant.caliper} if variant.caliper is not None else {}),
        },
        "modules": list(system.modules),
        "inputs": [str((root / path).absolute()) for path in program.inputs],
        "limit": program.limit,
        "kept": _KEPT,
        "hosts": str((attempt.parents[2] / "hosts").absolute()),
        "run": point.name,
        "campaign": specification.campaign,
        "system": {"name": point.system, **system.model_dump(mode="json")},
        "parameters": dict(point.parameters),
        "ranks": point.ranks,
        "nodes": point.nodes,
        "haloscope": _read_version(),
    }
    try:
        attempt.mkdir(parents=True)
        (attempt / "run.json").write_text(json.dumps(request, indent=1) + "\n", "utf-8")
    except OSError as error:
        raise OutputError(
            f"{attempt}: cannot be written: {error.strerror}; make room, and run it again"
        ) from None


def _read_version() -> str:
    from importlib import metadata

    return metadata.version("haloscope")


def _wrap_command(words: list[str], variant: Variant) -> list[str]:
    """Return the launch command with the commands of Haloscope that a variant needs before it."""
    command = [sys.executable, "-m", "haloscope.cli"]
    if variant.watch:
        settings = variant.watch if isinstance(variant.watch, dict) else {}
        words = [*command, "run", "--quiet", "-o", f"../{PROFILE}", *_list_options(settings), "--", *words]
    if variant.shm:
        words = [*command, "shm", "--quiet", "--", *words]
    if variant.inject:
        latencies = [word for latency in variant.inject for word in ("--latency", latency)]
        words = [*command, "inject", "--quiet", *latencies, "--", *words]
    return words


def _list_options(given: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for setting in SETTINGS:
        value = given.get(setting.name)
        if value is None or value is False:
            continue
        if value is True:
            found.append(setting.option)
        else:
            values = value if isinstance(value, list) else [value]
            found += [f"{setting.option}={each}" for each in values]
    return found


def _make_metadata(point: Point, specification: Specification) -> dict[str, str]:
    """Return the metadata of the run for its profile, by which reports can sort."""
    values = {
        "campaign": specification.campaign,
        "experiment": point.experiment,
        "system": point.system,
        "variant": point.variant,
        "repetition": point.repetition,
        "curve": f"{point.experiment}/{point.system}/{point.variant}",
        **point.parameters,
    }
    return {f"HALOSCOPE_META_{name.upper()}": format_value(value) for name, value in values.items()}


def read_ending(attempt: Path, program: CampaignProgram, variant: Variant) -> Ending | None:
    """Return the end of an attempt, or None if it has written no result."""
    try:
        result = read_result(attempt)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return Ending("lost", f"{attempt / RESULT} is damaged")
    status, seconds = result.exit_status, result.seconds
    ended_by, host = result.ended_by, result.host
    if result.abandoned:
        return Ending("cut off", "ended without a result")
    if ended_by == "limit":
        return Ending("failed", f"took longer than {duration_text(program.limit)}", seconds, host)
    if ended_by:
        return Ending("interrupted", f"ended by {ended_by}", seconds, host)
    if status:
        message = result.error or read_last_line(attempt / "stderr") or read_last_line(attempt / "stdout")
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        return Ending("failed", f"{how}: {message}" if message else how, seconds, host)
    figures, missing = _read_figures(attempt / "stdout", program)
    if missing:
        return Ending("failed", f"figure {missing} is not in its output", seconds, host, figures)
    lacks = _find_missing(attempt / PROFILE, program.regions) if variant.watch else None
    return Ending("failed" if lacks else "done", lacks, seconds, host, figures)


def _read_figures(output: Path, program: CampaignProgram) -> tuple[dict[str, float], str | None]:
    """Return the last value of each figure in the output, and the name of a missing figure."""
    text = read_end(output, _MOST_OUTPUT) if program.figures else ""
    found, missing = {}, None
    for name, pattern in program.figures.items():
        value = None
        for match in re.finditer(pattern, text, re.MULTILINE):
            with suppress(ValueError):
                value = float(match[1])
        if value is None:
            missing = missing or name
        else:
            found[name] = value
    return found, missing


def _find_missing(profile: Path, regions: list[str]) -> str | None:
    """Return a text that describes missing data of the profile, or None."""
    if not profile.is_file():
        return "no profile was written"
    if not regions:
        return None
    from haloscope import explain
    from haloscope.profile.store import list_regions

    try:
        with explain.open(profile) as opened:
            found = set(opened.table("regions")["region"].to_list())
    except HaloscopeError as error:
        return str(error)
    missing = [region for region in regions if region not in found]
    return f"its profile has no region {missing[0]}; {list_regions(missing[0], found)}" if missing else None


@contextmanager
def _try_lock(attempt: Path) -> Iterator[bool]:
    """Yield whether no process of the attempt exists. Until the end, none can begin."""
    lock = os.open(attempt / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        is_free = True
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            is_free = False
        except OSError:
            pass  # some parallel file systems have no locks
        yield is_free
    finally:
        os.close(lock)


def is_held(attempt: Path) -> bool:
    """Return whether a process of the attempt exists on this machine."""
    try:
        with _try_lock(attempt) as is_free:
            return not is_free
    except OSError:
        return False


def terminate(attempt: Path) -> None:
    """Terminate an attempt that runs on this machine. Its output is kept."""
    with suppress(OSError, ValueError):
        process = parse_whole((attempt / "lock").read_text("ascii"))
        if process and process < 1 << 31 and is_held(attempt):
            os.kill(process, signal.SIGTERM)


def abandon_attempt(attempt: Path) -> bool:
    """Mark an attempt as abandoned, so that it cannot begin later. Return False if it runs or has ended."""
    try:
        with _try_lock(attempt) as is_free:
            if not is_free or (attempt / RESULT).exists():
                return False
            aside = attempt / f"{RESULT}.{os.getpid()}.part"
            aside.write_text(json.dumps({"exit_status": -1, "seconds": 0.0, "abandoned": True}), "utf-8")
            aside.replace(attempt / RESULT)
            return True
    except FileNotFoundError:
        return True
    except OSError as error:
        raise OutputError(
            f"{attempt}: cannot be written: {error.strerror}; make room, and run it again"
        ) from None
