"""Table IV of the paper: a campaign, simulations above 64 ranks, and counts from Laghos's partition.

    .venv/bin/python studies/caliper-communication-regions/table_4.py DIR

Writes `table-2.csv`, `table-3.csv` and `table-4.reproduced.json`. Runs that are done already are reused.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import kripke
import laghos
import polars as pl
from common import ENVIRONMENT, HALOSCOPE, into, simulated
from papers_tables import architectures, experiments

from haloscope import explain
from haloscope.reproduce.campaign import Campaign
from haloscope.reproduce.study import Reproduced, Tested, read_study, write_reproduced

HERE = Path(__file__).parent
# Kripke on Dane: processes along x, y, z. 64 are also run. One of ITERATIONS equal iterations is simulated.
SIMULATED = {64: (4, 4, 4), 128: (8, 4, 4), 256: (8, 8, 4), 512: (8, 8, 8)}
ITERATIONS = 10
NAMES = {"kripke": "Kripke", "amg": "AMG2023"}
# The paper's "largest send" is the largest number of bytes that a rank sends in one instance of these.
LARGEST = {"kripke": r"/sweep_comm$", "amg": r"/(Solve/MatVecComm/level 0|Products/MatVecComm)$"}
# The paper's totals of AMG2023 are of this region. Outside of it GMRES multiplies by the finest matrix.
CYCLE = "main/Problem/Solve/BoomerAMGSolve/MatVecComm"
GPU = (
    "AMG2023 ran on GPUs, here on processors: the printed sends of Tioga are a multiple of 20 cycles, those"
    " of Dane of 13"
)
# The points of the problem in a command: of all processes, or of each.
POINTS = {"kripke": r"--zones (\d+),(\d+),(\d+)", "amg": r"-n (\d+) (\d+) (\d+)"}
LAGHOS = (112, 224, 448, 896)
GIVEN = "Laghos Dane 112: bytes"  # determines the number of exchanges


@dataclass(frozen=True)
class Row:
    """A row of Table IV: counts of all processes, and bytes of the one that sends most in an instance."""

    name: str  # application, system, processes
    largest: int
    bytes: int | None = None
    sends: int | None = None
    points: int = 0  # of the problem of a process
    levels: int = 0  # of AMG2023, if it was solved
    is_simulated: bool = False
    why: str = ""  # of totals that are missing, or differ

    def numbers(self) -> Iterator[Reproduced]:
        """Yield the four numbers of the row."""
        average = self.bytes / self.sends if self.bytes and self.sends else None
        for key, value in (("bytes", self.bytes), ("sends", self.sends), ("average", average)):
            yield Reproduced(
                f"{self.name}: {key}", value, "simulated" if self.is_simulated else "counted", why=self.why
            )
        yield Reproduced(
            f"{self.name}: largest",
            self.largest,
            "simulated" if self.is_simulated else "counted",
            why=self._misprint(),
        )

    def _misprint(self) -> str:
        if self.name != "AMG2023 Tioga 16":
            return ""
        return (
            f"34604 is no multiple of 8, the size of a number; {self.largest} has two of its digits swapped"
        )


def campaign() -> Iterator[tuple[str, str, Path, int | None]]:
    """Run the campaign; yield application, system, profile, and the processes of the row if not the run's."""
    specification = Path("campaign.yaml")
    shutil.copyfile(HERE / specification.name, specification)
    subprocess.run([HALOSCOPE, "campaign", "run", specification.name], env=ENVIRONMENT, check=True)
    runs = Campaign.opened(specification, Path("caliper-communication-regions")).table()
    for row in runs.filter(pl.col("state") == "done").iter_rows(named=True):
        # An experiment with a number, such as amg-dane-512, is the middle rank of a grid of 512 ranks.
        application, system, *ranks = row["experiment"].split("-")
        yield application, system, Path(row["profile"]), int(ranks[0]) if ranks else None


