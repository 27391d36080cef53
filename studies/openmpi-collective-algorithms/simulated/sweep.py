"""A sweep over all collectives on a simulated ORFEO: Open MPI's messages under SimGrid's network model.

    python sweep.py OUTPUT.csv [RANKS,RANKS…]

Each algorithm's messages are those of `haloscope.predict.schedule`, which tests compare with Open MPI's. SMPI
sends them on a platform with the paper's latencies, 12.5 GB/s per core and 100 Gbit/s per node. SimGrid
shares bandwidth among flows, the fitted models do not. SimGrid's clock has no noise, so there is one run per
point. In this sweep, sends and receives take 0.25 µs in addition to the latencies; in that of `../points.py`,
the paper's latencies include these times.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from haloscope import predict
from haloscope.predict import schedule as schedules
from haloscope.predict.simulate import find_smpirun

HERE = Path(__file__).resolve().parent
BANDWIDTH = "12.5GBps"
ALIASES = {
    "brucks",
    "scatter_recursive_doubling_allgather",
    "scatter_ring_allgather",
    "tree",
    "pipelined_tree",
    "reduce_scatter_gather",
    "reduce_scatter_allgather",
    "scattered",
    "pairwise_sendrecv_replace",
    "two_proc",
    "linear_sync",
    "dissemination",
    "k_dissemination",
    "pairwise_",
    "noncommutative",
    "nonoverlapping",
}
COLLECTIVES = (
    "bcast",
    "reduce",
    "allreduce",
    "allgather",
    "alltoall",
    "barrier",
    "gather",
    "scatter",
    "reduce_scatter",
)
WHOLE = (16, 256, 2048, 8192, 32768, 131072, 1048576)
BLOCKS = (16, 256, 2048, 8192, 32768)
RANKS = (8, 16, 32, 64, 128, 256)
# On more than 32 ranks there are fewer sizes and no rings of many messages, so that SimGrid needs seconds.
LARGE = 32
LARGE_SIZES = (0, 16, 2048, 32768, 1048576)
MOST_MESSAGES = 7000
SELECTOR = "simgrid"  # the algorithm that SimGrid's selector for Open MPI chooses, in SimGrid's code
OWN = {"bcast": -1, "reduce": -2}  # SimGrid's collectives in the format of replay.c
SETTINGS: dict[str, object] = {
    "network/model": "CM02",
    "network/bandwidth-factor": 1,
    "network/latency-factor": 1,
    "network/weight-S": 0,
    "network/TCP-gamma": 0,
    "network/crosstraffic": "no",
    "smpi/simulate-computation": "no",
    "smpi/ois": "0:1.5e-7:0",
    "smpi/or": "0:1e-7:0",
    "smpi/send-is-detached-thresh": 8192,
    "smpi/async-small-thresh": 8192,
    "smpi/host-speed": "1Gf",
    "smpi/shared-malloc": "global",
    "smpi/shared-malloc-blocksize": 1 << 26,
    "contexts/stack-size": 64,
}


def platform(machine: predict.Machine, cores: int, less: Decimal = Decimal(0)) -> str:
    """Return a platform: cores with links out and in, a latency per level, and a network port per node.

    Latencies are `less` than those of the machine.
    """
    node = machine.levels[-2].cores
    lines = [
        "<?xml version='1.0'?>",
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
        '<platform version="4.1"><zone id="orfeo" routing="Full">',
    ]
    lines += [f'<host id="c{i}" speed="1Gf"/>' for i in range(cores)]
    links = [f"{way}{i}" for i in range(cores) for way in ("out", "in")]
    links += [f"port{way}{i}" for i in range(-(-cores // node)) for way in ("out", "in")]
    lines += [f'<link id="{link}" bandwidth="{BANDWIDTH}" latency="0us"/>' for link in links]
    lines += [
        f'<link id="L{i}" bandwidth="1e18Bps" latency="{level.latency - less}s" sharing_policy="FATPIPE"/>'
        for i, level in enumerate(machine.levels)
    ]
    levels = list(machine.levels)
    for i in range(cores):
        for j in range(cores):
            if i == j:
                continue
            level = levels.index(machine.level(i, j))
            way = [f"out{i}", f"L{level}", f"in{j}"]
            if level == len(levels) - 1:
                way[1:2] = [f"portout{i // node}", f"L{level}", f"portin{j // node}"]
            inside = "".join(f'<link_ctn id="{link}"/>' for link in way)
            lines.append(f'<route src="c{i}" dst="c{j}" symmetrical="NO">{inside}</route>')
    return "\n".join([*lines, "</zone></platform>", ""])


def points(ranks: int) -> list[dict[str, object]]:
    """Return the points in the order in which they run."""
    found: list[dict[str, object]] = []
    for collective in COLLECTIVES:
        whole = collective in ("bcast", "reduce", "allreduce", "reduce_scatter")
        sizes = (0,) if collective == "barrier" else WHOLE if whole else BLOCKS
        for algorithm in schedules.algorithms(collective):
            if algorithm in ALIASES:
                continue
            for size in sizes:
                if ranks > LARGE and size not in LARGE_SIZES:
                    continue
                segments = [0]
                if schedules.uses(collective, algorithm)[0] and collective != "gather":
                    segments += [segment for segment in (8192, 65536) if segment < size]
                found += [
                    {
                        "collective": collective,
                        "algorithm": algorithm,
                        "segment": segment,
                        "fanout": 0,
                        "ranks": ranks,
                        "bytes": size,
                    }
                    for segment in segments
                ]
    return [row for row in found if ranks <= LARGE or len(made(row).messages) <= MOST_MESSAGES]


def made(row: Mapping[str, Any]) -> schedules.Schedule:
    """Return the messages of a point."""
    plan = schedules.CollectivePlan(row["ranks"], row["bytes"], row["segment"], row["fanout"])
    found = schedules.schedule(str(row["collective"]), str(row["algorithm"]), plan)
    assert found is not None
    return found


def written(rows: list[dict[str, object]], path: Path) -> int:
    """Write the schedules in the format of replay.c, and return the largest bytes of a message."""
    largest = 0
    with path.open("wb") as file:
        np.int64(len(rows)).tofile(file)
        for row in rows:
            if row["algorithm"] == SELECTOR:
                np.array([OWN[str(row["collective"])], row["bytes"]], np.int64).tofile(file)
                largest = max(largest, int(str(row["bytes"])))
                continue
            messages = made(row).messages
            names = ("source", "target", "source_step", "target_step", "bytes", "added", "meets")
            table = np.column_stack([messages[name].astype(np.int64) for name in names])
            np.array([len(table), table[:, 4].max(initial=0)], np.int64).tofile(file)
            table.tofile(file)
            largest = max(largest, int(table[:, 4].max(initial=0)))
    return largest


def simulated(
    chosen: dict[int, list[dict[str, object]]],
    settings: Mapping[str, object] = SETTINGS,
    less: Decimal = Decimal(0),
) -> Iterator[dict[str, object]]:
    """Yield the points of each number of ranks with their times: one run of SMPI for each number."""
    tools = find_smpirun().parent
    machine = predict.load_machine("orfeo")
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        subprocess.run(
            [tools / "smpicc", "-O2", HERE / "replay.c", "-o", place / "replay"], check=True, cwd=place
        )
        for ranks, rows in chosen.items():
            (place / "orfeo.xml").write_text(platform(machine, ranks, less))
            buffer = 2 * written(rows, place / "schedules") + 1
            (place / "hosts").write_text("".join(f"c{i}\n" for i in range(ranks)))
            command = [str(tools / "smpirun"), "-np", str(ranks), "-platform", "orfeo.xml"]
            command += ["-hostfile", "hosts", *(f"--cfg={key}:{value}" for key, value in settings.items())]
            command += ["--log=root.thres:error", "./replay", "schedules", str(buffer)]
            print(f"{ranks} ranks: {len(rows)} points", file=sys.stderr, flush=True)
            done = subprocess.run(command, cwd=place, stdout=subprocess.PIPE, text=True, check=False)
            for line in done.stdout.splitlines():
                number, mean, least, most = line.split()
                times = {"time": float(mean), "time_min": float(least), "time_max": float(most)}
                yield {**rows[int(number)], "status": "ok", **times}


def main(output: Path, all_ranks: list[int]) -> None:
    """Simulate, and write all points after each number of ranks."""
    done: list[dict[str, object]] = []
    for ranks in all_ranks:
        done += simulated({ranks: points(ranks)})
        pl.DataFrame(done).write_csv(output)


if __name__ == "__main__":
    main(Path(sys.argv[1]), [int(word) for word in sys.argv[2].split(",")] if sys.argv[2:] else list(RANKS))
