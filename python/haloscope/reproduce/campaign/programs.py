"""Builds of programs and of Haloscope's libraries before the first run."""

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
from haloscope.reproduce.campaign.expressions import format_value, substitute_expressions
from haloscope.reproduce.campaign.points import Point
from haloscope.reproduce.campaign.specification import WITH_FEM
from haloscope.watch import build_recorder


def prepare_programs(campaign: Campaign, waiting: Sequence[Point]) -> dict[str, Path]:
    """Build the programs of these runs and the libraries that they preload. Return the bundled applications.

    Raises:
        UsageError: A program does not exist.
        LaunchError: A program cannot be built.
    """
    specification, paths = campaign.specification, {}
    first = {(point.program, point.system): point for point in reversed(waiting)}
    for (name, system), point in sorted(first.items()):
        program = specification.programs[name]
        for command in program.build:
            _build(campaign, name, system, command)
        if program.application is not None:
            paths[name] = _find_application(program.application)
        elif not specification.systems[system].modules and shutil.which(point.executable) is None:
            raise UsageError(
                f"{campaign.file}: programs.{name}.command: {point.executable}: no such program; "
                "correct the path, or add build"
            )
    _build_components(campaign, waiting, paths)
    return paths


def _find_application(application: str) -> Path:
    """Return the path of a bundled application. poisson is built with the finite elements."""
    return build_fem().poisson if application == WITH_FEM else build_application(application)


def _build(campaign: Campaign, name: str, system: str, command: str) -> None:
    """Run one command in the directory of the specification, with its output in a log."""
    log = campaign.directory / f"build-{name}-{system}.log"
    names = {"system": system}
    environment = {
        key: format_value(substitute_expressions(text, names))
        for key, text in campaign.specification.systems[system].environment.items()
        if "{" not in text
    }
    words = [format_value(substitute_expressions(word, names)) for word in shlex.split(command)]
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
        raise LaunchError(f"programs.{name}.build: {command}: exit status {status}; its output is in {log}")


def _build_components(campaign: Campaign, waiting: Sequence[Point], paths: dict[str, Path]) -> None:
    """Build the libraries that runs preload, so that this does not count as time of a run.

    If modules load the MPI, it is unknown here, and nothing is built.
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
