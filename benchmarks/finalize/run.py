"""Cost of profiling in MPI_Finalize, where ranks merge their records.

2 to 64 ranks run on the cores of this machine, with and without the recorder alternately. The time is the
longest that a rank is in MPI_Finalize, in milliseconds. `peer` is the program without the recorder, `ratio`
is the aim of one second divided by the time with it. `finalize-steps` counts the messages that the busiest
rank sends and receives one after the other. It grows by four per doubling of ranks, or by five if a message
is long.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import MPI_ENVIRONMENT, Estimate, emit, estimate
from plot import Curve, figure

from haloscope.base.launcher import report_toolchain

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
AIM = 1000.0  # milliseconds, at 64 ranks
MOST = 64
# More ranks than cores: they yield while they wait, as far as the MPI supports it.
ENVIRONMENT = MPI_ENVIRONMENT | {
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
}


@dataclass(frozen=True)
class Bench:
    """The compiled program, the counter of steps, and how they are started."""

    directory: Path
    launcher: Path

    def lines(self, ranks: int, watched: bool, preload: str = "") -> list[str]:
        output = str(self.directory / "bench.halo")
        front = [str(Path(sys.executable).with_name("haloscope")), "run", "--quiet", "-o", output, "--"]
        launch = [str(self.launcher), "-n", str(ranks), str(self.directory / "program")]
        environment = ENVIRONMENT | ({"LD_PRELOAD": preload} if preload else {})
        done = subprocess.run(
            [*(front if watched else []), *launch],
            env=environment,
            check=True,
            timeout=600,
            capture_output=True,
            text=True,
        )
        return done.stdout.splitlines()

    def milliseconds(self, ranks: int, watched: bool) -> float:
        return max(map(float, self.lines(ranks, watched)))

    def steps(self, ranks: int) -> int:
        """Return the number of messages of the busiest rank."""
        lines = self.lines(ranks, True, preload=str(self.directory / "steps.so"))
        return max(int(line.split()[1]) for line in lines if line.startswith("messages"))


def build(directory: Path) -> Bench:
    tools = report_toolchain()
    compiler = str(tools.compiler.with_name("mpicc"))
    flags = ["-O2", f"-I{ROOT / 'include'}"]
    program, steps = directory / "program", directory / "steps.so"
    subprocess.run([compiler, *flags, str(HERE / "program.c"), "-o", str(program)], check=True)
    shared = ["-shared", "-fPIC", str(HERE / "steps.c"), "-o", str(steps)]
    subprocess.run([compiler, *flags, *shared], check=True)
    return Bench(directory, tools.launcher)


def report(ranks: int, bare: list[float], watched: list[float]) -> Estimate:
    ours = estimate(watched)
    emit(
        "finalize",
        f"{ranks} ranks",
        ours=ours.median,
        peer=estimate(bare).median,
        peer_name="not watched",
        unit="ms",
        ratio=Estimate(AIM / ours.median, AIM / ours.high, AIM / ours.low),
        target=1.0 if ranks == MOST else None,
    )
    return ours


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="runs of each kind and size")
    parser.add_argument("--most", type=int, default=MOST, help="ranks, at most")
    parser.add_argument("--picture", type=Path, metavar="F.svg", help="draw the times to this file")
    options = parser.parse_args()
    sizes = [ranks for ranks in (2, 4, 8, 16, 32, 64) if ranks <= options.most]
    times: dict[tuple[int, bool], list[float]] = {(n, w): [] for n in sizes for w in (False, True)}
    with tempfile.TemporaryDirectory() as name:
        bench = build(Path(name))
        steps = {ranks: bench.steps(ranks) for ranks in sizes}
        for _ in range(options.rounds):
            for (ranks, watched), found in times.items():
                found.append(bench.milliseconds(ranks, watched))
    for ranks in sizes:
        report(ranks, times[ranks, False], times[ranks, True])
        count = Estimate(float(steps[sizes[0]]), *[float(steps[sizes[0]])] * 2)
        same = Estimate(*[count.median / steps[ranks]] * 3)
        emit(
            "finalize-steps",
            f"{ranks} ranks",
            ours=steps[ranks],
            peer=count.median,
            peer_name=f"{sizes[0]} ranks",
            unit="messages",
            ratio=same,
        )
    if options.picture:
        curves = [
            Curve("watched", "#b3261e", [(n, estimate(times[n, True])) for n in sizes]),
            Curve("not watched", "#355c7d", [(n, estimate(times[n, False])) for n in sizes]),
        ]
        options.picture.write_text(figure(curves, [(n, steps[n]) for n in sizes]))


if __name__ == "__main__":
    main()