def counted(application: str, system: str, path: Path, ranks: int | None = None, times: int = 1) -> Row:
    """Return the row of a profile, which has one of `times` iterations."""
    with explain.open(path) as profile:
        regions, command = profile.table("regions"), str(profile.info["command"])
    whole = regions.row(0, named=True)
    found = re.search(POINTS[application], command)
    points = prod(map(int, found.groups())) if found else 0
    points //= whole["ranks"] if application == "kripke" else 1
    paths = pl.col("path")
    instances = regions.filter(paths.str.contains(LARGEST[application]))
    largest = int(instances["bytes_sent_instance_max"].max())  # type: ignore[arg-type]
    name = f"{NAMES[application]} {system.title()} {ranks or whole['ranks']}"
    if application == "kripke":
        totals = times * whole["bytes_sent_total"], times * whole["sends_total"]
        return Row(name, largest, *totals, points, is_simulated=times > 1)
    cycle = regions.filter(paths == CYCLE)
    if cycle.is_empty():
        return Row(name, largest, points=points, why=explain_missing(name))
    totals = cycle["bytes_sent_total"].item(), cycle["sends_total"].item()
    levels = len(regions.filter(paths.str.contains(f"^{CYCLE}/level \\d+$")))
    return Row(name, largest, *totals, points, levels, why=GPU if system == "tioga" else "")


def explain_missing(name: str) -> str:
    """Return why a row of AMG2023 has no totals."""
    return (
        GPU
        if "Tioga" in name
        else "its solve takes more time and memory than a study has; one exchange is run"
    )


def simulations() -> Iterator[Row]:
    """Simulate Kripke's larger runs on a simple network: counts do not depend on it."""
    for ranks, grid in SIMULATED.items():
        zones = ",".join(str(size * count) for size, count in zip((8, 16, 16), grid, strict=True))
        program = ["sweep", "--procs", ",".join(map(str, grid)), "--zones", zones, "--groups", "32"]
        program += ["--quad", "64", "--gset", "16", "--dset", "8", "--niter", "1"]
        profile = Path(f"kripke-dane-{ranks}.halo")
        simulated(profile, ranks, HERE / "switch.yaml", ["--compute-factor", "0", *program])
        if ranks > 64:
            yield counted("kripke", "dane", profile, times=ITERATIONS)


def laghos_numbers(exchanges: Mapping[int, laghos.Exchange], given: float) -> Iterator[Reproduced]:
    """Yield the four numbers of each row of Laghos; `given` are the published bytes on 112 processes."""
    times = round(given / exchanges[LAGHOS[0]].bytes)
    solutions = 3 * 4 * 501  # of three components, in four stages of 500 + 1 steps
    known = (
        f"{times} exchanges, which the paper's bytes on {LAGHOS[0]} processes determine: "
        f"{times / solutions:.1f} in each of {solutions} solutions"
    )
    for ranks, exchange in exchanges.items():
        name = f"Laghos Dane {ranks}"
        totals = {"bytes": times * exchange.bytes, "sends": times * exchange.messages}
        for key, value in totals.items():
            one = f"{name}: {key}"
            yield Reproduced(one, None if one == GIVEN else value, "computed", why=known)
        yield Reproduced(f"{name}: average", exchange.bytes / exchange.messages, "computed")
        why = "ours is of one exchange of one component; the paper does not define the instance of its region"
        yield Reproduced(f"{name}: largest", exchange.largest, "computed", why=why)


def claims(numbers: Sequence[Reproduced], points: Mapping[str, int]) -> Iterator[Tested]:
    """Yield the claims on Table IV; `points` are those of a process, by row."""
    values = {number.name: number.value for number in numbers}

    def column(application: str, system: str, key: str) -> dict[int, float]:
        names = [name.rpartition(": ") for name in values]
        start = f"{application} {system} "
        found = {
            int(row.removeprefix(start)): values[f"{row}: {end}"]
            for row, _, end in names
            if row.startswith(start) and end == key
        }
        return {ranks: value for ranks, value in sorted(found.items()) if value is not None}

    dane, tioga = (column("Kripke", system, "largest") for system in ("Dane", "Tioga"))
    yield Tested("Kripke Dane constant", len(set(dane.values())) == 1, written(dane), "counted")
    yield Tested("Kripke Tioga grows", is_rising(tioga), written(tioga), "counted")
    both = [column("AMG2023", system, "largest") for system in ("Dane", "Tioga")]
    yield Tested("AMG2023 grows", all(map(is_rising, both)), "; ".join(map(written, both)), "counted")
    yield growth(*both)
    bytes_, sizes = (
        {ranks: value / ranks for ranks, value in column("Laghos", "Dane", "bytes").items()},
        column("Laghos", "Dane", "average"),
    )
    falling = all(is_rising({n: -value for n, value in one.items()}) for one in (bytes_, sizes))
    yield Tested(
        "Laghos decreases",
        falling,
        f"average: {written(sizes)}; bytes of a process: {written(bytes_)}",
        "computed",
    )
    yield from problem_claims(points)


