"""Execution of smpirun: its input files, options, and errors."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from haloscope.base.errors import SimulationError, UsageError
from haloscope.base.files import copy_whole, refuse_other_kind
from haloscope.base.schema import MAGIC
from haloscope.base.signals import handle_signal
from haloscope.base.units import duration_text, noun_text
from haloscope.predict.simulate.change import Change
from haloscope.predict.simulate.description import make_platform_xml, name_hosts
from haloscope.predict.simulate.platform import Platform
from haloscope.predict.simulate.replay_delays import Delays, shares_memory
from haloscope.predict.simulate.simgrid import SimulationBuild, build_simulation, find_smpirun

_NOISE = ("Execution failed with code", "Segmentation fault", "Aborted", "Backtrace (", "  ->  ")
_ABORT = re.compile(r"haloscope: rank \d+ called MPI_Abort, code")
_STACK = 1024  # KiB per rank; untouched pages take no memory


@dataclass(frozen=True)
class SimulationOptions:
    """Options of a simulation."""

    platform: Platform
    ranks: int
    selector: str = "openmpi"
    algorithms: Mapping[str, str] = field(default_factory=dict)
    change: Change = field(default_factory=Change)
    compute: float = 0
    """Simulated seconds per second of computing on this machine; 0: computing takes no time."""
    eager: int = 0
    """Messages below this size (bytes) do not wait for their receiver."""
    time_limit: float | None = None
    privatize: bool = True
    series: tuple[str, ...] = ()
    """Regions (names or paths) of which every instance is kept."""
    slice: float | None = None
    """Length of a slice of the history in simulated seconds; 0: none; None: the recorder's default."""
    delays: Delays = field(default_factory=Delays)


_SELECTORS = {
    "openmpi": "ompi",
    "mpich": "mpich",
    "mvapich2": "mvapich2",
    "intelmpi": "impi",
    "smpi": "default",
}


def make_scratch_directory() -> tempfile.TemporaryDirectory[str]:
    """Return a temporary directory for the input of smpirun."""
    return tempfile.TemporaryDirectory(prefix="haloscope-simulate-", dir=_temporary_directory())


def _temporary_directory() -> str:
    """Return the directory of temporary files, without spaces, at which smpirun splits names."""
    usual = tempfile.gettempdir()
    return "/tmp" if " " in usual else usual


def make_settings(options: SimulationOptions) -> list[str]:
    """Return SimGrid's options.

    Its factors for latency and bandwidth are off, so a platform is simulated as described.
    """
    if options.selector not in _SELECTORS:
        known = ", ".join(_SELECTORS)
        raise UsageError(f"unknown selector of collectives {options.selector!r}; choose from {known}")
    values = {
        "smpi/lat-factor": "0:1",
        "smpi/bw-factor": "0:1",
        "network/weight-S": "0",
        "network/TCP-gamma": "0",
        "surf/precision": "1e-12",
        "smpi/wtime": "1e-9",
        "smpi/test": "1e-7",
        # Otherwise each failed test takes longer than the last one of any rank, also within MPI_Waitsome.
        # That is faster to simulate, but waits become many times too long.
        "smpi/grow-injected-times": "no",
        "smpi/iprobe": "1e-7",
        "contexts/stack-size": str(_STACK),
        "smpi/send-is-detached-thresh": str(options.eager),
        "smpi/simulate-computation": "yes" if options.compute else "no",
        "smpi/host-speed": f"{options.compute * 1e9:.6g}f" if options.compute else "1Gf",
        "smpi/coll-selector": _SELECTORS[options.selector],
        **{f"smpi/{name}": value for name, value in options.algorithms.items()},
    }
    if shares_memory(options.platform):
        # With its default, SimGrid 3.32 ends on some hundred ranks: "no active element". Rates are above 1e6.
        values["maxmin/precision"] = "1e-3"
    return [f"--cfg={name}:{value}" for name, value in values.items()]


def write_platform(options: SimulationOptions, directory: Path) -> tuple[Path, Path]:
    """Write SimGrid's description of the platform and its list of hosts, one line per rank.

    Return both paths.
    """
    hosts = name_hosts(options.platform, options.ranks)
    platform, host_file = directory / "platform.xml", directory / "hosts"
    text = make_platform_xml(options.platform, options.ranks, options.change)
    platform.write_text(text, encoding="utf-8")
    host_file.write_text("".join(f"{name}\n" for name in hosts), encoding="ascii")
    return platform, host_file


def make_command(options: SimulationOptions, directory: Path, *more: str) -> list[str]:
    """Return the words of smpirun before its program."""
    platform, hosts = write_platform(options, directory)
    words = [str(find_smpirun()), "-np", str(options.ranks)]
    words += ["-platform", str(platform), "-hostfile", str(hosts)]
    if not options.privatize:
        words.append("-no-privatize")
    return [*words, *more, "--log=root.thresh:critical", *make_settings(options)]


