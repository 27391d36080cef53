"""The bundled application hydro: its results compared with Laghos's reference values, and its speed.

`hydro-norm` is the norm of energy's coefficients at the end of two runs of Laghos's README; `peer` is the
README's value. `hydro-speed` is the speed of one rank in velocity solves, in billions of operations per
second. Only mass products count as operations, 1840 per zone at orders 2 and 1. `peer` is the speed of
NumPy's matrix product on a core. `--picture FILE` draws the blast and Sedov's solution instead.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from blast_picture import figure
from common import MPI_ENVIRONMENT, Estimate, emit, estimate
from sedov import Blast

from haloscope.base.building import build_application

# Operations of the mass product per zone at orders 2 and 1: docs/reference/hydro.md.
OPERATIONS = 1840
# From Laghos's README: flags, steps, and |e|.
REFERENCES = {
    "vortex, -p 0 -rs 1 -tf 0.75 -s 4": (1041, 3.3909635545e03),
    "blast, -p 1 -rs 2 -tf 0.6 -E0 2 -s 4": (560, 1.3408616722e02),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--picture", type=Path, help="only draw the blast to this file")
    arguments = parser.parse_args()
    program = build_application("hydro")
    if arguments.picture is not None:
        arguments.picture.write_text(picture(program), encoding="utf-8")
        return
    speed(program, arguments.rounds)
    for case, (steps, norm) in REFERENCES.items():
        reference(program, case, steps, norm)


def lines(program: Path, flags: str) -> dict[str, str]:
    """Run one rank without a launcher, and return its output by the first word of each line."""
    done = subprocess.run(
        [str(program), *flags.split()], env=MPI_ENVIRONMENT, check=True, capture_output=True, text=True
    )
    pairs = (line.split(maxsplit=1) for line in done.stdout.splitlines())
    return {words[0]: words[-1] for words in pairs}


def numbers(text: str) -> list[float]:
    return [float(word) for word in re.findall(r"[-+]?\d[\d.]*(?:e[-+]?\d+)?", text)]


def reference(program: Path, case: str, steps: int, norm: float) -> None:
    """Print a row; a run with a different number of steps is an error."""
    found = lines(program, case.split(", ")[1])
    if (taken := int(numbers(found["steps"])[0])) != steps:
        sys.exit(f"{case}: {taken} steps, Laghos takes {steps}")
    ours = numbers(found["norm"])[0]
    ratio = ours / norm
    same = Estimate(ratio, ratio, ratio)
    emit("hydro-norm", case, ours=ours, peer=norm, peer_name="Laghos's README", unit="norm", ratio=same)


def speed(program: Path, rounds: int) -> None:
    """Print the speeds of both sides, which alternate."""
    ours, peer = [], []
    for _ in range(rounds):
        found = lines(program, "-rs 2 -ms 3")
        zones, iterations = 8**3, numbers(found["iterations"])[0]
        ours.append(1e-9 * OPERATIONS * zones * iterations / numbers(found["velocity"])[0])
        peer.append(matrix_product())
    ratio = estimate(np.divide(ours, peer))
    emit(
        "hydro-speed",
        "velocity solves, orders 2 and 1, 512 zones",
        ours=float(np.median(ours)),
        peer=float(np.median(peer)),
        peer_name="NumPy's product of matrices, one core",
        unit="GFlop/s",
        ratio=ratio,
    )


def matrix_product(n: int = 1000) -> float:
    """Return GFlop/s of one core, in a new process, because NumPy reads the number of threads when loaded."""
    code = (
        "import numpy as np, time; "
        f"a = np.ones(({n}, {n})); a @ a; start = time.perf_counter(); a @ a; "
        "print(time.perf_counter() - start)"
    )
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=os.environ | threads, check=True, capture_output=True, text=True)
    return 2e-9 * n**3 / float(done.stdout)


def picture(program: Path) -> str:
    """Return the picture of the blast on 8³ zones at time 0.6."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "points.csv"
        lines(program, f"-p 1 -rs 2 -tf 0.6 -points {file}")
        return drawn(file)


def drawn(file: Path) -> str:
    """Return the picture of a file that `-points` has written."""
    with file.open() as text:
        rows = list(csv.DictReader(text))
    places = np.array([[float(row[axis]) for axis in "xyz"] for row in rows])
    densities = np.array([float(row["density"]) for row in rows])
    return figure(np.linalg.norm(places, axis=1), densities, Blast(1, 0.6))


if __name__ == "__main__":
    main()
