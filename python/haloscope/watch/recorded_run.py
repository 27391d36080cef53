"""`haloscope run` and `haloscope env`: profile a launch command."""

from __future__ import annotations

import os
import re
import shlex
import signal
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from haloscope.base.child import Meanwhile, run_child
from haloscope.base.environment import (
    earlier_preload,
    forward_variables,
    outer_settings,
    prepare_launch,
    recorder_environment,
)
from haloscope.base.errors import HaloscopeError, LaunchError, UsageError
from haloscope.base.launch import LaunchCommand, name_of, parse, resolve
from haloscope.base.launcher import complete_command
from haloscope.base.mpi import detect, find_installed_library, is_statically_linked
from haloscope.base.objects import Abi
from haloscope.base.preloading import Outcome
from haloscope.base.settings import Value, to_environment
from haloscope.watch.always_on import remove_always_settings
from haloscope.watch.annotations import describe_other_tools, tool_variables
from haloscope.watch.outputs import Output
from haloscope.watch.places import directories
from haloscope.watch.recorder import Recorder, build_recorder
from haloscope.watch.recorder_settings import SETTINGS, Recording

if TYPE_CHECKING:
    from typing_extensions import Unpack

# An identity that has room for more: the recorder takes 63 characters.
_OUTER = re.compile("[A-Za-z0-9_-]{1,50}")


def run(
    command: Sequence[str],
    *,
    mpi: Abi | None = None,
    mpi_include: Sequence[Path] = (),
    quiet: bool = False,
    hang_after: float | None = None,
    on_hang: Callable[[str], None] | None = None,
    **settings: Unpack[Recording],
) -> Outcome:
    """Run a launch command with the recorder in its ranks, and return how it ended.

    The command has the terminal and the environment of this process.

    Args:
        command: The words of the command, such as `["mpiexec", "-n", "8", "./app"]`.
        mpi: Binary interface of its MPI, if it is not found.
        mpi_include: Directories of that MPI's mpi.h, if they are not found.
        quiet: Do not report that the recorder is being built.
        hang_after: Seconds after which a run without progress on this node is reported; the program goes on.
        on_hang: Called once with the roll-call of the ranks; the default prints it on standard error.
        settings: The keywords of `Recording`.

    Returns:
        The status and the profiles. Problems after the start are in `remarks`.

    Raises:
        HaloscopeError: `LaunchError`, `OutputError`, `RecorderError` or `UsageError`: nothing was started.

    Examples:
        >>> outcome = haloscope.run(["mpiexec", "-n", "8", "./app"], output="app.halo", series=["halo"])
        >>> outcome.exit_status, outcome.profiles
        (0, [PosixPath('/home/me/app.halo')])
    """
    words = complete_command(command, quiet)
    values, surroundings = _values(settings), remove_always_settings(os.environ)
    if hang_after is not None and not 0 < hang_after < 1e8:
        raise UsageError(f"--hang-after {hang_after:g}: not a time; give seconds, such as 60")
    variables = _variables(values, surroundings)
    output = _output(variables, "output" in values, surroundings)
    if not words or resolve(words[0]) is None:
        raise LaunchError(f"{words[0] if words else 'nothing'}: no such command; nothing was started")
    launch = parse(words)
    found = detect(launch, mpi, tuple(mpi_include))
    if found is None:
        return Outcome(run_child(words, os.environ).status, remarks=[_explain_no_mpi(launch)])
    recorder = build_recorder(found.headers, quiet)
    identity = _make_identity(surroundings.get("HALOSCOPE_RUN", ""))
    variables |= {"HALOSCOPE_COMMAND": shlex.join(words), "HALOSCOPE_RUN": identity}
    earlier = earlier_preload(launch, os.environ)
    complete = recorder_environment(found, recorder, variables, earlier)
    complete |= tool_variables(complete, os.environ)
    watched, environment = prepare_launch(launch, found, complete, os.environ)
    places = partial(directories, identity, variables.get("HALOSCOPE_LIVE"))
    meanwhile = None
    if hang_after is not None:
        from haloscope.watch.hanging import Hanging, print_hang

        hanging = Hanging(places, recorder, hang_after, on_hang or print_hang)
        meanwhile = Meanwhile(hanging.look, hanging.every)
    end = run_child(watched.command, environment, meanwhile)
    outcome = Outcome(end.status)
    with outcome.noting():
        outcome.profiles = output.find_written(identity)
        if records := places():
            _collect(outcome, output, recorder, records, end.moment)
    if not outcome.profiles and not outcome.remarks:
        outcome.remarks.append(_explain_no_profile(launch, outcome.status))
    else:
        other = _explain_other_launcher(launch, found.abi) if len(outcome.profiles) > 1 else None
        remarks = [other, describe_other_tools(complete, os.environ)]
        outcome.remarks += filter(None, remarks)
    return outcome


