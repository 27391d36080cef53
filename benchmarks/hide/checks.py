"""Runs of the library itself with the real clock or SimGrid's, to validate the program `ranks`.

matvecs.c runs a chain of ranks. Under SMPI the program and the library use SimGrid's clock and the latencies
that `ranks` drew. Then both must have the same time for each MatVec.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import cells
import numpy as np
from numpy.typing import NDArray

from haloscope.base.cache import build_once
from haloscope.base.launcher import report_toolchain

Floats = NDArray[np.float64]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OVERLAP = ROOT / "src" / "hide" / "overlap"
COLUMNS = ("t_in", "t_out", "input_wait", "output_wait", "alpha")
# Only work and late messages take time.
SETTINGS = {
    "smpi/simulate-computation": "no",
    "smpi/host-speed": "1Gf",
    "smpi/test": 0,
    "smpi/wtime": 0,
    "smpi/init": 0,
    "smpi/os": "0:0:0",
    "smpi/or": "0:0:0",
    "smpi/ois": "0:0:0",
    "network/model": "CM02",
    "network/latency-factor": 1,
    "network/bandwidth-factor": 1,
    "network/weight-S": 0,
    "network/TCP-gamma": 0,
    "network/crosstraffic": "no",
    "smpi/send-is-detached-thresh": 65536,
    "smpi/async-small-thresh": 0,
}
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="all" routing="Full">
<cluster id="c" prefix="h" suffix="" radical="0-{last}" speed="1Gf" bw="1e18Bps" lat="0us"/>
</zone></platform>
"""


def has_simgrid() -> bool:
    """Whether SMPI's compilers are installed."""
    return all(shutil.which(name) for name in ("smpicc", "smpicxx", "smpirun"))


def build_simulated() -> Path:
    """Build matvecs.c and the library for SMPI, with the waiting functions of matvecs.c."""
    sources = sorted(OVERLAP.glob("*.cpp"))
    program = HERE / "matvecs.c"
    files = [*sources, *OVERLAP.glob("*.hpp"), program, ROOT / "include/haloscope/overlap.h"]
    key = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]

    def compile_into(directory: Path) -> None:
        flags = ["-O2", f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}"]
        late = ["-DMPI_Waitall=late_Waitall", "-DMPI_Testall=late_Testall"]
        objects = []
        for source in sources:
            objects.append(str(directory / f"{source.stem}.o"))
            words = ["smpicxx", "-std=c++20", *flags, *late, "-c", str(source), "-o", objects[-1]]
            subprocess.run(words, check=True)
        subprocess.run(
            [
                "smpicc",
                "-DSMPI",
                *flags,
                str(program),
                *objects,
                "-o",
                str(directory / "matvecs"),
                "-lstdc++",
                "-lm",
            ],
            check=True,
        )

    return build_once(f"matvecs-smpi-{key}", compile_into) / "matvecs"


def simulated(latencies: Floats, words: Mapping[str, float]) -> dict[str, Floats]:
    """Return the times of a chain of ranks by SimGrid's clock: (ranks, MatVecs) for each of COLUMNS."""
    ranks, matvecs = latencies.shape
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "platform.xml").write_text(PLATFORM.format(last=ranks - 1), "ascii")
        (directory / "hosts").write_text("".join(f"h{i}\n" for i in range(ranks)), "ascii")
        np.ascontiguousarray(latencies, "<f8").tofile(directory / "latencies")
        launch = [
            "smpirun",
            "-np",
            str(ranks),
            "-platform",
            str(directory / "platform.xml"),
            "-hostfile",
            str(directory / "hosts"),
            "--log=root.thresh:critical",
        ]
        launch += [f"--cfg={key}:{value}" for key, value in SETTINGS.items()]
        launch += [str(build_simulated()), str(directory / "out")]
        launch += [f"latencies={directory / 'latencies'}"]
        return _run(launch, directory / "out", dict(words) | {"matvecs": matvecs}, ranks)


def measured(words: Mapping[str, float], matvecs: int, before: Sequence[str] = ()) -> dict[str, Floats]:
    """Return the times of two ranks by the real clock; `before` is a prefix of the launch command."""
    with tempfile.TemporaryDirectory() as name:
        output = Path(name) / "out"
        launch = [*before, str(report_toolchain().launcher), "-n", "2", str(cells.build("matvecs", HERE))]
        return _run([*launch, str(output)], output, dict(words) | {"matvecs": matvecs}, 2)


def _run(launch: Sequence[str], output: Path, words: Mapping[str, float], ranks: int) -> dict[str, Floats]:
    given = [f"{name}={value:.12g}" for name, value in words.items()]
    subprocess.run([*launch, *given], check=True, env=cells.ENVIRONMENT)
    rows = np.fromfile(output, "<f8").reshape(ranks, -1, len(COLUMNS))
    return {name: rows[..., i] for i, name in enumerate(COLUMNS)}
