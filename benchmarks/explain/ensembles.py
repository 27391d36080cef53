"""Many profiles opened and aggregated by region: seconds and memory, compared with Thicket on the same runs.

Runs are the tests' synthetic halo exchange on 64 ranks with 20 regions; times differ between runs. Haloscope
reads profiles, which have rows per rank, and computes the sums, means and extremes over ranks of `regions`.
Thicket reads files of `haloscope export --to cali`, which are aggregated already: a record per region.
Both then compute the mean of all numbers over the runs, per region. Each reading is a separate process,
both sides alternate, and all files are in memory. Seconds exclude the start of Python and imports. Processor
seconds are of all threads, and depend little on other load. Memory is the maximum growth of the process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from common import emit, estimate

from haloscope import explain
from support.mpi import CHECKOUT
from support.sample import halo_profile

RATIO = 20.0
GRID, LEVELS = (4, 4, 4), 9  # 64 ranks; two regions per level, one around them, and the program
MEASURE = """\
import json, resource, sys, time
{imports}
def most():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
folder = sys.argv[1]
before, begin, used = most(), time.perf_counter(), time.process_time()
{work}
taken, used = time.perf_counter() - begin, time.process_time() - used
print(json.dumps([taken, used, most() - before, rows, runs, sent]))
"""
OURS = MEASURE.format(
    imports="import polars, haloscope\nfrom haloscope.explain import ensembles\nensembles.Ensemble",
    work="""\
table = haloscope.open_all(f"{folder}/*.halo").table("regions")
means = table.group_by("path").agg(polars.selectors.numeric().mean())
rows, runs = len(means), table["profile"].n_unique()
sent = means["bytes_sent_total"].max()""",
)
THICKET = MEASURE.format(
    imports="import warnings\nwarnings.simplefilter('ignore')\nfrom glob import glob\nimport thicket",
    work="""\
files = sorted(glob(f"{folder}/*.cali"))
table = thicket.Thicket.from_caliperreader(files, disable_tqdm=True).dataframe
means = table.groupby(level="node").mean(numeric_only=True)
rows, runs = len(means), len(table.index.unique(level="profile"))
sent = means["Bytes sent (total)"].max()""",
)


def write(folder: Path, runs: int) -> None:
    for number in range(runs):
        path = halo_profile(GRID, LEVELS, seed=number).write(folder / f"run-{number:05}.halo")
        with explain.open(path) as profile:
            explain.write_cali(profile, path.with_suffix(".cali"), program=True)


def read(python: Path, script: str, folder: Path) -> list[float]:
    done = subprocess.run([python, "-c", script, folder], capture_output=True, text=True, check=True)
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


def report(runs: int, rounds: int) -> None:
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as scratch:
        folder = Path(scratch)
        write(folder, runs)
        theirs = CHECKOUT / ".venv-others" / "bin" / "python"
        turns = [
            (read(Path(sys.executable), OURS, folder), read(theirs, THICKET, folder)) for _ in range(rounds)
        ]
    for one, other in turns:
        assert one[3:] == other[3:], (one, other)
    for what, (case, unit, target) in enumerate(
        (("opened and aggregated", "s", RATIO), ("processors' time", "s", None), ("memory", "MiB", None))
    ):
        medians = [estimate([turn[side][what] for turn in turns]).median for side in (0, 1)]
        emit(
            "ensembles",
            f"{runs} profiles, {case}",
            ours=medians[0],
            peer=medians[1],
            peer_name="Thicket",
            unit=unit,
            ratio=estimate([other[what] / max(one[what], 1e-9) for one, other in turns]),
            target=target,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    report(given.runs, given.rounds)


if __name__ == "__main__":
    main()