def env(
    command: Sequence[str] = (),
    *,
    mpi: Abi | None = None,
    mpi_include: Sequence[Path] = (),
    **settings: Unpack[Recording],
) -> dict[str, str]:
    """Return the environment variables by which later launch commands are profiled.

    Args:
        command: The launch command, which is not started, only examined for its MPI. The default is the MPI
            whose mpicc is on PATH.
        mpi: Binary interface of the MPI.
        mpi_include: Directories of its mpi.h.
        settings: The keywords of `Recording`.

    Raises:
        LaunchError: If there is no MPI.
        RecorderError: If there is no recorder for it.

    Examples:
        >>> environment = os.environ | haloscope.env(output="app.halo")
        >>> subprocess.run(["srun", "./app"], env=environment)
    """
    values, surroundings = _values(settings), remove_always_settings(os.environ)
    variables = _variables(values, surroundings)
    _output(variables, "output" in values, surroundings)
    launch = parse(complete_command(command)) if command else None
    include = tuple(mpi_include)
    found = detect(launch, mpi, include) or detect(None, mpi, include)
    if found is None:
        raise LaunchError("no MPI found to profile; name one with --mpi")
    recorder = build_recorder(found.headers)
    earlier = earlier_preload(launch, os.environ)
    complete = recorder_environment(found, recorder, variables, earlier)
    complete |= tool_variables(complete, os.environ)
    uses_x = launch is not None and {"-x", "--x"} & set(launch.options)
    return forward_variables(complete, os.environ, found.abi == "openmpi" and not uses_x)


def _values(settings: Recording) -> dict[str, Value | None]:
    """Return the settings that were given, by name. Raises `UsageError` for one that does not exist."""
    known = {setting.name for setting in SETTINGS}
    for name in settings:
        if name not in known:
            raise UsageError(f"{name}: no such setting of the recorder; settings: {', '.join(sorted(known))}")
    return {name: cast("Value", value) for name, value in settings.items() if value is not None}


def _variables(values: Mapping[str, Value | None], surroundings: Mapping[str, str]) -> dict[str, str]:
    """Return the recorder's variables. Raises `UsageError` for values that it would refuse."""
    variables = outer_settings(surroundings) | to_environment(values, surroundings, SETTINGS)
    if "depth" in values and "HALOSCOPE_CALLSITES" not in variables:
        raise UsageError(f"--depth {values['depth']}: add --callsites")
    return variables


def _output(settings: dict[str, str], is_given: bool, surroundings: Mapping[str, str]) -> Output:
    given = settings.get("HALOSCOPE_OUTPUT")
    output = Output.prepare(Path(given) if given else None)
    settings["HALOSCOPE_OUTPUT"] = str(output.pattern)
    # A second profile of this run does not replace the first; a run within a run writes the outer one's.
    outer = surroundings.get("HALOSCOPE_SINCE", "")
    if not is_given and outer.isdecimal():
        output.since = int(outer)
    settings["HALOSCOPE_SINCE"] = str(output.since)
    if "HALOSCOPE_ALWAYS" in surroundings:
        settings["HALOSCOPE_ALWAYS"] = surroundings["HALOSCOPE_ALWAYS"]
    return output


def _make_identity(outer: str) -> str:
    """Return a new identity; that of a run inside a run begins with the outer one's."""
    inner = os.urandom(8).hex()
    return f"{outer}-{inner[:8]}" if _OUTER.fullmatch(outer) else inner


def _collect(outcome: Outcome, output: Output, recorder: Recorder, records: list[Path], ended: float) -> None:
    """Make the profiles that no rank could write from the live records."""
    from haloscope.watch import recovery

    worlds, unread = recovery.read_worlds([recorder], records)
    for world in worlds:
        try:
            target, remarks = recovery.join_and_clear(world, world.output, output.replaceable, ended=ended)
        except HaloscopeError as error:
            outcome.remarks.append(str(error))
            continue
        outcome.remarks += remarks
        if target != world.output:
            outcome.remarks.append(f"{world.output} is kept: {target} is the next profile")
        outcome.profiles.append(target)
    if unread:
        outcome.remarks.append(
            f"{unread[0].parent}: has records that this recorder can't read; they are kept for "
            "haloscope recover"
        )
    recovery.clear_empty(records)
    if not outcome.profiles and not outcome.remarks:
        outcome.remarks.append("no profile: it could not be written, see above")


def _explain_other_launcher(launch: LaunchCommand, abi: Abi) -> str | None:
    """Return a remark if the launcher is of a different MPI than the program, whose ranks are alone then."""
    names = {"openmpi": "Open MPI", "mpich": "MPICH"}
    own = find_installed_library(launch.launcher) if launch.launcher else None
    if own is None or own.abi == abi or not {own.abi, abi} <= names.keys():
        return None
    return (
        f"{name_of(launch)} uses {names[abi]}, but {launch.launcher} is of {names[own.abi]}: each rank ran"
        f" alone, with a profile of its own; use the launcher of {names[abi]}"
    )


def _explain_no_mpi(launch: LaunchCommand) -> str:
    program = launch.programs[0].path if launch.programs else Path(launch.command[0])
    return (
        _explain_static(program)
        or f"{name_of(launch)} links no MPI: it ran, and there was nothing to profile"
    )


def _explain_no_profile(launch: LaunchCommand, status: int) -> str:
    name = name_of(launch)
    for program in launch.programs:
        static = _explain_static(program.path)
        if static:
            return static
    if os.WIFSIGNALED(status):
        killer = signal.Signals(os.WTERMSIG(status)).name
        return f"no profile: {killer} ended {name} before MPI_Init"
    if status:
        number = os.WEXITSTATUS(status)
        return f"no profile: {name} ended before MPI_Init, or could not be started (exit status {number})"
    return (
        f"no profile: {name} never called MPI_Init, or called it where the recorder could not follow: "
        "it is linked statically, or to a different MPI than its launcher's (name that with --mpi), or "
        "some ranks have no recorder"
    )


def _explain_static(program: Path) -> str | None:
    if is_statically_linked(program):
        return (
            f"no profile: {program.name} has its MPI linked statically, out of the recorder's "
            "reach: link it with the shared libmpi"
        )
    return None
