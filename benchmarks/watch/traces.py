"""Traces on disk: bytes per event of a halo exchange. `trace_structure.py` measures the structure's size.

An event is that of OTF2: an enter, a leave, a message sent or received, a collective's begin and its end. If
EZTrace is installed, it traces the same program. Rows have wall time, bytes, and the number of receives in
its trace. Wall time consists of a cost per run and a cost per event. To separate them, the program also runs
without a trace, and with eight times the rounds. Both costs are measured for `haloscope run`, and for the
environment of `haloscope env`.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import SHARED_CORES, emit, estimate

import haloscope
from haloscope.base.launcher import report_toolchain

HERE = Path(__file__).resolve().parent
OTF2 = 13.6  # bytes per event of OTF2's library
MOST_BYTES = 4.0
LONGER = 8
EVENTS_A_ROUND = 12  # per rank: begin and end of five calls, and a message in both directions


def launch(ranks: int, command: Sequence[str | Path]) -> list[str]:
    return [str(report_toolchain().launcher), "-n", str(ranks), *map(str, command)]


def run(command: Sequence[str], directory: Path, more: Mapping[str, str] | None = None) -> float:
    """Return the seconds of a command. The first run compiles Python's modules, as in an installation."""
    environment = SHARED_CORES | {
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(directory / "compiled"),
        **(more or {}),
    }
    begin = time.monotonic()
    subprocess.run(command, env=environment, cwd=directory, check=True, capture_output=True, timeout=900)
    return time.monotonic() - begin


def traced(directory: Path, ranks: int, command: Sequence[str | Path], *options: str) -> tuple[Path, float]:
    """Return the profile of a program with a trace, and its seconds."""
    output = directory / "traced.halo"
    words = [str(Path(sys.executable).with_name("haloscope")), "run", "--quiet", "-o", str(output)]
    return output, run([*words, *options, "--", *launch(ranks, command)], directory)


def by_env(directory: Path, command: Sequence[str | Path]) -> float:
    """Return the seconds of a program with a trace, by the environment of `haloscope env`."""
    launched = launch(2, command)
    variables = haloscope.env(launched, output=directory / "by-env.halo", trace=True)
    return run(launched, directory, variables)


def sizes(path: Path) -> dict[str, int]:
    """Return the bytes of each table of the trace."""
    with haloscope.open(path) as profile:
        return {
            name: sum(chunk.size for column in columns.values() for chunk in column.chunks)
            for name, columns in profile.file.tables.items()
            if name.startswith("trace_")
        }


def events(path: Path) -> int:
    with haloscope.open(path) as profile:
        trace = profile.trace()
    assert trace.dropped.is_empty(), trace.dropped
    pairs = len(trace.calls) + len(trace.regions) + len(trace.collectives)
    return 2 * pairs + len(trace.sends) + len(trace.receives)


def measure_bytes(directory: Path, program: Path, rounds: int) -> None:
    for option in ("--trace", "--trace-compact"):
        path, _ = traced(directory, 4, [program, str(rounds)], option)
        size = sum(sizes(path).values()) / events(path)
        emit(
            "trace-bytes",
            f"halo exchange, {option}",
            ours=size,
            peer=OTF2,
            peer_name="OTF2",
            unit="B/event",
            ratio=estimate([OTF2 / size]),
            target=OTF2 / MOST_BYTES,
        )


