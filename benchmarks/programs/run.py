"""Run programs that Debian packages, bare and profiled, and compare their output and their calls of MPI.

    run.py [NAME...] [-o DIRECTORY]    runs all programs of programs.toml, or these

Install the packages first, best in a separate root directory. A program that is not installed is not run.

Each program runs bare, bare with an independent counter of MPI calls (counter.c), and under `haloscope run`
with the counter. The exit status and the output (numbers masked if they differ) must be as without Haloscope,
and the profile's calls of each MPI function must be those of the counter in the same run. DIRECTORY has the
outputs, the profile and all statements of each program. Prints a JSON object per program: pages.py stores
them. The exit status is 1 if something differs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import polars as pl
from common import MPI_ENVIRONMENT
from counting import UNCOUNTED, Library, counted, counter

import haloscope
from haloscope.explain.findings import MachineMeasurements, describe_silence, finding_lines, findings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
COMMAND = str(Path(sys.executable).with_name("haloscope"))
LIMIT = 300.0  # seconds of a run
LAUNCHERS = {"openmpi": "mpiexec.openmpi", "mpich": "mpiexec.mpich"}
NUMBER = re.compile(r"0x[0-9a-f]+|[-+]?(\d+\.?\d*|\.\d+)([eEdD][-+]?\d+)?|\b(nan|inf)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Program:
    """An entry of programs.toml."""

    name: str
    package: str
    command: str
    ranks: int = 2
    mpi: str = "openmpi"
    prepare: str = ""
    files: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    # The iterations by the input (several if the program has several loops), or a regular expression for
    # the output: the sum of its numbers, or of its matches.
    iterations: list[int] = field(default_factory=list)
    printed: str = ""
    ignore: str = "(?!)"  # a regular expression for lines of output that depend on time


@dataclass(frozen=True)
class Run:
    status: int
    seconds: float
    lines: Counter[str]


def execute(program: Program, directory: Path, name: str, before: Sequence[str], env: dict[str, str]) -> Run:
    """Run a program in a new copy of its input; its output is stored below `directory`."""
    work = directory / f"{name}.work"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(directory / "input", work, symlinks=True)
    # Open MPI yields when it waits only if there are more ranks than cores.
    more = program.mpi == "openmpi" and program.ranks > (os.cpu_count() or 1)
    launch = [LAUNCHERS[program.mpi], *(["--oversubscribe"] if more else []), "-n", str(program.ranks)]
    command = [*before, *launch, *shlex.split(program.command)]
    environment = MPI_ENVIRONMENT | program.env | env
    out, err = directory / f"{name}.out", directory / f"{name}.err"
    began = time.monotonic()
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(
            command, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr
        )
        try:
            status = process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            process.terminate()
            status = process.wait()
    text = out.read_text(encoding="utf-8", errors="replace").replace(f"/{name}.work", "")
    lines = [line for line in text.splitlines() if not re.search(program.ignore, line)]
    return Run(status, time.monotonic() - began, Counter(lines))


def masked(lines: Counter[str]) -> Counter[str]:
    """Return lines with `#` for each number, and without differences in space."""
    found: Counter[str] = Counter()
    for line, times in lines.items():
        found[" ".join(NUMBER.sub("#", line).split())] += times
    return found


def compare_output(bare: Run, again: Run, profiled: Run) -> str:
    if bare.lines == profiled.lines:
        return "same"
    if masked(bare.lines) == masked(profiled.lines):
        return "same but for numbers"
    return "varies bare" if masked(bare.lines) != masked(again.lines) else "differs"


def recorded(profile: Path) -> Counter[str]:
    calls: Counter[str] = Counter()
    with haloscope.open(profile) as opened:
        for row in opened.table("calls", region="<program>").iter_rows(named=True):
            calls[row["call"]] += row["calls"]
    return calls


def statements(profile: Path, summary: str) -> str:
    """Return what Haloscope states about a run: its summary, findings, and the tables behind them."""
    columns = ["rank", "time", "mpi_time", "wait_time", "poll_time", "compute_time"]
    with haloscope.open(profile) as opened:
        found, _ = opened.data.guard_trace(lambda: findings(opened, MachineMeasurements()))
        lines = finding_lines(found, profile, silence=describe_silence(opened))
        ranks = opened.table("ranks", region="<program>").select(columns)
        tables = [opened.table("phases"), ranks, opened.table("pop", region="<program>")]
    with pl.Config(tbl_rows=20, tbl_cols=30, tbl_width_chars=180, tbl_formatting="ASCII_MARKDOWN"):
        return "\n\n".join([summary, "\n".join(lines), *map(str, tables)])


def known_iterations(program: Program, run: Run) -> list[int]:
    """Return the numbers of iterations that the program has by its input or output."""
    if not program.printed:
        return program.iterations
    matches = [
        (match, times) for line, times in run.lines.items() for match in re.findall(program.printed, line)
    ]
    return [sum((int(match) if match.isdigit() else 1) * times for match, times in matches)]


def measure(program: Program, directory: Path, library: Library) -> dict[str, object]:
    directory.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(directory / "input", ignore_errors=True)
    (directory / "input").mkdir()
    for name, text in program.files.items():
        (directory / "input" / name).write_text(text, encoding="utf-8")
    if program.prepare:
        subprocess.run(
            ["sh", "-ec", program.prepare],
            cwd=directory / "input",
            env=MPI_ENVIRONMENT | {"INPUTS": str(HERE / "inputs.py")},
            check=True,
            stdout=subprocess.DEVNULL,
        )
    bare = execute(program, directory, "bare", [], {})
    counts = {}
    for side in ("counted", "profiled"):
        counts[side] = directory / f"{side}.counts"
        shutil.rmtree(counts[side], ignore_errors=True)
        counts[side].mkdir()
    preloaded = {"LD_PRELOAD": str(library.path)}
    again = execute(
        program, directory, "counted", [], preloaded | {"COUNTER_DIRECTORY": str(counts["counted"])}
    )
    profile = directory / "profile.halo"
    profile.unlink(missing_ok=True)
    profiled = execute(
        program,
        directory,
        "profiled",
        [COMMAND, "run", "-o", str(profile), "--"],
        preloaded | {"COUNTER_DIRECTORY": str(counts["profiled"])},
    )
    expected = counted(counts["profiled"], library.functions)
    row: dict[str, object] = {
        "program": program.name,
        "package": program.package,
        "mpi": program.mpi,
        "ranks": program.ranks,
        "status": [bare.status, profiled.status],
        "seconds": [round(bare.seconds, 1), round(profiled.seconds, 1)],
        "output": compare_output(bare, again, profiled),
        "functions": len(expected),
        "calls": sum(expected.values()),
    }
    if not profile.exists():
        return row | {"differ": None, "as_bare": None}
    found = recorded(profile)
    names = sorted(
        expected.keys()
        | {name for name in found if not UNCOUNTED.fullmatch(name) and name.startswith("MPI_")}
    )
    differ = {name: [expected[name], found[name]] for name in names if expected[name] != found[name]}
    bare_counts = counted(counts["counted"], library.functions)
    as_bare = {
        name: [bare_counts[name], expected[name]] for name in names if bare_counts[name] != expected[name]
    }
    errors = (directory / "profiled.err").read_text(encoding="utf-8", errors="replace")
    at = errors.rfind(" ranks on ")
    summary = errors[errors.rfind("\n", 0, at) + 1 :] if at >= 0 else errors
    (directory / "statements.txt").write_text(statements(profile, summary), encoding="utf-8")
    found_phases = re.findall(r"^phase \d+: ([\d to]+) iterations", summary, re.MULTILINE)
    return row | {
        "differ": differ,
        "as_bare": as_bare,
        "iterations": known_iterations(program, profiled),
        "phases": found_phases,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("-o", "--output", type=Path, default=Path("programs"), metavar="DIRECTORY")
    options = parser.parse_args()
    entries = tomllib.loads((HERE / "programs.toml").read_text(encoding="utf-8"))["program"]
    programs = [Program(**entry) for entry in entries]
    if unknown := set(options.names) - {program.name for program in programs}:
        raise SystemExit(f"{', '.join(sorted(unknown))}: not in programs.toml")
    output = options.output.resolve()
    libraries: dict[str, Library] = {}
    failed = False
    for program in programs:
        if options.names and program.name not in options.names:
            continue
        words = shlex.split(program.command)
        if not shutil.which(LAUNCHERS[program.mpi]) or (not shutil.which(words[0]) and not program.prepare):
            print(f"{program.name}: not run: apt-get install {program.package}", file=sys.stderr)
            continue
        if program.mpi not in libraries:
            libraries[program.mpi] = counter(program.mpi, output)
        try:
            row = measure(program, output / program.name, libraries[program.mpi])
        except subprocess.CalledProcessError as error:
            print(f"{program.name}: not run: {error}; apt-get install {program.package}", file=sys.stderr)
            continue
        status = row["status"]
        assert isinstance(status, list)
        failed |= row["differ"] != {} or row["output"] == "differs" or status[0] != status[1]
        print(json.dumps(row), flush=True)
    raise SystemExit(int(failed))


if __name__ == "__main__":
    main()
