"""Sweeps of SimGrid SMPI's own algorithms and selectors on the topologies that `simulate` has.

    python smpi_sweep.py POINTS.csv RANKS,RANKS… [--seconds 5] [--platforms P,P] [--collectives C,C]

Each platform is that of `haloscope simulate` for 1024 ranks, also for fewer ranks: a machine does not grow
with the job. Rank r runs on host r. Points are appended to the file, so that the same command continues an
interrupted sweep. Settings are those of `simulate`: SimGrid's factors of latency and bandwidth, which are for
a different cluster, are off, and messages under 64 KiB do not wait for their receiver.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from haloscope.predict.simulate import load_platform

HERE = Path(__file__).resolve().parent
PLATFORMS = ("fat-tree", "fat-tree-full", "dragonfly", "torus")
HOSTS = 1024
COLLECTIVES = ("allgather", "allreduce", "alltoall", "bcast", "reduce")
BLOCKS = ("allgather", "alltoall")
SELECTORS = ("ompi", "mpich", "mvapich2")
# Other selectors; one that tries all algorithms at each call; algorithms that crash or never end; all-to-alls
# with barriers, which would double the number of algorithms.
LEFT_OUT = re.compile(
    r"default|automatic|impi|arrival_pattern_aware_wait|arrival_scatter|flattree_pipeline|(pair|ring)_\w+"
)
SIZES = (8, *(1 << power for power in range(6, 23, 2)))
MEMORY = 1 << 30  # at most 4 MiB on 256 ranks, or blocks of 16 KiB there
SETTINGS = {
    "smpi/lat-factor": "0:1",
    "smpi/bw-factor": "0:1",
    "network/weight-S": "0",
    "network/TCP-gamma": "0",
    "surf/precision": "1e-12",
    "smpi/simulate-computation": "no",
    "smpi/host-speed": "1Gf",
    "smpi/send-is-detached-thresh": "65536",
    "smpi/coll-selector": "ompi",
    "contexts/stack-size": "256",
    "smpi/shared-malloc": "global",
}
FIELDS = ("platform", "collective", "algorithm", "ranks", "bytes", "mean", "last", "reason")
_VALID = re.compile(r"Valid algorithms: ([^\n]*?)\.?\n")
_PATIENCE = 300  # factor of the seconds of a point, after which a launch without output is ended
Job = tuple[str, str, tuple[int, ...]]


class Bench:
    """The program, and the platforms' files, in a directory."""

    def __init__(self, place: Path, seconds: float) -> None:
        self.place, self.seconds = place, seconds
        words = ["smpicxx", "-O2", "-std=c++20", str(HERE / "smpi_sweep.cpp"), "-o", str(place / "sweep")]
        subprocess.run(words, check=True)
        for name in PLATFORMS:
            (place / f"{name}.xml").write_text(_xml(name), encoding="utf-8")

    def words(self, platform: str, ranks: int, *more: str) -> list[str]:
        """The command line of SMPI with the program."""
        hosts = self.place / f"hosts-{ranks}"
        hosts.write_text("".join(f"n-{rank}\n" for rank in range(ranks)), encoding="ascii")
        settings = [f"--cfg={name}:{value}" for name, value in SETTINGS.items()]
        words = ["smpirun", "-np", str(ranks), "-platform", str(self.place / f"{platform}.xml")]
        words += ["-hostfile", str(hosts), "-no-privatize", "--log=root.thresh:critical", *settings]
        return [*words, *more, str(self.place / "sweep"), str(self.seconds)]

    def algorithms(self, collective: str) -> list[str]:
        """Return the algorithms of a collective, from SMPI's error message for an unknown one."""
        words = self.words("torus", 1, f"--cfg=smpi/{collective}:?")
        said = subprocess.run(words, capture_output=True, text=True, check=False).stderr
        listed = _VALID.search(said)
        assert listed, said
        names = [
            name for name in listed[1].split(", ") if not LEFT_OUT.fullmatch(name) and name not in SELECTORS
        ]
        names = [name for name in names if (collective, name) != ("alltoall", "3dmesh")]  # never ends
        return [SELECTORS[0], *names, *SELECTORS[1:]]

    def run(self, platform: str, ranks: int, jobs: Sequence[Job]) -> Iterator[dict[str, object]]:
        """Yield the points of these jobs; a job that ends the program is skipped."""
        left = list(jobs)
        while left:
            words = [f"{collective}:{name}:{','.join(map(str, sizes))}" for collective, name, sizes in left]
            done, last = 0, -1
            child = subprocess.Popen(
                self.words(platform, ranks) + words,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            assert child.stdout is not None
            assert child.stderr is not None
            errors: list[str] = []
            reader = threading.Thread(target=errors.extend, args=(child.stderr,), daemon=True)
            reader.start()
            with _Watch(child, _PATIENCE * self.seconds + 10) as watch:
                for line in child.stdout:
                    watch.heard()
                    row = _row(line)
                    if row is None:
                        continue
                    key = row["collective"], str(row["algorithm"]).rstrip("+")
                    while done < len(left) and left[done][:2] != key:
                        done += 1
                    last = int(str(row["bytes"]))
                    yield {"platform": platform, "ranks": ranks, **row}
            reader.join(5)
            if last == left[done][2][-1] and done + 1 < len(left):
                done += 1  # that job had ended
            status = child.wait()
            if status == 0 and done + 1 == len(left):
                return
            said = "".join(errors)
            found = re.search(r"what\(\): *(.*)|Segmentation fault|Deadlock detected", said)
            reason = "takes too long" if watch.ended else found[0].strip() if found else f"status {status}"
            collective, name, _ = left[done]
            print(f"{platform} {ranks} ranks: {collective} {name}: {reason}", file=sys.stderr, flush=True)
            failed = {"collective": collective, "algorithm": name, "bytes": 0, "reason": reason}
            yield {"platform": platform, "ranks": ranks, **failed}
            left = left[done + 1 :]


class _Watch:
    """Ends a child process that prints nothing for a number of seconds."""

    def __init__(self, child: subprocess.Popen[str], patience: float) -> None:
        self._child, self._patience, self.ended = child, patience, False
        self._timer: threading.Timer | None = None

    def __enter__(self) -> _Watch:  # noqa: PYI034
        self.heard()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def heard(self) -> None:
        """Restart the timer."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(self._patience, self._end)
        self._timer.daemon = True
        self._timer.start()

    def _end(self) -> None:
        self.ended = True
        os.killpg(self._child.pid, signal.SIGKILL)


def _row(line: str) -> dict[str, object] | None:
    words = line.split()
    if len(words) > 3 and words[3] == "refused:":
        row = {"collective": words[0], "algorithm": words[1], "bytes": int(words[2])}
        return {**row, "reason": " ".join(words[4:])}
    if len(words) != 6:
        return None
    row = {"collective": words[0], "algorithm": words[1], "bytes": int(words[2])}
    return {**row, "mean": float(words[3]), "last": float(words[4])}


def _xml(name: str) -> str:
    network = load_platform(name)
    assert network.topology != "machine"
    hosts = network.hosts(HOSTS)
    kind = network.topology.upper()
    return (
        '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        f'<platform version="4.1"><zone id="all" routing="Full">\n<cluster id="network" prefix="n-" '
        f'radical="0-{hosts - 1}" suffix="" speed="1Gf" bw="{network.bandwidth}Bps" lat="{network.latency}s" '
        f'loopback_bw="{network.loopback_bandwidth}Bps" loopback_lat="{network.loopback_latency}s" '
        f'sharing_policy="{network.sharing.upper()}" topology="{kind}" '
        f'topo_parameters="{network.parameters(HOSTS)}"/>\n</zone></platform>\n'
    )


def sizes_of(collective: str, ranks: int) -> tuple[int, ...]:
    """Return the sizes for which the memory of all ranks is below the limit."""
    most = MEMORY // (ranks * ranks if collective in BLOCKS else ranks)
    return tuple(size for size in SIZES if size <= most)


def messages(ranks: int) -> list[Job]:
    """Return the jobs of a machine's levels: one message, and one of every rank, from half to half."""
    halves = ranks & (ranks - 1) == 0
    return [("p2p", str(ranks // 2), (8, 8192, 1 << 18, 1 << 20))] if halves else []


def sweep(
    output: Path,
    all_ranks: Sequence[int],
    seconds: float,
    platforms: Sequence[str],
    collectives: Sequence[str],
) -> None:
    """Append the missing points to the file."""
    fresh = not output.exists()
    have: set[tuple[str, ...]] = set()
    if not fresh:
        with output.open(newline="") as file:
            have = {
                (r["platform"], r["collective"], r["algorithm"], r["ranks"]) for r in csv.DictReader(file)
            }
    with tempfile.TemporaryDirectory() as name, output.open("a", newline="") as file:
        bench = Bench(Path(name), seconds)
        offered = {collective: bench.algorithms(collective) for collective in collectives}
        writer = csv.DictWriter(file, FIELDS)
        if fresh:
            writer.writeheader()
        for platform, ranks in product(platforms, all_ranks):
            jobs = [
                (collective, name, sizes_of(collective, ranks))
                for collective, names in offered.items()
                for name in names
            ]
            asked = messages(ranks) + jobs
            left = [job for job in asked if (platform, job[0], job[1], str(ranks)) not in have]
            for row in bench.run(platform, ranks, left):
                writer.writerow(row)
                file.flush()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("ranks", type=lambda text: [int(word) for word in text.split(",")])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument(
        "--collectives", type=lambda text: text.split(",") if text else [], default=list(COLLECTIVES)
    )
    parser.add_argument("--platforms", type=lambda text: text.split(","), default=list(PLATFORMS))
    asked = parser.parse_args()
    sweep(asked.output, asked.ranks, asked.seconds, asked.platforms, asked.collectives)


if __name__ == "__main__":
    main()
