"""Runs smpirun: the files that it needs, its options, and what its end means."""

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from haloscope.base.errors import SimulationError, UsageError
from haloscope.base.files import copy_whole
from haloscope.base.signals import handle_signal
from haloscope.predict.simulate.description import Change, host_names, platform_xml
from haloscope.predict.simulate.platform import Platform
from haloscope.predict.simulate.simgrid import SimulationBuild, build_simulation, smpirun

_NOISE = ("Execution failed with code", "Segmentation fault", "Aborted", "Backtrace (", "  ->  ")
_ABORT = re.compile(r"haloscope: rank \d+ called MPI_Abort, code")
_STACK = 1024  # KiB a rank; what is not touched takes no memory


@dataclass(frozen=True)
class SimulationOptions:
    """How to simulate, whatever it is."""

    platform: Platform
    ranks: int
    selector: str = "openmpi"
    algorithms: Mapping[str, str] = field(default_factory=dict)
    change: Change = field(default_factory=Change)
    compute: float = 0
    """Seconds that simulated cores take for a second of computing here; 0: no time."""
    eager: int = 0
    """Messages under so many bytes do not wait for their receiver."""
    time_limit: float | None = None
    privatize: bool = True
    series: tuple[str, ...] = ()
    """Regions whose instances are all kept, by name or path."""
    slice: float | None = None
    """Seconds of simulated time of a slice in the history; 0: none; None: the recorder's default."""


_SELECTORS = {
    "openmpi": "ompi",
    "mpich": "mpich",
    "mvapich2": "mvapich2",
    "intelmpi": "impi",
    "smpi": "default",
}


def scratch() -> tempfile.TemporaryDirectory[str]:
    """Return a directory for what smpirun reads."""
    return tempfile.TemporaryDirectory(prefix="haloscope-simulate-", dir=_temporary())


def _temporary() -> str:
    """Return where temporary files go: smpirun takes names apart where they have spaces."""
    usual = tempfile.gettempdir()
    return "/tmp" if " " in usual else usual


def settings(options: SimulationOptions) -> list[str]:
    """SimGrid's options. Its factors for latency and bandwidth are off: a platform means itself."""
    if options.selector not in _SELECTORS:
        known = ", ".join(_SELECTORS)
        raise UsageError(f"no collectives of {options.selector!r} are known; there are {known}")
    values = {
        "smpi/lat-factor": "0:1",
        "smpi/bw-factor": "0:1",
        "network/weight-S": "0",
        "network/TCP-gamma": "0",
        "surf/precision": "1e-12",
        "smpi/wtime": "1e-9",
        "smpi/test": "1e-7",
        # Else each test that finds nothing takes longer than the last one of any rank, those within
        # MPI_Waitsome, too: quicker to simulate, and waits come out many times too long.
        "smpi/grow-injected-times": "no",
        "smpi/iprobe": "1e-7",
        "contexts/stack-size": str(_STACK),
        "smpi/send-is-detached-thresh": str(options.eager),
        "smpi/simulate-computation": "yes" if options.compute else "no",
        "smpi/host-speed": f"{options.compute * 1e9:.6g}f" if options.compute else "1Gf",
        "smpi/coll-selector": _SELECTORS[options.selector],
        **{f"smpi/{name}": value for name, value in options.algorithms.items()},
    }
    return [f"--cfg={name}:{value}" for name, value in values.items()]


def write_platform(options: SimulationOptions, directory: Path) -> tuple[Path, Path]:
    """SimGrid's description of the platform, and its list of hosts, a line a rank."""
    hosts = host_names(options.platform, options.ranks)
    platform, places = directory / "platform.xml", directory / "hosts"
    text = platform_xml(options.platform, options.ranks, options.change)
    platform.write_text(text, encoding="utf-8")
    places.write_text("".join(f"{name}\n" for name in hosts), encoding="ascii")
    return platform, places


def command(options: SimulationOptions, directory: Path, *more: str) -> list[str]:
    """The words of smpirun before its program."""
    platform, hosts = write_platform(options, directory)
    words = [str(smpirun()), "-np", str(options.ranks)]
    words += ["-platform", str(platform), "-hostfile", str(hosts)]
    if not options.privatize:
        words.append("-no-privatize")
    return [*words, *more, "--log=root.thresh:critical", *settings(options)]


def run_simulation(
    options: SimulationOptions,
    output: Path,
    about: Mapping[str, str | float],
    program: Sequence[str] = (),
    traces: Path | None = None,
) -> None:
    """Simulate a program, or SimGrid's list of traces, and write its profile to `output`.

    `about` is added to the profile's `info`. Raises `SimulationError`.
    """
    simulation = build_simulation()
    with scratch() as name:
        directory = Path(name)
        profile = directory / "simulated.halo"
        if traces is None:
            wrapper = _wrapper(directory, simulation, program[1:])
            words = [*command(options, directory, "-wrapper", str(wrapper)), program[0]]
        else:
            words = command(options, directory, "-replay", str(traces))
            words.append(str(simulation.replayer))
        environment = {
            **os.environ,
            "TMPDIR": _temporary(),
            "HALOSCOPE_OUTPUT": str(profile).replace("%", "%%"),
            "HALOSCOPE_ABOUT": _lines(about),
        }
        if options.series:
            environment["HALOSCOPE_SERIES"] = "\n".join(options.series)
        if options.slice is not None:
            environment["HALOSCOPE_SLICE"] = str(options.slice)
        what = program[0] if program else "the trace"
        _run(words, environment, what, options)
        if not profile.exists():
            raise SimulationError(f"{what}: did not come to MPI_Finalize on all ranks")
        copy_whole(profile, output, "profile")