def measure_costs(directory: Path, program: Path, rounds: int, repeats: int) -> None:
    """Emit the cost per event and per run, in addition to the program's own time: ours and EZTrace's."""
    tool = shutil.which("eztrace")
    if tool is None:
        return
    ways: dict[str, list[list[float]]] = {"alone": [], "run": [], "env": [], "EZTrace": []}
    for _ in range(repeats):
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for count in (rounds, LONGER * rounds):
            words = [str(program), str(count)]
            seconds["alone"].append(run(launch(2, words), directory))
            seconds["run"].append(traced(directory, 2, words, "--trace")[1])
            seconds["env"].append(by_env(directory, words))
            shutil.rmtree(directory / "ez", ignore_errors=True)
            by_eztrace = [tool, "-t", "openmpi", "-o", str(directory / "ez"), *words]
            seconds["EZTrace"].append(run(launch(2, by_eztrace), directory))
        for way, both in seconds.items():
            ways[way].append(both)
    count = 2 * EVENTS_A_ROUND * (LONGER - 1) * rounds
    rise = {way: [(long - short) for short, long in both] for way, both in ways.items()}
    once = {
        way: [short - (long - short) / (LONGER - 1) for short, long in both] for way, both in ways.items()
    }
    costs = (("an event", rise, "ns", 1e9 / count), ("a run", once, "s", 1.0))
    for (case, of, unit, scale), watched in product(costs, ("run", "env")):
        ours, theirs = (
            [scale * (a - b) for a, b in zip(of[way], of["alone"], strict=True)]
            for way in (watched, "EZTrace")
        )
        emit(
            "trace-eztrace",
            f"cost of {case}, haloscope {watched}",
            ours=estimate(ours).median,
            peer=estimate(theirs).median,
            peer_name="EZTrace",
            unit=unit,
            ratio=estimate([b / a for a, b in zip(ours, theirs, strict=True)]),
            target=1.0,
        )


def measure_eztrace(directory: Path, program: Path, rounds: int, repeats: int) -> None:
    tool, printer = shutil.which("eztrace"), shutil.which("otf2-print")
    if tool is None or printer is None:
        print("no EZTrace here: apt-get install eztrace libotf2-dev", file=sys.stderr)
        return
    ours, theirs = [], []
    for _ in range(repeats):
        path, seconds = traced(directory, 2, [program, str(rounds)], "--trace")
        ours.append(seconds)
        shutil.rmtree(directory / "ez", ignore_errors=True)
        traced_by = [tool, "-t", "openmpi", "-o", str(directory / "ez"), str(program), str(rounds)]
        theirs.append(run(launch(2, traced_by), directory))
    size, other = (
        path.stat().st_size,
        sum(f.stat().st_size for f in (directory / "ez").rglob("*") if f.is_file()),
    )
    (archive,) = (directory / "ez").rglob("*.otf2")
    printed = subprocess.run([printer, str(archive)], capture_output=True, text=True, check=False).stdout
    received = sum(line.startswith(("MPI_RECV ", "MPI_IRECV ")) for line in printed.splitlines())
    ratio = estimate([a / b for a, b in zip(theirs, ours, strict=True)])
    medians = [estimate(ours).median, estimate(theirs).median]
    emit(
        "trace-eztrace",
        f"time, {rounds} rounds",
        ours=medians[0],
        peer=medians[1],
        peer_name="EZTrace",
        unit="s",
        ratio=ratio,
        target=1.0,
    )
    emit(
        "trace-eztrace",
        f"bytes, {rounds} rounds",
        ours=float(size),
        peer=float(other),
        peer_name="EZTrace",
        unit="B",
        ratio=estimate([other / size]),
        target=1.0,
    )
    emit(
        "trace-eztrace",
        f"receives of {2 * rounds} that are there",
        ours=2.0 * rounds,
        peer=float(received),
        peer_name="EZTrace",
        unit="messages",
        ratio=estimate([1.0]),
        target=None,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50_000, help="of the halo exchange")
    parser.add_argument("--repeats", type=int, default=5, help="of the comparison with EZTrace")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        program = directory / "traces"
        compiler = str(report_toolchain().compiler.with_name("mpicc"))
        subprocess.run([compiler, "-O2", str(HERE / "traces.c"), "-o", str(program)], check=True)
        measure_bytes(directory, program, options.rounds)
        measure_eztrace(directory, program, options.rounds, options.repeats)
        measure_costs(directory, program, options.rounds, options.repeats)


if __name__ == "__main__":
    main()
