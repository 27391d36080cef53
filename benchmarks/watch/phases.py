"""Iterations that the recorder finds in programs that mark nothing, beside those that there are.

    phases.py [--miniamr PROGRAM] [--ranks 4]

The bundled applications are compiled without their markers; LAMMPS (Debian's lmp) runs if it is there,
miniAMR if it is named. A JSON object for each: what is known of the input, what most ranks found, and how
many ranks found that. The exit status is 1 if any is not right, but for those whose `known_limit` is true:
they are known to be counted too low (docs/explanation/phases.md).
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

from common import MPI_ENVIRONMENT

import haloscope
from haloscope.base.toolchain import toolchain
from support.repeating import BUNDLED, FRESH_LAMMPS, FRESH_MINIAMR, LAMMPS, MINIAMR, UNMARKED, lammps_deck

CHECKOUT = Path(__file__).resolve().parents[2]
COMMAND = str(Path(sys.executable).with_name("haloscope"))

# What it is, its command, ranks, iterations, and whether it is known to be counted wrong.
Case = tuple[str, list[str], int, int, bool]


def unmarked(name: str, directory: Path) -> Path:
    """Return the bundled application, compiled with markers that do nothing."""
    header, made = directory / "unmarked.hpp", directory / name
    header.write_text(UNMARKED)
    sources = sorted((CHECKOUT / "apps" / name).glob("*.cpp"))
    compiler = str(toolchain().compiler.with_name("mpicxx"))
    flags = ["-std=c++20", "-O1", "-include", str(header), f"-I{CHECKOUT / 'include'}"]
    subprocess.run([compiler, *flags, *map(str, sources), "-o", str(made)], check=True)
    return made


def cases(directory: Path, miniamr: str | None, ranks: int) -> Iterator[Case]:
    for name, options, iterations in BUNDLED:
        yield f"{name} {options}", [str(unmarked(name, directory)), *options.split()], 4, iterations, False
    lammps = shutil.which("lmp")
    decks = [*((*deck, False) for deck in LAMMPS.items()), *((*deck, True) for deck in FRESH_LAMMPS.items())]
    for number, (name, deck, limit) in enumerate(decks if lammps else ()):
        text = directory / f"in.{number}"
        text.write_text(lammps_deck(deck))
        command = [str(lammps), "-in", str(text), "-log", "none"]
        yield f"lmp, lists rebuilt {name}", command, deck.ranks or ranks, deck.steps, limit
    meshes = [*((*mesh, False) for mesh in MINIAMR), *((*mesh, True) for mesh in FRESH_MINIAMR)]
    for options, count, iterations, limit in meshes if miniamr else ():
        yield f"miniAMR {options}", [str(miniamr), *options.split()], count, iterations, limit


def found(command: list[str], ranks: int, directory: Path) -> Counter[tuple[int, ...]]:
    """Return the iterations of all phases of a rank, and how many ranks have these."""
    profile = directory / "phases.halo"
    launch = [str(toolchain().launcher), "-n", str(ranks)]
    subprocess.run(
        [COMMAND, "run", "--quiet", "-o", str(profile), "--", *launch, *command],
        env=MPI_ENVIRONMENT | {"OMPI_MCA_rmaps_base_oversubscribe": "1"},
        cwd=directory,
        stdout=subprocess.DEVNULL,
        check=True,
        timeout=600,
    )
    with haloscope.open(profile) as opened:
        rows = opened.table("phases").sort("rank", "phase").to_dicts()
    profile.unlink()
    return Counter(tuple(row["iterations"] for row in rows if row["rank"] == rank) for rank in range(ranks))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--miniamr", help="its program")
    parser.add_argument("--ranks", type=int, default=4, help="of LAMMPS")
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for case, command, ranks, iterations, limit in cases(directory, options.miniamr, options.ranks):
            counts = found(command, ranks, directory)
            told, agreeing = counts.most_common(1)[0]
            wrong += not limit and counts != {(iterations,): ranks}
            row = {"case": case, "ranks": ranks, "iterations": iterations, "found": told, "by": agreeing}
            print(json.dumps(row | {"known_limit": limit}), flush=True)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
