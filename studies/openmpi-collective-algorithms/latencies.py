"""Section 3.3: latencies of 2 bytes by what two cores share, of this machine and of ORFEO.

    .venv/bin/python studies/openmpi-collective-algorithms/latencies.py DIR

Writes `architecture.csv`, `latencies.csv` and `latencies.json` to DIR. Levels of this machine are hwloc's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import polars as pl
from common import ENVIRONMENT, HALOSCOPE, draw, into

from haloscope import predict
from haloscope.base.palette import METHODS
from haloscope.markov.figures import Figure, Panel, Trace, axis
from haloscope.reproduce.study import Reproduced, Tested, write_figures, write_reproduced


class Distance(NamedTuple):
    """What two cores share, in the paper's words, by ORFEO's level and by the name of hwloc's level."""

    name: str
    core: int
    level: str


DISTANCES = (
    Distance("same CCX", 1, "L3"),
    Distance("same CCD", 4, "die"),
    Distance("same NUMA domain", 8, "NUMA domain"),
    Distance("cross NUMA", 32, "socket"),
    Distance("cross socket", 64, "node"),
    Distance("inter-node", 128, "network"),
)
SIMULATED = Path(__file__).parent / "simulated" / "orfeo.yaml"
_TIMES = ("time", "median", "ci_low", "ci_high")
_WHY = "no two cores of this machine share a {} and no smaller level"


def architecture() -> pl.DataFrame:
    """Return ORFEO by sections 1 and 2 (Figure 1 is its processor), and as it is simulated."""
    levels = {level.name: level for level in predict.load_machine(SIMULATED).levels}
    cores = {"CCX": 4, "CCD": 8, "NUMA domain": 16, "socket": 64, "node": 128, "network": 256}
    rows = [(f"cores of a {name}", str(count), str(levels[name].cores)) for name, count in cores.items()]
    rows[-1] = ("cores of both nodes", *rows[-1][1:])
    bandwidth = f"{float(levels['network'].shared or 0) * 8e-9:.0f} Gb/s"
    rows += [
        ("interconnect", "100 Gb/s", bandwidth),
        ("placement", "--map-by core", "rank i on core i"),
        ("MPI library", "Open MPI 4.1.6", "messages of Open MPI 4.1"),
        ("benchmark", "OSU 7.4, -x 100 -i 1000", "one call, all ranks start together"),
    ]
    return pl.DataFrame(rows, schema=["attribute", "ORFEO", "simulated"], orient="row")


def measured() -> pl.DataFrame:
    """Return the latencies of this machine with intervals, a row for each level of hwloc."""
    command = [str(HALOSCOPE), "bench", "p2p", "latency", "-m", "2:2", "-i", "1000", "-x", "100"]
    done = subprocess.run([*command, "--json"], env=ENVIRONMENT, stdout=subprocess.PIPE, check=True)
    records = json.loads(done.stdout)
    columns = {"level": pl.String} | dict.fromkeys(_TIMES, pl.Float64)
    return pl.DataFrame([[record[name] for name in columns] for record in records], columns, orient="row")


def compare(here: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each distance of the paper, and for each other level of this machine, in µs."""
    machine = predict.load_machine("orfeo")
    papers = pl.DataFrame(
        [
            {
                "distance": one.name,
                "orfeo_core": one.core,
                "orfeo": 1e6 * float(machine.latency(0, one.core)),
                "level": one.level,
            }
            for one in DISTANCES
        ]
    )
    ours = here.select("level", *(pl.col(name) * 1e6 for name in _TIMES))
    return papers.join(ours, on="level", how="full", coalesce=True, maintain_order="left_right")


def reproduced(rows: pl.DataFrame) -> list[Reproduced]:
    """Return the mean of this machine, as OSU prints it, for each of the paper's six latencies."""
    found = []
    for one in DISTANCES:
        row = rows.row(by_predicate=pl.col("distance") == one.name, named=True)
        if row["time"] is None:
            found.append(Reproduced(one.name, None, "measured", why=_WHY.format(one.level)))
        else:
            found.append(Reproduced(one.name, row["time"], "measured", row["ci_low"], row["ci_high"]))
    return found


def tested(rows: pl.DataFrame) -> Tested:
    """Return whether latencies grow with the distance on this machine."""
    times = rows.filter(pl.col("distance").is_not_null(), pl.col("time").is_not_null())
    name = "latencies grow with distance"
    if len(times) < 2:
        return Tested(name, None, f"this machine has {len(times)} of the paper's levels")
    values = times["median"].to_list()
    text = ", ".join(
        f"{level} {value:.2f} µs" for level, value in times.select("level", "median").iter_rows()
    )
    return Tested(name, all(one <= other for one, other in pairwise(values)), text)


def figure(rows: pl.DataFrame) -> Figure:
    """Return the latencies of both machines by level."""
    rows = rows.with_columns(pl.coalesce("distance", "level").alias("at"))
    here = rows.filter(pl.col("median").is_not_null())
    interval = {
        "type": "data",
        "symmetric": False,
        "array": (here["ci_high"] - here["median"]).to_list(),
        "arrayminus": (here["median"] - here["ci_low"]).to_list(),
    }
    traces = [
        _markers("ORFEO, paper", rows["at"], rows["orfeo"], METHODS[0], "circle"),
        _markers("this machine", here["at"], here["median"], METHODS[1], "square") | {"error_y": interval},
    ]
    caption = "Latency of 2 bytes from core 0 to a core of each level; here: median with its 95 % interval."
    across, up = axis("shared by both cores", type="category"), axis("latency, µs", rangemode="tozero")
    return draw([Panel("", traces)], across, up, caption, "Section 3.3: latencies by level")


def _markers(name: str, x: pl.Series, y: pl.Series, colour: str, symbol: str) -> Trace:
    made: dict[str, Any] = {"type": "scatter", "mode": "markers", "name": name}
    return made | {
        "x": x.to_list(),
        "y": y.to_list(),
        "marker": {"color": colour, "symbol": symbol, "size": 9},
    }


def main() -> None:
    """Measure, and write the table and the figure."""
    rows = compare(measured())
    architecture().write_csv("architecture.csv")
    rows.write_csv("latencies.csv", float_precision=3)
    write_figures([figure(rows)], Path("latencies.json"))
    write_reproduced("latencies", numbers=reproduced(rows), claims=[tested(rows)])


if __name__ == "__main__":
    into()
    main()
