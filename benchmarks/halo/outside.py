"""Programs that are built outside of the repository, alternately with and without the shm library.

They run on two ranks, and on two emulated nodes of two ranks each. The share of their time that they copy
within the node is also printed: it is the upper bound of the gain.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from common import MPI_ENVIRONMENT, emit, estimate
from nodes import on_nodes
from programs import Floats, Library, exchanges, output, row, with_shm
from waiting import MELT

import haloscope

NO_SLOWER, LARGE = 0.99, 32768
LINK = "1 Gbit/s"
ON_NODES = ("cg", "mg", "lu")  # of NPB's
COPIED = tuple(1 << exponent for exponent in range(11, 24))  # bytes whose copies are timed


@dataclass(frozen=True)
class Program:
    """A program and its command on two ranks."""

    name: str
    executable: str
    words: Sequence[str]
    time: str
    """Pattern of the time that it prints on standard output, or in the files that `said` matches."""
    files: Mapping[str, str] = field(default_factory=dict)
    said: str = ""
    is_rate: bool = False
    """`time` is work in a unit of time."""
    beside: str = ""
    """A file that must be in the folder of the executables."""
    on_nodes: bool = False
    """It is also compared on two nodes: on four ranks, with the same command."""

    def path(self, library: Library, programs: Path) -> Path | None:
        """Return its executable for this MPI, if there is one."""
        suffix = "mpich" if "MPICH" in library.name else "openmpi"
        found = programs / f"{self.executable}.{suffix}"
        if self.executable == "lmp" and suffix == "openmpi" and not found.exists():
            found = Path(shutil.which("lmp") or "/none")
        usable = found.exists() and (not self.beside or (programs / self.beside).exists())
        return found if usable else None


CLOVERLEAF = """*clover
 state 1 density=0.2 energy=1.0
 state 2 density=1.0 energy=2.5 geometry=rectangle xmin=0.0 xmax=5.0 ymin=0.0 ymax=2.0
 x_cells={0}
 y_cells={0}
 xmin=0.0
 ymin=0.0
 xmax=10.0
 ymax=10.0
 initial_timestep=0.04
 timestep_rise=1.5
 max_timestep=0.04
 end_time=100.0
 end_step={1}
 test_problem 0
*endclover
"""
LOOP = r"^Loop time of ([\d.]+)"
NPB = r"Time in seconds =\s+([\d.]+)"
MINIAMR = (
    "--num_refine 2 --max_blocks 400 --npx 2 --npy 1 --npz 1 --nx 16 --ny 16 --nz 16 --num_objects 1 "
    "--object 2 0 -1.71 -1.71 -1.71 0.04 0.04 0.04 1.7 1.7 1.7 0.0 0.0 0.0 --num_tsteps 20 "
    "--checksum_freq 4 --num_vars 40 --report_perf 1"
)
SNAP = """! Input
&invar
  npey=2
  npez=1
  ichunk=8
  nthreads=1
  nnested=1
  ndimen=3
  nx=32
  lx=0.32
  ny=32
  ly=0.32
  nz=32
  lz=0.32
  nmom=2
  nang=24
  ng=4
  epsi=1.0E-4
  iitm=5
  oitm=30
  timedep=1
  tf=0.1
  nsteps=1
  mat_opt=1
  src_opt=1
  scatp=0
  it_det=0
  fluxp=0
  fixup=1
