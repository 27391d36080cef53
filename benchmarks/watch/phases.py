"""Iterations that the recorder finds in programs without markers, compared with the true number.

    phases.py [--miniamr PROGRAM] [--ranks 4]
    phases.py --seeds N
    phases.py --cost PAIRS [--miniamr PROGRAM] [--hpcg PROGRAM]

The bundled applications are compiled without their markers. LAMMPS (Debian's lmp) runs if it is installed,
miniAMR with `--miniamr`. Prints a JSON object per program: the number by its input, the number that most
ranks found, and the number of these ranks. The exit status is 1 if a number is wrong. Cases with
`known_limit` are exempt, because their count is known to be wrong (docs/explanation/phases.md).

With --seeds, only LAMMPS runs, with N different velocities per input, so that different atoms change ranks.
It prints the number of runs in which all ranks found the steps.

With --cost, LAMMPS, miniAMR and HPCG run on two ranks, alternately with and without the search. It prints the
seconds from MPI_Init to the end of MPI_Finalize, and the ratio of each pair.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from common import MPI_ENVIRONMENT, emit, estimate, undisturbed

import haloscope
from haloscope.base.launcher import report_toolchain
from support.repeating import (
    BUNDLED,
    FRESH_MINIAMR,
    LAMMPS,
    LAMMPS_IN_A_ROW,
    MINIAMR,
    UNMARKED,
    Deck,
    lammps_deck,
)

CHECKOUT = Path(__file__).resolve().parents[2]
COMMAND = str(Path(sys.executable).with_name("haloscope"))

# Name, command, ranks, iterations, and whether the count is known to be wrong.
Case = tuple[str, list[str], int, int, bool]


def unmarked(name: str, directory: Path) -> Path:
    """Return the bundled application, compiled with markers that do nothing."""
    header, made = directory / "unmarked.hpp", directory / name
    header.write_text(UNMARKED)
    sources = sorted((CHECKOUT / "apps" / name).glob("*.cpp"))
    compiler = str(report_toolchain().compiler.with_name("mpicxx"))
    flags = ["-std=c++20", "-O1", "-include", str(header), f"-I{CHECKOUT / 'include'}"]
    subprocess.run([compiler, *flags, *map(str, sources), "-o", str(made)], check=True)
    return made


def cases(directory: Path, miniamr: str | None, ranks: int) -> Iterator[Case]:
    for name, options, iterations in BUNDLED:
        yield f"{name} {options}", [str(unmarked(name, directory)), *options.split()], 4, iterations, False
    lammps = shutil.which("lmp")
    decks = [*LAMMPS.items(), *LAMMPS_IN_A_ROW.items()]
    for number, (name, deck) in enumerate(decks if lammps else ()):
        text = directory / f"in.{number}"
        text.write_text(lammps_deck(deck))
        command = [str(lammps), "-in", str(text), "-log", "none"]
        yield f"lmp, lists rebuilt {name}", command, deck.ranks or ranks, deck.steps, False
    meshes = [*((*mesh, False) for mesh in MINIAMR), *((*mesh, True) for mesh in FRESH_MINIAMR)]
    for options, count, iterations, limit in meshes if miniamr else ():
        yield f"miniAMR {options}", [str(miniamr), *options.split()], count, iterations, limit


def record(command: list[str], ranks: int, directory: Path, *, searched: bool = True) -> Path:
    """Return the profile of a run, with or without the search for iterations."""
    profile = directory / "phases.halo"
    search = {"HALOSCOPE_PHASES": str(int(searched))}
    launch = [str(report_toolchain().launcher), "-n", str(ranks)]
    subprocess.run(
        [COMMAND, "run", "--quiet", "-o", str(profile), "--", *launch, *command],
        env=MPI_ENVIRONMENT | {"OMPI_MCA_rmaps_base_oversubscribe": "1"} | search,
        cwd=directory,
        stdout=subprocess.DEVNULL,
        check=True,
        timeout=600,
    )
    return profile


def found(command: list[str], ranks: int, directory: Path) -> Counter[tuple[int, ...]]:
    """Return the iterations of all phases of a rank, and the number of ranks with these."""
    profile = record(command, ranks, directory)
    with haloscope.open(profile) as opened:
        rows = opened.table("phases").sort("rank", "phase").to_dicts()
    profile.unlink()
    return Counter(tuple(row["iterations"] for row in rows if row["rank"] == rank) for rank in range(ranks))


def measure_seeds(seeds: int, ranks: int, directory: Path) -> None:
    text = directory / "in.seed"
    command = [str(shutil.which("lmp")), "-in", str(text), "-log", "none"]
    for name, deck in {**LAMMPS, **LAMMPS_IN_A_ROW}.items():
        right = 0
        for seed in range(seeds):
            text.write_text(lammps_deck(deck, 1_000_003 + 97 * seed))
            count = deck.ranks or ranks
            right += found(command, count, directory) == {(deck.steps,): count}
        print(json.dumps({"case": f"lmp, lists rebuilt {name}", "runs": seeds, "right": right}), flush=True)


def duration(command: list[str], directory: Path, *, searched: bool) -> float:
    """Return the seconds of a run on two ranks."""
    with haloscope.open(record(command, 2, directory, searched=searched)) as profile:
        return float(profile.info["duration"])


def measure_cost(pairs: int, directory: Path, miniamr: str | None, hpcg: str | None) -> None:
    text = directory / "in.cost"
    text.write_text(lammps_deck(Deck(1000, "every 20 delay 0 check no")))
    programs: dict[str, list[str | None]] = {
        "LAMMPS": [shutil.which("lmp"), "-in", str(text), "-log", "none"],
        "miniAMR": [miniamr, *MINIAMR[2][0].split()],
        "HPCG": [hpcg, "--nx=16", "--rt=1"],
    }
    for name, words in programs.items():
        command = [word for word in words if word is not None]
        if len(command) < len(words):
            continue
        command = [*undisturbed(), *command]
        sides: dict[bool, list[float]] = {True: [], False: []}
        for pair in range(pairs):
            for searched in (True, False) if pair % 2 else (False, True):
                sides[searched].append(duration(command, directory, searched=searched))
        emit(
            "phases-cost",
            name,
            ours=estimate(sides[True]).median,
            peer=estimate(sides[False]).median,
            peer_name="HALOSCOPE_PHASES=0",
            unit="s",
            ratio=estimate([bare / ours for ours, bare in zip(sides[True], sides[False], strict=True)]),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--miniamr", help="its program")
    parser.add_argument("--ranks", type=int, default=4, help="of LAMMPS")
    parser.add_argument("--seeds", type=int, metavar="N", help="run LAMMPS with N different velocities")
    parser.add_argument("--cost", type=int, metavar="PAIRS", help="measure the cost of the search instead")
    parser.add_argument("--hpcg", help="its program, with --cost")
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        if options.cost:
            measure_cost(options.cost, directory, options.miniamr, options.hpcg)
            return
        if options.seeds:
            measure_seeds(options.seeds, options.ranks, directory)
            return
        for case, command, ranks, iterations, limit in cases(directory, options.miniamr, options.ranks):
            counts = found(command, ranks, directory)
            most, agreeing = counts.most_common(1)[0]
            wrong += not limit and counts != {(iterations,): ranks}
            row = {"case": case, "ranks": ranks, "iterations": iterations, "found": most, "by": agreeing}
            print(json.dumps(row | {"known_limit": limit}), flush=True)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
