"""Table I and Figures 1 to 6 of the paper with our programs, run on 8 to 64 ranks, simulated on 8 to 256.

    .venv/bin/python studies/caliper-communication-regions/scaling.py DIR

Writes `table-1.csv`, and `figure-1.json` to `figure-6.json`. Profiles that are in DIR already are reused.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import polars as pl
from common import grid, into, simulated, watched

from haloscope.explain import Ensemble, ensembles, open_all
from haloscope.explain.ensembles import EnsembleView
from haloscope.reproduce.study import write_figures

RUN, SIMULATED = (8, 16, 32, 64), (8, 16, 32, 64, 128, 256)
# Sizes are small: runs with more ranks than cores are used for their counts only, and a simulation computes
# the ranks' parts one after the other.
ZONES, POINTS = 8, 16  # along each axis, of a rank of sweep and of cg
STEPS = 3  # of hydro
LEVELS = "Solve/BoomerAMGSolve/MatVecComm/level #"
REGIONS = {  # the regions of Table I
    "sweep": ("sweep_comm",),
    "amg": ("MatVecComm",),
    "hydro": ("halo_exchange",),
    "cg": ("halo_exchange", "dot_product"),
}
COUNTED = ("sends", "recvs", "dest_ranks", "src_ranks", "bytes_sent", "bytes_recv")
SYSTEMS = {"here": "more ranks than cores, here", "simulated": "a fat tree of 100 Gbit/s, simulated"}


def words(application: str, ranks: int) -> list[object]:
    """Return the arguments of a program for this number of ranks."""
    sides = grid(ranks)
    procs = ",".join(map(str, sides))
    if application == "sweep":
        zones = ",".join(str(ZONES * side) for side in sides)
        return ["--procs", procs, "--zones", zones, "--niter", 2]
    if application == "hydro":
        return ["-p", 1, "-rs", 3, "-ms", STEPS, "-procs", procs]
    return ["--procs", procs, "--iterations", 2, *(word for axis in "xyz" for word in (f"--n{axis}", POINTS))]


def of_amg(ranks: int, *, grows: bool) -> list[object]:
    """Return amg's arguments. If `grows`, a rank's problem grows as in the paper, half along each axis."""
    x, y, z = grid(ranks)
    points = (16 * min(x // 2, 2), 16 * min(y // 2, 2), 8 * min(z // 2, 2)) if grows else (16, 16, 8)
    return ["-P", x, y, z, "-n", *points]


def profiles() -> Iterator[Path]:
    """Yield all profiles; run or simulate the missing ones."""
    place = Path("scaling")
    place.mkdir(exist_ok=True)
    for ranks in RUN:
        for name in ("sweep", "hydro", "cg"):
            file = place / f"{name}-{ranks}.halo"
            yield watched(file, ranks, name, words(name, ranks), cluster=SYSTEMS["here"])
        for word, grows in (("grows", True), ("stays", False)):
            file = place / f"amg-{word}-{ranks}.halo"
            cluster = "a rank's problem " + ("grows, as in the paper" if grows else "stays")
            yield watched(file, ranks, "amg", of_amg(ranks, grows=grows), cluster=cluster)
    for ranks in SIMULATED:
        for name in ("sweep", "hydro", "cg"):
            file = place / f"{name}-{ranks}-simulated.halo"
            program = [name, *words(name, ranks)]
            yield simulated(file, ranks, "fat-tree", program, cluster=SYSTEMS["simulated"])


def table_1(runs: Ensemble) -> pl.DataFrame:
    """Return the attributes of Table I: minimum and maximum per instance, over all ranks."""
    parts = []
    for program, names in REGIONS.items():
        few = of(runs, "program", program)
        rows = few.with_paths("regions").filter(pl.col("region").is_in(names))
        extremes = [f"{name}_instance_{end}" for name in COUNTED for end in ("min", "max")]
        ends = [pl.col(one).min() if one.endswith("min") else pl.col(one).max() for one in extremes]
        chosen = rows.join(few.runs.select("profile", "cluster"), on="profile")
        keys = ["program", "cluster", "region", "run_ranks"]
        parts.append(chosen.group_by(keys).agg(*ends, pl.col("colls_max").max()).sort(keys))
    return pl.concat(parts).rename({"cluster": "run", "run_ranks": "ranks"})


def of(runs: Ensemble, column: str, *values: str) -> Ensemble:
    """Return the runs that have one of these values in a column."""
    chosen = runs.runs.filter(pl.col(column).is_in(values))
    return open_all(chosen["profile"].to_list())


def figures(runs: Ensemble) -> Iterator[tuple[int, Sequence[EnsembleView]]]:
    """Yield the number of each figure, and its views."""
    amg = of(runs, "program", "amg")
    # One figure per system, as in the paper: their times differ too much for one axis.
    systems = {key: of(runs, "cluster", name) for key, name in SYSTEMS.items()}
    for number, program, names in (
        (1, "sweep", ["main", "solve", "sweep_comm"]),
        (4, "hydro", ["main", "timestep", "broadcast", "reduction"]),
    ):
        of_one = [of(some, "program", program) for some in systems.values()]
        yield number, [ensembles.over(some, "time", names, by="cluster") for some in of_one]
    family = next(one for one in ensembles.families(amg)["family"].unique().sort() if one.endswith(LEVELS))
    yield 2, [ensembles.levels(amg, family, "most_bytes", by="cluster")]
    yield 3, [ensembles.levels(amg, family, "sources", by="cluster")]
    # The paper's amg has the problem that grows. amg is not simulated.
    here = of(runs, "cluster", SYSTEMS["here"], "a rank's problem grows, as in the paper")
    for number, some in ((5, here), (6, systems["simulated"])):
        yield number, [ensembles.over(some, what, ["main"]) for what in ("bandwidth", "message_rate")]


def main() -> None:
    """Run all that is missing, and write the table and the figures."""
    runs = open_all(list(profiles()))
    table_1(runs).write_csv("table-1.csv")
    for number, views in figures(runs):
        drawn = [view.drawn for view in views if view.drawn is not None]
        where = tuple(SYSTEMS.values()) if number in (1, 4) else ("",) * len(drawn)
        titled = [
            replace(one, title=": ".join(filter(None, (f"Figure {number}", one.title, system))))
            for one, system in zip(drawn, where, strict=True)
        ]
        write_figures(titled, Path(f"figure-{number}.json"))
        pl.concat([view.frame for view in views]).write_csv(f"figure-{number}.csv")


if __name__ == "__main__":
    into()
    main()
