"""What must be there before the first run is timed: programs, and what watches them."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from haloscope.base.building import build_application
from haloscope.base.errors import LaunchError, UsageError
from haloscope.base.launch import parse
from haloscope.base.launcher import complete_command
from haloscope.base.mpi import detect
from haloscope.hide import build_fem, build_injector, build_shm_library
from haloscope.reproduce.campaign.campaign import Campaign
from haloscope.reproduce.campaign.expressions import substitute_expressions, text_of
from haloscope.reproduce.campaign.points import Point
from haloscope.reproduce.campaign.specification import WITH_FEM
from haloscope.watch import build_recorder


def prepare_programs(campaign: Campaign, waiting: Sequence[Point]) -> dict[str, Path]:
    """Build the programs of these runs, and what watches them; return where bundled applications are.

    Raises `UsageError` for a program that is not there, and `LaunchError` for one that cannot be built.
    """
    specification, paths = campaign.specification, {}
    first = {(point.program, point.system): point for point in reversed(waiting)}
    for (name, system), point in sorted(first.items()):
        program = specification.programs[name]
        for command in program.build:
            _build(campaign, name, system, command)
        if program.application is not None:
            paths[name] = _built(program.application)
        elif not specification.systems[system].modules and shutil.which(point.executable) is None:
            raise UsageError(
                f"{campaign.file}: programs.{name}.command: {point.executable}: no such program; "
                "mend the path, or say how to build it"
            )
    _build_components(campaign, waiting, paths)
    return paths


def _built(application: str) -> Path:
    """Return where a bundled application is; poisson comes with the finite elements."""
    return build_fem().poisson if application == WITH_FEM else build_application(application)


def _build(campaign: Campaign, name: str, system: str, command: str) -> None:
    """Run one command in the specification's directory, with what it prints in a log."""
    log = campaign.directory / f"build-{name}-{system}.log"
    names = {"system": system}
    environment = {
        key: text_of(substitute_expressions(text, names))
        for key, text in campaign.specification.systems[system].environment.items()
        if "{" not in text
    }
    words = [text_of(substitute_expressions(word, names)) for word in shlex.split(command)]
    with log.open("ab") as output:
        try:
            status = subprocess.run(
                words,
                cwd=campaign.file.parent,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                check=False,
            ).returncode
        except OSError as error:
            raise LaunchError(f"programs.{name}.build: {command}: {error.strerror}") from None
    if status:
        raise LaunchError(f"programs.{name}.build: {command}: exit status {status}; {log} has what it said")


def _build_components(campaign: Campaign, waiting: Sequence[Point], paths: dict[str, Path]) -> None:
    """Build what is put in front of MPI, which would be in the time of the first run, or of each on its node.

    Where modules bring the MPI it is not known here.
    """
    kinds = {(point.system, point.program, point.variant): point for point in waiting}
    for point in kinds.values():
        variant = campaign.specification.variants[point.variant]
        wanted = {
            build_recorder: bool(variant.watch),
            build_injector: bool(variant.inject),
            build_shm_library: variant.shm,
        }
        if campaign.specification.systems[point.system].modules or not any(wanted.values()):
            continue
        path = str(paths.get(point.program, ""))
        words = [path if word.startswith("application:") else word for word in point.words]
        found = detect(parse(complete_command(words, quiet=True)))
        for build, is_wanted in wanted.items():
            if found is not None and is_wanted:
                build(found.headers)
