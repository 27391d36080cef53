"""The bundled applications, and what an independent count says that their ranks send."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from uuid import uuid4

from haloscope.explain import Profile
from support.invariants import check
from support.mpi import CHECKOUT, Mpi
from support.processes import run_program
from support.programs import Compiler

_COUNTER = CHECKOUT / "tests" / "watch" / "oracle" / "counter.c"


@dataclass(frozen=True)
class Application:
    """One bundled application, compiled with one MPI."""

    mpi: Mpi
    program: Path

    @classmethod
    def build(cls, compiler: Compiler, mpi: Mpi, name: str, options: Sequence[str] = ()) -> Application:
        """Compiles it as `haloscope where` does; `options` are more words, such as libraries."""
        folder = CHECKOUT / "apps" / name
        others = sorted(str(path) for path in folder.glob("*.cpp") if path.name != "main.cpp")
        # Without debug information, and not for speed: the compiler takes longer than most runs.
        flags = ["-O1", "-g0", "-std=c++20", *others, *options]
        return cls(mpi, compiler(mpi, folder / "main.cpp", flags))

    def output(self, ranks: int, *arguments: str) -> dict[str, list[list[str]]]:
        """Its result: the words of each line, by the line's first word."""
        done = self.mpi.run(ranks, [self.program, *arguments])
        lines: dict[str, list[list[str]]] = {}
        for line in done.stdout.splitlines():
            first, *rest = line.split()
            lines.setdefault(first, []).append(rest)
        return lines

    def complaint(self, *arguments: str, ranks: int = 1) -> str:
        """Its answer to a wrong command line, which must be one line and exit status 2."""
        if ranks == 1:  # without a launcher, which takes its time and adds lines of its own
            command, environment = [str(self.program), *arguments], self.mpi.environment()
            done = run_program(command, env=environment, status=None)
            lines = done.stderr.splitlines()
            assert len(lines) == 1
        else:  # to a file: a launcher ends such a job, maybe before it has read all output
            with NamedTemporaryFile("r") as said:
                apart = ["sh", "-c", f'exec "$0" "$@" 2>>{said.name}']
                done = self.mpi.run(ranks, [*apart, self.program, *arguments], status=None)
                lines = said.read().splitlines()
        assert done.returncode == 2
        names = ("amg: ", "amr: ", "cg: ", "hydro: ", "sweep: ")
        (line,) = [line for line in lines if line.startswith(names)]
        return line

    def watched(self, haloscope: Path, profile: Path, ranks: int, *arguments: str) -> Profile:
        """What the recorder keeps of a run."""
        watch = [str(haloscope), "run", "--quiet", "-o", str(profile), "--"]
        run_program(
            [*watch, *self.mpi.launch(ranks), str(self.program), *arguments], env=self.mpi.environment()
        )
        check(profile)
        return Profile(profile)


@dataclass(frozen=True)
class Counts:
    """One rank's traffic, as tests/watch/oracle/counter.c saw it."""

    rank: int
    sends: int
    bytes: int
    sizes: dict[int, int] = field(default_factory=dict)
    partners: dict[int, tuple[int, int]] = field(default_factory=dict)
    collectives: dict[str, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def parse(cls, line: str) -> Counts:
        """From a line that the counter wrote."""
        row = json.loads(line)
        return cls(
            row["rank"],
            row["sends"],
            row["bytes"],
            {int(size): messages for size, messages in row["sizes"].items()},
            {int(rank): (pair[0], pair[1]) for rank, pair in row["partners"].items()},
            {name: (pair[0], pair[1]) for name, pair in row["collectives"].items()},
        )


def counted(
    compiler: Compiler, mpi: Mpi, ranks: int, command: Sequence[str | Path], directory: Path
) -> list[Counts]:
    """Runs a program in a directory, under the counter; one entry a rank."""
    library = compiler(mpi, _COUNTER, ["-shared", "-fPIC"])
    counts = directory / f"counts-{uuid4().hex}.json"
    variables = [f"LD_PRELOAD={library}", f"COUNTER_FILE={counts}"]
    mpi.run(ranks, ["env", *variables, *command], cwd=directory)
    rows = [Counts.parse(line) for line in counts.read_text().splitlines()]
    assert sorted(row.rank for row in rows) == list(range(ranks))
    return sorted(rows, key=lambda row: row.rank)
