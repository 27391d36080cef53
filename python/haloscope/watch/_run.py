"""`haloscope run` and `haloscope env`: watch a launch command."""

from __future__ import annotations

import os
import secrets
import shlex
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from haloscope.base.child import run_child
from haloscope.base.environment import (
    earlier_preload,
    forwarded,
    launched,
    outer_settings,
    recorder_environment,
)
from haloscope.base.errors import HaloscopeError, LaunchError
from haloscope.base.launch import Launch, name_of, parse, resolve
from haloscope.base.mpi import detect, statically_linked
from haloscope.base.objects import is_elf
from haloscope.base.preloading import Choice, Outcome
from haloscope.base.settings import Value, to_environment
from haloscope.watch import _live
from haloscope.watch._outputs import Output
from haloscope.watch._recorder import Recorder, build_recorder
from haloscope.watch._recover import join_and_clear
from haloscope.watch._settings import SETTINGS

__all__ = ["exports", "run"]

_FOUND_OUT = Choice()


def run(
    command: Sequence[str],
    values: Mapping[str, Value | None],
    choice: Choice = _FOUND_OUT,
    quiet: bool = False,
) -> Outcome:
    """Run a command with the recorder in its ranks; raises only if nothing was started."""
    settings = outer_settings(os.environ) | to_environment(values, os.environ, SETTINGS)
    output = _output(settings, values)
    if resolve(command[0]) is None:
        raise LaunchError(f"{command[0]}: no such command; nothing was started")
    launch = parse(command)
    mpi = detect(launch, choice.abi, choice.include)
    if mpi is None:
        return Outcome(run_child(command, os.environ), remarks=[_no_mpi(launch)])
    recorder = build_recorder(mpi.headers, quiet)
    run = secrets.token_hex(8)
    settings |= {"HALOSCOPE_COMMAND": shlex.join(command), "HALOSCOPE_RUN": run}
    earlier = earlier_preload(launch, os.environ)
    variables = recorder_environment(mpi, recorder, settings, earlier)
    watched, environment = launched(launch, mpi, variables, os.environ)
    outcome = Outcome(run_child(watched.command, environment))
    _collect(outcome, output, recorder, _live.directories(run, settings.get("HALOSCOPE_LIVE")))
    if not outcome.profiles and not outcome.remarks:
        outcome.remarks.append(_no_profile(launch, outcome.status))
    return outcome


def exports(
    command: Sequence[str], values: Mapping[str, Value | None], choice: Choice = _FOUND_OUT
) -> dict[str, str]:
    """Return the variables that make later launch commands of a shell watched."""
    settings = outer_settings(os.environ) | to_environment(values, os.environ, SETTINGS)
    _output(settings, values)
    launch = parse(command) if command else None
    mpi = detect(launch, choice.abi, choice.include) or detect(None, choice.abi, choice.include)
    if mpi is None:
        raise LaunchError("no MPI found to watch; name one with --mpi")
    recorder = build_recorder(mpi.headers)
    earlier = earlier_preload(launch, os.environ)
    variables = recorder_environment(mpi, recorder, settings, earlier)
    uses_x = launch is not None and {"-x", "--x"} & set(launch.options)
    return forwarded(variables, os.environ, mpi.abi == "openmpi" and not uses_x)


def _output(settings: dict[str, str], values: Mapping[str, Value | None]) -> Output:
    given = settings.get("HALOSCOPE_OUTPUT")
    output = Output.prepare(Path(given) if given else None)
    settings["HALOSCOPE_OUTPUT"] = str(output.pattern)
    # What this run has written is not replaced by it; one within another writes the other's.
    outer = os.environ.get("HALOSCOPE_SINCE", "")
    if values.get("output") is None and outer.isdecimal():
        output.since = int(outer)
    settings["HALOSCOPE_SINCE"] = str(output.since)
    return output


def _collect(outcome: Outcome, output: Output, recorder: Recorder, records: list[Path]) -> None:
    """Find the profiles; make those that no rank got so far as to write of the live records."""
    outcome.profiles = output.written()
    worlds, unread = _live.read([recorder], records)
    for world in worlds:
        try:
            target, remarks = join_and_clear(world, world.output, output.replaceable)
        except HaloscopeError as error:
            outcome.remarks.append(str(error))
            continue
        outcome.remarks += remarks
        if target != world.output:
            outcome.remarks.append(f"{world.output} stays as it is: {target} is the next profile")
        outcome.profiles.append(target)
    if unread:
        outcome.remarks.append(
            f"{unread[0].parent}: has records that this recorder can't read; they stay there, for "
            "haloscope recover"
        )
    _live.clear_empty(records)
    if records and not outcome.profiles and not outcome.remarks:
        outcome.remarks.append("no profile: it could not be written, see above")


def _no_mpi(launch: Launch) -> str:
    program = launch.programs[0].path if launch.programs else Path(launch.command[0])
    return _static(program) or f"{name_of(launch)} links no MPI: it ran, and there was nothing to watch"


def _no_profile(launch: Launch, status: int) -> str:
    name = name_of(launch)
    for program in launch.programs:
        static = _static(program.path)
        if static:
            return static
    killer = _signal(status)
    if killer:
        return f"no profile: {killer} ended {name} before MPI_Init"
    if status:
        return f"no profile: {name} ended before MPI_Init, or could not be started"
    return (
        f"no profile: {name} never called MPI_Init, or called it where the recorder could not "
        "follow (another MPI than its launcher's: say which with --mpi; static linking)"
    )


def _signal(status: int) -> str | None:
    """The signal that ended a command, itself or, as shells and launchers say, what it ran."""
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status) - 128
    return signal.Signals(number).name if number in set(signal.Signals) else None


def _static(program: Path) -> str | None:
    if is_elf(program) and statically_linked(program):
        return (
            f"no profile: {program.name} has its MPI linked statically, out of the recorder's "
            "reach: link it with the shared libmpi"
        )
    return None