def _lines(about: Mapping[str, str | float]) -> str:
    """A line for each, as the recorder for simulations reads them."""
    texts = {name: value.replace("\n", " ") for name, value in about.items() if isinstance(value, str)}
    numbers = {f"{name}:": f"{value:.17g}" for name, value in about.items() if not isinstance(value, str)}
    return "".join(f"{name}={value}\n" for name, value in (texts | numbers).items())


def _wrapper(directory: Path, simulation: SimulationBuild, arguments: Sequence[str]) -> Path:
    """What puts the recorder into SMPI's process, and not into smpirun, which is a script.

    It has the program's arguments, too, which smpirun would take apart at spaces; so would the linker the
    names of libraries.
    """
    script, links = directory / "preload", (directory / "recorder.so", directory / "before.so")
    for link, library in zip(links, (simulation.recorder, simulation.before_smpi), strict=True):
        link.symlink_to(library)
    preload = "LD_PRELOAD=" + ":".join(map(str, links))
    script.write_text(f'#!/bin/sh\n{preload} exec "$@" {shlex.join(arguments)}\n', encoding="utf-8")
    script.chmod(0o700)
    return script


def _run(words: list[str], environment: Mapping[str, str], what: str, options: SimulationOptions) -> None:
    child = subprocess.Popen(
        words,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    _allow_files(child.pid)
    said: list[str] = []
    ends = ((child.stdout, sys.stdout), (child.stderr, sys.stderr))
    readers = [threading.Thread(target=_forward, args=(pipe, to, said), daemon=True) for pipe, to in ends]
    for reader in readers:
        reader.start()
    try:
        status = _waited(child, options.time_limit)
    except subprocess.TimeoutExpired:
        raise SimulationError(
            f"{what}: simulating {options.ranks} ranks took more than {options.time_limit:g} s; "
            "allow more with HALOSCOPE_TIME_LIMIT, or simulate fewer iterations"
        ) from None
    finally:
        _end(child)
        for reader in readers:
            reader.join(5)
    _judge(status, said, what)


def _allow_files(process: int) -> None:
    """SimGrid has the trace of each rank open: let it have as many files as this user may have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError):  # it may be over
        resource.prlimit(process, resource.RLIMIT_NOFILE, (most, most))


def _waited(child: subprocess.Popen[bytes], limit: float | None) -> int:
    """Return its exit status. SIGTERM ends the simulation, too, as Ctrl-C does.

    It waits in short turns: a signal may have come to one of the readers.
    """
    deadline = time.monotonic() + (float("inf") if limit is None else limit)
    with handle_signal(signal.SIGTERM, _leave):
        while True:
            left = deadline - time.monotonic()
            try:
                return child.wait(max(0.0, min(0.5, left)))
            except subprocess.TimeoutExpired:
                if left <= 0:
                    raise


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Nothing of a simulation outlives this process, however it is interrupted."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _forward(pipe: IO[bytes] | None, to: IO[str], said: list[str]) -> None:
    """The program's own words go on to the terminal; SimGrid's and smpirun's are kept."""
    assert pipe is not None
    with pipe, contextlib.suppress(OSError):  # the reader of our output may be gone
        for raw in pipe:
            line = raw.decode("utf-8", "replace")
            if "/CRITICAL]" in line or line.startswith(_NOISE) or "--cfg=smpi/" in line or _ABORT.match(line):
                said.append(line.strip())
            elif line.strip() or not said:
                to.write(line)
                to.flush()


def _judge(status: int, said: list[str], what: str) -> None:
    words = " ".join(said)
    aborted = next((line for line in said if "called MPI_Abort" in line), None)
    if aborted is not None:
        raise SimulationError(f"{what}: {aborted.removeprefix('haloscope: ')}")
    if "Deadlock detected" in words:
        raise SimulationError(
            f"{what}: deadlock in the simulation: ranks wait for messages that nobody sends; if "
            "it relies on buffered sends, allow them with Simulation(eager=BYTES) in Python"
        )
    if status > 128 or status < 0:
        number = abs(status) - 128 if status > 128 else -status
        known = {entry.value: entry.name for entry in signal.Signals}
        name = known.get(number, f"signal {number}")
        reason = next((line for line in said if "/CRITICAL]" in line), "")
        reason = reason.partition("/CRITICAL] ")[2][:200]
        raise SimulationError(f"{what}: died of {name} in the simulation{_append_reason(reason)}")
    if status:
        raise SimulationError(f"{what}: left the simulation with exit status {status}")


def _append_reason(reason: str) -> str:
    return f": {reason}" if reason else ""