/
"""
PROGRAMS = (
    Program(
        "LAMMPS melt of 4000",
        "lmp",
        ("-in", "in.melt", "-log", "none"),
        LOOP,
        {"in.melt": MELT.format(10, 600)},
        on_nodes=True,
    ),
    Program(
        "LAMMPS melt of 108 000",
        "lmp",
        ("-in", "in.melt", "-log", "none"),
        LOOP,
        {"in.melt": MELT.format(30, 60)},
    ),
    Program("LAMMPS peptide", "lmp", ("-in", "in.peptide", "-log", "none"), LOOP, {}, beside="in.peptide"),
    *(
        Program(
            f"HPCG {n}³",
            "hpcg",
            (f"--nx={n}", f"--ny={n}", f"--nz={n}", "--rt=1"),
            r"GFLOP/s Summary::Raw Total=([\d.]+)",
            said="HPCG-Benchmark*.txt",
            is_rate=True,
        )
        for n in (104, 48)
    ),
    Program(
        "miniAMR", "miniamr", tuple(MINIAMR.split()), r"^total_time_ave:\s+([\d.]+)", said="results.yaml"
    ),
    Program(
        "CloverLeaf 960²",
        "cloverleaf",
        (),
        r"Wall clock\s+([\d.]+)",
        {"clover.in": CLOVERLEAF.format(960, 60)},
        said="clover.out",
        on_nodes=True,
    ),
    Program("SNAP", "snap", ("in", "out"), r"Total Execution time\s+([\d.E+-]+)", {"in": SNAP}, said="out"),
    *(
        Program(f"NPB {kernel.upper()}.{size}", f"npb-{kernel}.{size}", (), NPB, on_nodes=kernel in ON_NODES)
        for kernel, size in (("cg", "A"), ("mg", "B"), ("lu", "A"), ("bt", "A"), ("ft", "A"), ("is", "B"))
    ),
)


def measure(library: Library, rounds: int, programs: Path) -> None:
    """Print rows of all programs that exist for this MPI: shares of copies, then times."""
    if "wheel" in library.name:
        return
    found = [(program, program.path(library, programs)) for program in PROGRAMS]
    for program, path in found:
        if path is None:
            print(f"{program.name}: no executable for {library.name} in {programs}", file=sys.stderr)
    speeds = _speeds(library)
    for part in (partial(_share, speeds=speeds), partial(_compare, rounds=rounds)):
        for program, path in found:
            if path is not None:
                with tempfile.TemporaryDirectory() as directory:
                    _prepare(program, Path(directory), programs)
                    words = [*library.launch(2), str(path), *program.words]
                    part(library, program, words, Path(directory))


def measure_on_nodes(library: Library, rounds: int, programs: Path) -> None:
    """Print rows on two emulated nodes of two ranks, for programs whose command fits four ranks."""
    with on_nodes(LINK) as run, tempfile.TemporaryDirectory() as directory:
        if run is None:
            return
        for program in PROGRAMS:
            path = program.path(library, programs) if program.on_nodes else None
            if path is not None:
                _prepare(program, Path(directory), programs)
                words = [*library.launch(4), "--bind-to", "none", str(path), *program.words]
                _compare(library, program, words, Path(directory), rounds, run=run, where=", two nodes")


def _prepare(program: Program, directory: Path, programs: Path) -> None:
    for name, text in program.files.items():
        (directory / name).write_text(text, encoding="utf-8")
    if program.beside:
        for path in programs.glob(f"*.{program.beside.partition('.')[2]}"):
            shutil.copy(path, directory)


def _run(
    program: Program, words: Sequence[str], directory: Path, run: Callable[[Sequence[str]], str]
) -> float:
    """Return the seconds that the program prints, or those of the whole launch."""
    for path in directory.glob(program.said or "-"):
        path.unlink()
    begin = time.perf_counter()
    text = run(["env", "-C", str(directory), *words])
    whole = time.perf_counter() - begin
    if not program.time:
        return whole
    if program.said:
        text = "".join(path.read_text() for path in sorted(directory.glob(program.said)))
    found = re.findall(program.time, text, re.MULTILINE)
    if not found:
        raise ValueError(f"{' '.join(words)}: no time")
    return 1 / float(found[-1]) if program.is_rate else float(found[-1])


def _compare(
    library: Library,
    program: Program,
    words: list[str],
    directory: Path,
    rounds: int,
    *,
    run: Callable[[Sequence[str]], str] = output,
    where: str = "",
) -> None:
    times: dict[str, list[float]] = {"bare": [], "shm": []}
    kinds = {"bare": [], "shm": with_shm("--share-heap", measures=True)}
    for turn in range(rounds):
        for kind in sorted(kinds, reverse=turn % 2 == 1):
            times[kind].append(_run(program, [*kinds[kind], *words], directory, run))
    row(
        library.case(f"{program.name}{where}: shm, --share-heap"),
        np.array(times["shm"]),
        np.array(times["bare"]),
        f"{library.name}: the same",
        NO_SLOWER,
    )


def _speeds(library: Library) -> dict[int, float]:
    """Return the seconds to copy data that another core has written, by number of bytes."""
    found = exchanges(library, ("memcpy-two",), 3, COPIED)
    return {size: float(np.median(found[size]["memcpy-two"][0])) for size in COPIED}


def _share(
    library: Library, program: Program, words: list[str], directory: Path, speeds: Mapping[int, float]
) -> None:
    """Print the share of the time for one copy of each message, while both ranks copy."""
    profile = directory / "run.halo"
    command = str(Path(sys.executable).with_name("haloscope"))
    output(
        ["env", "-C", str(directory), command, "run", "--quiet", "-o", str(profile), "--", *words],
        MPI_ENVIRONMENT,
    )
    with haloscope.open(profile) as opened:
        whole = opened.table("regions").row(0, named=True)
        rows = opened.table("sizes")
    messages = rows.filter((rows["region"] == rows["region"][0]) & (rows["kind"] == "p2p"))
    bytes_of, counts = (messages[name].to_numpy().astype(float) for name in ("bytes", "messages"))
    ranks, seconds = 2, float(whole["time_mean"])
    copies = _copied(bytes_of, speeds) * counts / ranks
    waits = float(whole["p2p_time_mean"] or 0)
    for what, some in (("all messages", bytes_of >= 0), ("32 KiB and more", bytes_of >= LARGE)):
        share = 100 * float(copies[some].sum()) / seconds
        emit(
            "halo",
            library.case(f"{program.name}: share of its time that copies of {what} take"),
            ours=share,
            peer=100 * waits / seconds,
            peer_name="in point-to-point calls",
            unit="%",
            ratio=estimate([share / max(100 * waits / seconds, 1e-9)]),
        )


def _copied(sizes: Floats, speeds: Mapping[int, float]) -> Floats:
    """Return the seconds per copy: interpolated between the measured sizes, proportional outside of them."""
    known = np.array(sorted(speeds))
    times = np.array([speeds[int(size)] for size in known])
    beyond = sizes > known[-1]
    within: Floats = np.interp(sizes, [0, *known], [0.0, *times])
    return np.asarray(np.where(beyond, sizes * times[-1] / known[-1], within), dtype=np.float64)
