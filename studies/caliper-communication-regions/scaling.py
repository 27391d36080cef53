"""Table I and Figures 1 to 6 of the paper with our programs, run on 8 to 128 ranks, simulated on 8 to 256.

    .venv/bin/python studies/caliper-communication-regions/scaling.py DIR

Writes `table-1.csv`, `figure-1.json` to `figure-6.json` and `figures-1-6.reproduced.json`. Profiles that are
in DIR already are reused.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import claims
import polars as pl
from common import grid, into, simulated, watched

from haloscope.explain import Ensemble, ensembles, open_all
from haloscope.markov.figures import Figure, Trace
from haloscope.reproduce.study import Reproduced, Tested, read_study, write_figures, write_reproduced

HERE = Path(__file__).parent
RUN, SIMULATED = (8, 16, 32, 64), (8, 16, 32, 64, 128, 256)
# Sizes are small: runs with more ranks than cores are used for their counts only, and a simulation computes
# the ranks' parts one after the other.
ZONES = 8  # along each axis, of a rank of sweep
STEPS = 1  # of hydro
ITERATIONS = 2  # of sweep
# Points of a rank of amg: half of Tioga's along each axis, a quarter of Dane's, by processes.
TIOGA = {8: (16, 16, 8), 16: (32, 16, 8), 32: (32, 32, 8), 64: (32, 32, 16)}
DANE = {64: (8, 8, 4), 128: (16, 8, 4)}
LEVELS = "Solve/BoomerAMGSolve/MatVecComm/level #"
REGIONS = {"sweep": "sweep_comm", "amg": "Solve/MatVecComm/level 0", "hydro": "halo_exchange"}  # of Table I
COUNTED = ("sends", "recvs", "dest_ranks", "src_ranks", "bytes_sent", "bytes_recv")
SYSTEMS = {"here": "more ranks than cores, here", "simulated": "a fat tree of 100 Gbit/s, simulated"}
AMG = {
    "Tioga": "half of Tioga's points along each axis",
    "Dane": "a quarter of Dane's points along each axis",
}
NAMES = {"sweep": "Kripke", "amg": "AMG2023", "hydro": "Laghos"}
# The rates that section V prints, by ranks: of bytes in B/s, and of messages per second.
PRINTED: dict[int, dict[str, tuple[dict[int, float], dict[int, float]]]] = {
    5: {"AMG2023": ({64: 30e6, 512: 10e6}, {64: 60e3, 512: 10e3}), "Kripke": ({64: 50e6}, {})},
    6: {"Kripke": ({8: 55e6, 64: 70e6}, {})},
}


def words(application: str, ranks: int) -> list[object]:
    """Return the arguments of a program for this number of ranks."""
    sides = grid(ranks)
    procs = ",".join(map(str, sides))
    if application == "sweep":
        zones = ",".join(str(ZONES * side) for side in sides)
        return ["--procs", procs, "--zones", zones, "--niter", ITERATIONS]
    return ["-p", 3, "-rs", 2, "-s", 4, "-ms", STEPS, "-procs", procs]


def profiles() -> Iterator[Path]:
    """Yield all profiles; run or simulate the missing ones."""
    place = Path("scaling")
    place.mkdir(exist_ok=True)
    for ranks in RUN:
        for name in ("sweep", "hydro"):
            file = place / f"{name}-{ranks}.halo"
            yield watched(file, ranks, name, words(name, ranks), cluster=SYSTEMS["here"])
    for system, sizes in (("Tioga", TIOGA), ("Dane", DANE)):
        for ranks, points in sizes.items():
            file = place / f"amg-{system.lower()}-{ranks}.halo"
            program = ["-P", *grid(ranks), "-n", *points]
            yield watched(file, ranks, "amg", program, cluster=AMG[system])

    def simulate(job: tuple[int, str]) -> Path:
        ranks, name = job
        file = place / f"{name}-{ranks}-simulated.halo"
        program = [name, *words(name, ranks)]
        return simulated(file, ranks, "fat-tree", program, cluster=SYSTEMS["simulated"])

    # A simulation uses one core. The longest is first.
    jobs = [(ranks, name) for ranks in reversed(SIMULATED) for name in ("hydro", "sweep")]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        yield from reversed(list(pool.map(simulate, jobs)))


def table_1(runs: Ensemble) -> pl.DataFrame:
    """Return the attributes of Table I: minimum and maximum per instance, over all ranks."""
    extremes = [f"{name}_instance_{end}" for name in COUNTED for end in ("min", "max")] + [
        "colls_instance_max"
    ]
    ends = [pl.col(one).min() if one.endswith("min") else pl.col(one).max() for one in extremes]
    parts = []
    for program, region in REGIONS.items():
        few = of(runs, "program", program)
        path = pl.col("path")
        rows = few.with_paths("regions").filter((path == region) | path.str.ends_with(f"/{region}"))
        chosen = rows.join(few.runs.select("profile", "cluster"), on="profile")
        keys = ["program", "cluster", "run_ranks"]
        parts.append(chosen.group_by(keys).agg(pl.lit(region).alias("region"), *ends).sort(keys))
    return pl.concat(parts).rename({"cluster": "run", "run_ranks": "ranks"})


def of(runs: Ensemble, column: str, *values: str) -> Ensemble:
    """Return the runs that have one of these values in a column."""
    chosen = runs.runs.filter(pl.col(column).is_in(values))
    return open_all(chosen["profile"].to_list())


def both(runs: Ensemble, program: str, cluster: str) -> Ensemble:
    """Return the runs of a program on a system."""
    return of(of(runs, "program", program), "cluster", cluster)


def figures(runs: Ensemble) -> Iterator[tuple[int, Sequence[Figure]]]:
    """Yield the number of each figure, and its plots."""
    for number, program, names in (
        (1, "sweep", ["main", "solve", "sweep_comm"]),
        (4, "hydro", ["main", "timestep", "halo_exchange", "broadcast", "reduction"]),
    ):
        # One plot per system, as in the paper: their times differ too much for one axis.
        yield (
            number,
            [
                titled(ensembles.over(both(runs, program, system), "time", names).drawn, number, system)
                for system in SYSTEMS.values()
            ],
        )
    amg = of(runs, "program", "amg")
    family = family_of(amg)
    for number, quantity in ((2, "most_bytes"), (3, "sources")):
        drawn = titled(ensembles.levels(amg, family, quantity, by="cluster").drawn, number)
        yield number, [with_hundred(drawn) if number == 3 else drawn]
    # In the paper: three programs on 64 to 896 processes, and two on 8 to 64.
    for number, programs, system in ((5, ("sweep", "hydro"), "simulated"), (6, ("sweep", "amg"), "here")):
        few = of(runs, "program", *programs)
        chosen = of(few, "cluster", SYSTEMS[system], AMG["Tioga"])
        rates = [
            titled(ensembles.over(chosen, what, ["main"]).drawn, number, SYSTEMS[system])
            for what in ("bandwidth", "message_rate")
        ]
        yield number, [with_printed(figure, number, column) for column, figure in enumerate(rates)]


def family_of(amg: Ensemble) -> str:
    """Return the name of the family of levels in the cycle."""
    names = ensembles.families(amg)["family"].unique().sort()
    return next(str(one) for one in names if str(one).endswith(LEVELS))


def titled(figure: Figure | None, number: int, *more: str) -> Figure:
    """Return the figure with its number in the title."""
    assert figure is not None
    return replace(figure, title=": ".join((f"Figure {number}", figure.title, *more)))


def with_printed(figure: Figure, number: int, column: int) -> Figure:
    """Return a plot of rates with the rates that the paper prints."""
    traces: list[Trace] = []
    for program, columns in PRINTED[number].items():
        points = columns[column]
        if points:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": f"{program}, the paper",
                    "x": list(points),
                    "y": list(points.values()),
                    "marker": {
                        "symbol": "star",
                        "size": 11,
                        "color": "#444" if program == "Kripke" else "#a60",
                    },
                    "hovertemplate": "%{x}: %{y:.4s}<extra>%{fullData.name}</extra>",
                }
            )
    layout = {**figure.layout, "showlegend": True}
    xaxis = {key: value for key, value in layout["xaxis"].items() if key not in ("tickvals", "ticktext")}
    ranks = sorted({x for trace in (*figure.traces, *traces) for x in trace["x"]})
    layout["xaxis"] = {**xaxis, "tickvals": ranks, "ticktext": [f"{x:g}" for x in ranks]}
    return replace(figure, traces=[*figure.traces, *traces], layout=layout)


def with_hundred(figure: Figure) -> Figure:
    """Return Figure 3 with the number of partners that the paper prints: level 6 on 512 processes of Dane."""
    title = next(note for note in figure.layout["annotations"] if AMG["Dane"] in note["text"])
    axes = {name: title[f"{name}ref"].removesuffix(" domain") for name in ("x", "y")}
    star: Trace = {
        "type": "scatter",
        "mode": "markers",
        "name": "level 6, the paper: more than 100",
        "x": [512],
        "y": [100],
        "marker": {"symbol": "star", "size": 11, "color": "#444"},
        "hovertemplate": "512: more than 100<extra>level 6, the paper</extra>",
        "xaxis": axes["x"],
        "yaxis": axes["y"],
    }
    layout = dict(figure.layout)
    for name in (one for one in figure.layout if one.startswith("xaxis")):
        more = {key: [*layout[name][key], value] for key, value in (("tickvals", 512), ("ticktext", "512"))}
        layout[name] = {**layout[name], **more}
    return replace(figure, traces=[*figure.traces, star], layout=layout)


def times(runs: Ensemble, names: Sequence[str]) -> pl.DataFrame:
    """Return mean seconds per rank in regions, by `run_ranks`."""
    frames = [ensembles.over(runs, "time", [name]).frame for name in names]
    totals = [
        frame.group_by("run_ranks").agg(pl.col("mean").sum().alias(name))
        for name, frame in zip(names, frames, strict=True)
    ]
    table = totals[0]
    for more in totals[1:]:
        table = table.join(more, on="run_ranks")
    return table.with_columns(pl.col("run_ranks").cast(pl.Int64)).sort("run_ranks")


def rates(runs: Ensemble) -> pl.DataFrame:
    """Return rates per rank in `main`, by `run_ranks`: bytes and messages per second."""
    found = [
        ensembles.over(runs, quantity, ["main"])
        .frame.select(pl.col("run_ranks").cast(pl.Int64), name=pl.col("mean"))
        .rename({"name": name})
        for quantity, name in (("bandwidth", "bytes"), ("message_rate", "messages"))
    ]
    return found[0].join(found[1], on="run_ranks").sort("run_ranks")


def amg_levels(amg: Ensemble) -> pl.DataFrame:
    """Return what each level of each run sends and receives, as `claims.amg_levels` needs it."""
    members = ensembles.families(amg).filter(family=family_of(amg)).select("path", "level")
    rows = amg.with_paths("regions").join(members, on="path")
    return rows.select(
        "run_ranks",
        "level",
        bytes="bytes_sent_max",
        total="bytes_sent_total",
        partners="src_ranks_mean",
        most_partners="src_ranks_max",
    )


def numbers(kripke: pl.DataFrame, main: pl.DataFrame) -> Iterator[Reproduced]:
    """Yield the rates of section V; `kripke` has those of simulated runs, and `main` their seconds."""
    printed = {
        name: float(text)
        for group in read_study(HERE).published.numbers
        for name, text in group.values.items()
    }
    name, ranks = "Kripke Dane 64: rate of bytes", 64
    seconds = dict(main.select("run_ranks", "main").rows())[ranks]
    rate = dict(kripke.select("run_ranks", "bytes").rows())[ranks] / 1e6
    theirs = printed[f"Kripke Dane {ranks}: bytes"] / ranks / 1e6
    why = (
        f"in the paper a process sends {theirs:.3g} MB (Table IV), at this rate in "
        f"{theirs / printed[name]:.3g} s of main; here "
        f"{rate * seconds:.3g} MB in {seconds:.3g} s, of a smaller problem"
    )
    yield Reproduced(name, rate, "simulated", why=why)
    for ranks in (64, 512):
        for kind in ("bytes", "messages"):
            yield Reproduced(f"AMG2023 Dane {ranks}: rate of {kind}", None, "measured", why=claims.SHARED)
    for ranks in (8, 64):
        yield Reproduced(f"Kripke Tioga {ranks}: rate of bytes", None, "measured", why=claims.NO_GPU)


def tested(runs: Ensemble) -> Iterator[Tested]:
    """Yield all claims of this part."""
    kripke, laghos = (both(runs, program, SYSTEMS["simulated"]) for program in ("sweep", "hydro"))
    amg = of(runs, "program", "amg")
    yield from claims.kripke_times(times(kripke, ["main", "solve", "sweep_comm"]))
    yield from claims.amg_levels(
        *(amg_levels(of(amg, "cluster", AMG[system])) for system in ("Tioga", "Dane"))
    )
    yield from claims.laghos_times(times(laghos, ["main", "timestep", "halo_exchange"]))
    yield from claims.rates(rates(kripke), rates(laghos))


def main() -> None:
    """Run all that is missing, and write the table, the figures and the verdicts."""
    runs = open_all(list(profiles()))
    table_1(runs).write_csv("table-1.csv")
    for number, drawn in figures(runs):
        write_figures(drawn, Path(f"figure-{number}.json"))
    kripke = both(runs, "sweep", SYSTEMS["simulated"])
    found = numbers(rates(kripke), times(kripke, ["main"]))
    write_reproduced("figures-1-6", list(found), list(tested(runs)))


if __name__ == "__main__":
    into()
    main()