def run_simulation(
    options: SimulationOptions,
    output: Path,
    about: Mapping[str, str | float],
    program: Sequence[str] = (),
    traces: Path | None = None,
) -> None:
    """Simulate a program, or SimGrid's list of traces, and write the profile.

    Args:
        options: Options of the simulation.
        output: File of the profile.
        about: Entries for the profile's `info`.
        program: The program and its arguments.
        traces: SimGrid's list of traces, instead of a program.

    Raises:
        OutputError: `output` is a file of another kind.
        SimulationError: The simulation fails.
    """
    refuse_other_kind(output, MAGIC, "profile")
    simulation = build_simulation()
    with make_scratch_directory() as name:
        directory = Path(name)
        profile = directory / "simulated.halo"
        if traces is None:
            wrapper = _write_wrapper(directory, simulation, program[1:])
            words = [*make_command(options, directory, "-wrapper", str(wrapper)), program[0]]
        else:
            words = make_command(options, directory, "-replay", str(traces))
            words.append(str(simulation.replayer))
        environment = {
            **os.environ,
            "TMPDIR": _temporary_directory(),
            "HALOSCOPE_OUTPUT": str(profile).replace("%", "%%"),
            "HALOSCOPE_ABOUT": _format_about(about),
        }
        options.delays.change_environment(environment, options.platform)
        if options.series:
            environment["HALOSCOPE_SERIES"] = "\n".join(options.series)
        if options.slice is not None:
            environment["HALOSCOPE_SLICE"] = str(options.slice)
        what = program[0] if program else "the trace"
        _run_smpirun(words, environment, what, options)
        if not profile.exists():
            raise SimulationError(f"{what}: did not reach MPI_Finalize on all ranks")
        copy_whole(profile, output, "profile")


def _format_about(about: Mapping[str, str | float]) -> str:
    """Return one line per entry, in the format of the recorder for simulations."""
    texts = {name: value.replace("\n", " ") for name, value in about.items() if isinstance(value, str)}
    numbers = {f"{name}:": f"{value:.17g}" for name, value in about.items() if not isinstance(value, str)}
    return "".join(f"{name}={value}\n" for name, value in (texts | numbers).items())


def _write_wrapper(directory: Path, simulation: SimulationBuild, arguments: Sequence[str]) -> Path:
    """Return a script that preloads the recorder into SMPI's process, not into smpirun, which is a script.

    The script also has the arguments of the program, which smpirun would split at spaces, as the linker would
    split names of libraries.
    """
    script, links = directory / "preload", (directory / "recorder.so", directory / "before.so")
    for link, library in zip(links, (simulation.recorder, simulation.before_smpi), strict=True):
        link.symlink_to(library)
    preload = "LD_PRELOAD=" + ":".join(map(str, links))
    script.write_text(f'#!/bin/sh\n{preload} exec "$@" {shlex.join(arguments)}\n', encoding="utf-8")
    script.chmod(0o700)
    return script


def _run_smpirun(
    words: list[str], environment: Mapping[str, str], what: str, options: SimulationOptions
) -> None:
    with _allow_files():
        child = subprocess.Popen(
            words,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    messages: list[str] = []
    ends = ((child.stdout, sys.stdout), (child.stderr, sys.stderr))
    readers = [threading.Thread(target=_forward, args=(pipe, to, messages), daemon=True) for pipe, to in ends]
    for reader in readers:
        reader.start()
    try:
        status = _wait_for_child(child, options.time_limit)
    except subprocess.TimeoutExpired:
        raise SimulationError(
            f"{what}: simulating {noun_text(options.ranks, 'rank')} took more than "
            f"{duration_text(options.time_limit)}; raise HALOSCOPE_TIME_LIMIT, or simulate fewer iterations"
        ) from None
    finally:
        _end_child(child)
        for reader in readers:
            reader.join(5)
    _judge(status, messages, what)


@contextlib.contextmanager
def _allow_files() -> Iterator[None]:
    """Start children with the most open files that are allowed: SimGrid opens the trace of each rank.

    A child's own limit could be raised too late, as it starts others at once.
    """
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


def _wait_for_child(child: subprocess.Popen[bytes], limit: float | None) -> int:
    """Wait for the child, and return its exit status. SIGTERM ends the simulation, as Ctrl-C does.

    It waits in short intervals, because a reader thread may have received the signal.
    """
    deadline = time.monotonic() + (float("inf") if limit is None else limit)
    with handle_signal(signal.SIGTERM, _raise_exit):
        while True:
            left = deadline - time.monotonic()
            try:
                return child.wait(max(0.0, min(0.5, left)))
            except subprocess.TimeoutExpired:
                if left <= 0:
                    raise


def _raise_exit(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def _end_child(child: subprocess.Popen[bytes]) -> None:
    """End the simulation, so that it does not outlive this process."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _forward(pipe: IO[bytes] | None, to: IO[str], messages: list[str]) -> None:
    """Forward the output of the program; collect the messages of SimGrid and smpirun."""
    assert pipe is not None
    with pipe, contextlib.suppress(OSError):  # the reader of our output may be gone
        for raw in pipe:
            line = raw.decode("utf-8", "replace")
            if "/CRITICAL]" in line or line.startswith(_NOISE) or "--cfg=smpi/" in line or _ABORT.match(line):
                messages.append(line.strip())
            elif line.strip() or not messages:
                to.write(line)
                to.flush()


def _judge(status: int, messages: list[str], what: str) -> None:
    words = " ".join(messages)
    aborted = next((line for line in messages if "called MPI_Abort" in line), None)
    if aborted is not None:
        raise SimulationError(f"{what}: {aborted.removeprefix('haloscope: ')}")
    if "Deadlock detected" in words:
        raise SimulationError(
            f"{what}: deadlock in the simulation: ranks wait for messages that no rank sends; if "
            "it relies on buffered sends, allow them with Simulation(eager=BYTES) in Python"
        )
    if status > 128 or status < 0:
        number = abs(status) - 128 if status > 128 else -status
        known = {entry.value: entry.name for entry in signal.Signals}
        name = known.get(number, f"signal {number}")
        reason = next((line for line in messages if "/CRITICAL]" in line), "")
        reason = reason.partition("/CRITICAL] ")[2][:200]
        raise SimulationError(f"{what}: ended by {name} in the simulation{f': {reason}' if reason else ''}")
    if status:
        raise SimulationError(f"{what}: ended with exit status {status} in the simulation")
