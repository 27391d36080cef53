"""One attempt at a run: its directory, what is asked there, and how it ended."""

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
from typing import Any

from haloscope.base.errors import HaloscopeError, OutputError
from haloscope.base.files import read_end, read_last_line
from haloscope.base.launcher import complete_command
from haloscope.reproduce.campaign.expressions import text_of
from haloscope.reproduce.campaign.points import Point
from haloscope.reproduce.campaign.specification import CampaignProgram, Specification, Variant
from haloscope.watch import SETTINGS

PROFILE = "profile.halo"
RESULT = "result.json"
_MOST_OUTPUT = 1 << 24
# What is kept of the environment beside what the specification sets: what decides how MPI programs run.
_KEPT = (
    *("FI_", "FLUX_", "GOMP_", "HALOSCOPE_", "HWLOC_", "HYDRA_", "I_MPI_", "KMP_", "LD_", "LOADEDMODULES"),
    *("LSB_", "MPICH_", "MPIR_", "MV2_", "OMPI_", "OMP_", "PATH", "PBS_", "PMIX_", "PRTE_", "SLURM_", "UCX_"),
)


@dataclass(frozen=True)
class Ending:
    """How an attempt ended: `done`, `failed`, `interrupted`, `lost` or `cut off`, why, and what it gave."""

    outcome: str
    reason: str | None = None
    seconds: float | None = None
    host: str | None = None
    figures: Mapping[str, float] = field(default_factory=dict)


def prepare(
    attempt: Path, point: Point, specification: Specification, program_path: Path | None, root: Path
) -> None:
    """Make the directory of an attempt, with what is asked. Raises `OutputError`."""
    system, program = specification.systems[point.system], specification.programs[point.program]
    words = [
        str(program_path) if word.startswith("application:") and program_path else word
        for word in point.words
    ]
    variant = specification.variants[point.variant]
    is_here = system.executor == "local" and not system.modules
    asked = {
        "words": _wrapped(complete_command(words) if is_here else words, variant),
        "command": shlex.join(words),
        "environment": {**point.environment, **_metadata(point, specification), **_caliper(variant)},
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
        "haloscope": _version(),
    }
    try:
        attempt.mkdir(parents=True)
        (attempt / "run.json").write_text(json.dumps(asked, indent=1) + "\n", "utf-8")
    except OSError as error:
        raise OutputError(
            f"{attempt}: cannot be written: {error.strerror}; make room, and run it again"
        ) from None


def _version() -> str:
    from importlib import metadata

    return metadata.version("haloscope")


def _wrapped(words: list[str], variant: Variant) -> list[str]:
    """Return the launch command behind those of ours that a variant needs; what is watched comes last."""
    command = [sys.executable, "-m", "haloscope.cli"]
    if variant.watch:
        given = variant.watch if isinstance(variant.watch, dict) else {}
        words = [*command, "run", "--quiet", "-o", f"../{PROFILE}", *_options(given), "--", *words]
    if variant.shm:
        words = [*command, "shm", "--quiet", "--", *words]
    if variant.inject:
        latencies = [word for latency in variant.inject for word in ("--latency", latency)]
        words = [*command, "inject", "--quiet", *latencies, "--", *words]
    return words


def _options(given: Mapping[str, Any]) -> list[str]:
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


def _metadata(point: Point, specification: Specification) -> dict[str, str]:
    """Return what profiles say of the run, so that reports can sort by it."""
    named = {
        "campaign": specification.campaign,
        "experiment": point.experiment,
        "system": point.system,
        "variant": point.variant,
        "repetition": point.repetition,
        "curve": f"{point.experiment}/{point.system}/{point.variant}",
        **point.parameters,
    }
    return {f"HALOSCOPE_META_{name.upper()}": text_of(value) for name, value in named.items()}


def _caliper(variant: Variant) -> dict[str, str]:
    return {} if variant.caliper is None else {"CALI_CONFIG": variant.caliper}


def ending_of(attempt: Path, program: CampaignProgram, variant: Variant) -> Ending | None:
    """Return how an attempt ended, or None if it has written nothing of that."""
    try:
        result = json.loads((attempt / RESULT).read_text("utf-8"))
        status, seconds = int(result["exit_status"]), float(result["seconds"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return Ending("lost", f"{attempt / RESULT} is damaged")
    ended_by, host = result.get("ended_by"), result.get("host")
    if result.get("abandoned"):
        return Ending("cut off", "it ended without a word")
    if ended_by == "limit":
        return Ending("failed", f"took longer than {program.limit:g} s", seconds, host)
    if ended_by:
        return Ending("interrupted", f"was ended by {ended_by}", seconds, host)
    if status:
        said = result.get("error") or read_last_line(attempt / "stderr") or read_last_line(attempt / "stdout")
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        return Ending("failed", f"{how}: {said}" if said else how, seconds, host)
    figures, missing = _figures(attempt / "stdout", program)
    if missing:
        return Ending("failed", f"figure {missing} is not in its output", seconds, host, figures)
    lacks = _lacking(attempt / PROFILE, program.regions) if variant.watch else None
    return Ending("failed" if lacks else "done", lacks, seconds, host, figures)


def _figures(output: Path, program: CampaignProgram) -> tuple[dict[str, float], str | None]:
    """Return the figures that are in the output, of each the last, and the name of one that is not."""
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


def _lacking(profile: Path, regions: list[str]) -> str | None:
    """Return what is missing of a profile, in words."""
    if not profile.is_file():
        return "no profile was written"
    if not regions:
        return None
    from haloscope import explain

    try:
        with explain.open(profile) as opened:
            there = set(opened.table("regions")["region"].to_list())
    except HaloscopeError as error:
        return str(error)
    lacking = [region for region in regions if region not in there]
    return f"its profile has no region {lacking[0]}" if lacking else None


@contextmanager
def _locked(attempt: Path) -> Iterator[bool]:
    """Yield whether no process of the attempt lives; until the end, none begins."""
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
    """Return whether a process of the attempt lives on this machine."""
    try:
        with _locked(attempt) as is_free:
            return not is_free
    except OSError:
        return False


def end(attempt: Path) -> None:
    """Ask an attempt that runs on this machine to end; what it has printed is kept."""
    with suppress(OSError, ValueError):
        if is_held(attempt):
            os.kill(int((attempt / "lock").read_text("ascii")), signal.SIGTERM)


def abandon_attempt(attempt: Path) -> bool:
    """Give up an attempt, so that it does not begin any more; return False if it lives, or has ended."""
    try:
        with _locked(attempt) as is_free:
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