def growth(dane: Mapping[int, float], tioga: Mapping[int, float]) -> Tested:
    """Return the claim on the growth of AMG2023's bytes per process, from its largest sends."""
    ends = [
        [sends[least], sends[most]] for sends in (dane, tioga) for least, most in [(min(sends), max(sends))]
    ]
    factors = [after / before for before, after in ends]
    text = (
        "largest send of a process, most over fewest processes: "
        f"Dane {factors[0]:.2f}, Tioga {factors[1]:.2f}"
    )
    return Tested("AMG2023 grows more on Dane", factors[0] > factors[1], text, "counted")


def level_claim(rows: Sequence[Row]) -> Tested:
    """Return the claim on the numbers of levels, from the solved runs with the paper's problems."""
    solved = {row.name: row.levels for row in rows if row.levels}
    dane, tioga = (
        [levels for name, levels in solved.items() if system in name] for system in ("Dane", "Tioga")
    )
    text = ", ".join(f"{name}: {levels}" for name, levels in solved.items())
    holds = min(dane) > max(tioga) if dane and tioga else None
    return Tested("AMG2023 more levels on Dane", holds, text or "no solved run", "counted")


def problem_claims(points: Mapping[str, int]) -> Iterator[Tested]:
    """Yield the claims on the problems; `points` are those of a process, by row, as they were run."""

    def problems(application: str, system: str) -> dict[int, float]:
        start = f"{application} {system} "
        found = {int(row.removeprefix(start)): n for row, n in points.items() if row.startswith(start)}
        return dict(sorted(found.items()))

    of_amg = {system: problems("AMG2023", system) for system in ("Dane", "Tioga")}
    yield Tested(
        "AMG2023 weak",
        all(len(set(found.values())) == 1 for found in of_amg.values()),
        "points of a process: " + "; ".join(f"{system} {written(n)}" for system, n in of_amg.items()),
        "counted",
    )
    both = {name: (problems(name, "Dane"), problems(name, "Tioga")) for name in NAMES.values()}
    common = [
        (f"{name} on {ranks}", dane[ranks], tioga[ranks])
        for name, (dane, tioga) in both.items()
        for ranks in dane.keys() & tioga.keys()
    ]
    yield Tested(
        "same problems",
        all(dane == tioga for _, dane, tioga in common) if common else None,
        "; ".join(
            f"{where}: {dane} points of a process on Dane, {tioga} on Tioga" for where, dane, tioga in common
        ),
        "counted",
    )


def written(values: Mapping[int, float]) -> str:
    """Return values by processes: "64: 8388608, 128: 8388608"."""
    return ", ".join(f"{ranks}: {value:.7g}" for ranks, value in values.items())


def is_rising(values: Mapping[int, float]) -> bool:
    """Return whether each value is larger than that of fewer processes."""
    ordered = [values[ranks] for ranks in sorted(values)]
    return all(before < after for before, after in pairwise(ordered))


def main() -> None:
    """Run all that is missing, and write the tables and the verdicts."""
    architectures().write_csv("table-2.csv")
    experiments().write_csv("table-3.csv")
    printed = {
        name: text for group in read_study(HERE).published.numbers for name, text in group.values.items()
    }
    exchanges = {ranks: laghos.published_exchange(ranks) for ranks in LAGHOS}
    runs = list(campaign())
    partners, messages = kripke.read_partners([path for name, _, path, _ in runs if name == "kripke"])
    rows = [*(counted(*run) for run in runs), *simulations()]
    numbers = [number for row in rows for number in row.numbers()]
    numbers += laghos_numbers(exchanges, float(printed[GIVEN]))
    numbers += kripke.numbers(partners, messages)
    points = {row.name: row.points for row in rows}
    write_reproduced(
        "table-4", numbers, [*claims(numbers, points), level_claim(rows), *kripke.claims(partners)]
    )


if __name__ == "__main__":
    into()
    main()
