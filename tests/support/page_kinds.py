"""One page of each kind that Haloscope writes, from small synthetic inputs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import haloscope
from haloscope import explain
from haloscope.explain.comparing import compare
from haloscope.hide.improve import Improvement, Proof, Remedy, TrialRun, write_improve_page
from haloscope.markov import RegimeOptions, regimes
from haloscope.predict import bench, load_machine, tune, write_machine_page, write_measured_page, write_page
from haloscope.reproduce.campaign import Campaign, write_report
from haloscope.reproduce.study import read_study, run_study, write_study_page
from support.profiles import draft, path_rows, process_rows
from support.repeated_runs import repeated_run
from support.sample import Grid, halo_profile
from support.timings import make_timings
from support.traced_drafts import CALL, WORLD, symbol, traced_draft

GRIDS: tuple[Grid, ...] = ((1, 1, 1), (2, 1, 1), (2, 2, 1), (2, 2, 2), (4, 2, 2), (4, 4, 2))
_SIZES = [1 << power for power in range(0, 21, 2)]

# A point of a page of gains: the rule's algorithm is twice as fast as the default.
GAIN = {
    "collective": "bcast",
    "ranks": 2,
    "bytes": 8,
    "default_algorithm": "binomial",
    "default_time": 2e-6,
    "algorithm": "chain",
    "tuned_time": 1e-6,
    "gain": 2.0,
    "gain_low": 1.5,
    "gain_high": 2.5,
    "verified": True,
}


def write_runs(folder: Path, grids: tuple[Grid, ...] = GRIDS, turns: int = 2) -> list[Path]:
    """Write `turns` profiles of a halo exchange per grid of processes."""
    paths = []
    for number, grid in enumerate(grids):
        for turn in range(turns):
            run = halo_profile(grid, seed=2 * number + turn)
            paths.append(run.write(folder / f"run-{number}-{turn}.halo"))
    return paths


def _profile(folder: Path) -> Path:
    haloscope.report(halo_profile((2, 2, 1)).write(folder / "run.halo"), folder / "page.html")
    return folder / "page.html"


def _trace(folder: Path) -> Path:
    send, receive = (
        symbol(n, CALL, call=call, path=1, bytes=8, communicator=WORLD, action=n, size=2)
        for n, call in ((1, "MPI_Send"), (2, "MPI_Recv"))
    )
    times = np.array([[10 * at, 10 * at + 5] for at in range(8)]) * 1000
    run = traced_draft([send | {"partner": 1}, receive | {"partner": 1}], [times, times + 700])
    haloscope.report(run.write(folder / "run.halo"), folder / "page.html")
    return folder / "page.html"


def _series(folder: Path) -> Path:
    durations = make_timings("fixed", 4, 200).durations
    rows = [
        {"path": 1, "rank": rank, "instance": at, "start": 0.1 * at, "duration": float(value)}
        for rank, row in enumerate(durations)
        for at, value in enumerate(row)
    ]
    run = draft({"ranks": 4}, paths=path_rows("halo"), processes=process_rows(*"aabb"), series=rows)
    haloscope.report(run.write(folder / "run.halo"), folder / "page.html")
    return folder / "page.html"


def _scaling(folder: Path) -> Path:
    haloscope.report(write_runs(folder), folder / "page.html")
    return folder / "page.html"


def _comparison(folder: Path) -> Path:
    random = np.random.default_rng(3)
    sides = [
        [
            repeated_run(random, 0.05, slower, messages=count).write(folder / f"{count}-{turn}.halo")
            for turn in range(4)
        ]
        for count, slower in ((400, 1.0), (500, 1.02))
    ]
    compare(sides[0], sides[1], output=folder / "page.html")
    return folder / "page.html"


def _regimes(folder: Path) -> Path:
    file = make_timings("fixed", 8, 200).save(folder / "fixed.npz")
    regimes(file, RegimeOptions(starts=1, emission="lognormal"), output=folder / "page.html")
    return folder / "page.html"


def sweep_records(gain: float = 1.6) -> list[dict[str, Any]]:
    """Return a sweep of bcast and allreduce in which `chain` is `gain` times as fast for large messages."""
    random = np.random.default_rng(7)
    records: list[dict[str, Any]] = [
        {
            "record": "environment",
            "library": "Open MPI 4.1.4",
            "host": "node7",
            "processor": "a processor",
            "cores": 8,
            "usable_cores": 8,
        }
    ]
    for collective in ("bcast", "allreduce"):
        for ranks in (2, 4, 8):
            for size in _SIZES:
                base = np.log2(ranks) * (2000 + 0.3 * size)
                ways = {"default": base, "binomial": base, "chain": base / gain if size > 5000 else 2 * base}
                for number, (name, time) in enumerate(ways.items()):
                    samples = time * np.exp(random.normal(0, 0.02, (ranks, 20)))
                    records.append(
                        {
                            "record": "point",
                            "collective": collective,
                            "algorithm": name,
                            "number": number or None,
                            "ranks": ranks,
                            "bytes": size,
                            "status": "ok",
                            "samples_ns": samples.round().tolist(),
                        }
                    )
    return records


def write_sweep(file: Path, gain: float = 1.6) -> Path:
    """Write `sweep_records` as a sweep's file."""
    file.write_text("".join(json.dumps(record) + "\n" for record in sweep_records(gain)))
    return file


def _sweep(folder: Path) -> Path:
    bench.write_page(bench.Sweep.read(write_sweep(folder / "sweep.jsonl")), folder / "page.html")
    return folder / "page.html"


def _machine(folder: Path) -> Path:
    points = [
        {"bytes": size, "time": f"{0.5 + size / 1e4:g} us", "gap": f"{0.1 + size / 1e4:g} us"}
        for size in _SIZES
    ]
    levels = [
        {
            "name": name,
            "cores": cores,
            "latency": f"{time} us",
            "latency_interval": [f"{time} us", f"{1.1 * time} us"],
            "bandwidth": "10 GB/s",
            "measured": points,
            "protocols": [
                {"from": first, "latency": f"{factor * time} us", "bandwidth": "10 GB/s"}
                for first, factor in ((0, 1), (4096, 3))
            ],
        }
        for name, cores, time in (("L3", 4, 0.2), ("node", 8, 0.5))
    ]
    file = folder / "machine.yaml"
    about = {
        "name": "machine",
        "description": "node7: 1 × 8 cores, a processor",
        "source": "haloscope 0.1.0 bench p2p, Open MPI 4.1.4, 2026-01-01",
    }
    file.write_text(json.dumps(about | {"levels": levels}))  # YAML, too
    write_machine_page(load_machine(file), folder / "page.html")
    return folder / "page.html"


def _model(folder: Path) -> Path:
    rows = pl.DataFrame(
        [
            {
                "collective": "bcast",
                "algorithm": name,
                "ranks": ranks,
                "bytes": size,
                "time": factor * ranks * (1e-6 + size * 1e-9),
            }
            for name, factor in (("chain", 1.0), ("binomial", 0.7))
            for ranks in (2, 4, 8, 16)
            for size in (8, 8192)
        ]
    )
    write_page(rows, load_machine("orfeo"), folder / "page.html")
    return folder / "page.html"


def _measured_model(folder: Path) -> Path:
    points = bench.Sweep.read(write_sweep(folder / "sweep.jsonl")).points
    rows = points.with_columns(modelled=pl.col("time") * 1.1, error=0.1)
    write_measured_page(rows, load_machine("orfeo"), folder / "page.html")
    return folder / "page.html"


def _gains(folder: Path) -> Path:
    rows = [GAIN | {"ranks": ranks, "bytes": size} for ranks in (2, 4) for size in (8, 1024)]
    tune.write_page(
        tune.Gains("Open MPI 4.1.4", "4 of 4 points have a rule", {"Rules": "rules.conf"}, rows),
        folder / "page.html",
    )
    return folder / "page.html"


def _improvement(folder: Path) -> Path:
    runs = [TrialRun((), 1.0 + 0.1 * at, "") for at in range(3)] + [TrialRun(("a setting",), 0.97, "")]
    found = Improvement(
        ("mpiexec", "-n", "4", "./app"),
        (Remedy("a setting", "the environment sets it"),),
        tuple(runs),
        (Proof(("a setting",), (), (1.0, 1.2, 1.1), (0.6, 0.7, 1.3), 1.67, 0.9, 3.12, False),),
        (),
        ("42 % of the run: rank 0 computes 78 % longer than the mean of all ranks",),
    )
    write_improve_page(found, folder / "page.html")
    return folder / "page.html"


CAMPAIGN = """
campaign: rings
retries: 0
systems:
  here: {cores: 2, oversubscribe: true, launch: "mpiexec -n {ranks}"}
programs:
  ring: {command: ./ring, figures: {moved: "moved ([0-9]+)"}}
experiments:
  strong: {program: ring, scaling: strong, ranks: [2, 4, 8], repetitions: 2}
variants:
  watched: {watch: true}
"""


def write_campaign(folder: Path, failed: int = 1) -> Campaign:
    """Write a campaign whose last `failed` runs failed, with a journal and a profile per finished run."""
    (folder / "rings.yaml").write_text(CAMPAIGN)
    campaign = Campaign.opened(folder / "rings.yaml", folder / "rings")
    lines = []
    for number, point in enumerate(campaign.points):
        place = campaign.place(point.name, 1)
        place.mkdir(parents=True)
        lines.append({"event": "start", "run": point.name, "attempt": 1})
        end = {"event": "end", "run": point.name, "attempt": 1, "host": "node7"}
        if number >= len(campaign.points) - failed:
            lines.append({**end, "outcome": "failed", "reason": "exit status 1: no memory"})
            continue
        grid = {2: (2, 1, 1), 4: (2, 2, 1), 8: (2, 2, 2)}[point.ranks]
        halo_profile(grid, regions=1, seed=number).write(place / "profile.halo")
        lines.append({**end, "outcome": "done", "seconds": 8.0 / point.ranks, "figures": {"moved": 100.0}})
    (folder / "rings" / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return campaign


def _campaign(folder: Path) -> Path:
    write_report(write_campaign(folder), folder / "page.html")
    return folder / "page.html"


STUDY = """
title = "A study"
paper = "A. Author, A paper, 2025"
[[part]]
name = "table-1"
title = "Table 1"
script = "script.py"
tables = ["table-1.csv"]
minutes = 0.1
units = {mean = "s"}
text = ["Times are of this machine."]
"""
_RESULT = "region,mean,our_mean,equal\\nsolve,5.89e-05,5.91e-05,true\\nhalo,1.2e-3,2.4e-3,false\\n"


def _study(folder: Path) -> Path:
    (folder / "study").mkdir()
    (folder / "study" / "study.toml").write_text(STUDY)
    (folder / "study" / "script.py").write_text(f'open("table-1.csv", "w").write("{_RESULT}")\n')
    study = read_study(folder / "study")
    run_study(study, folder / "out")
    write_study_page(study, folder / "out", folder / "page.html")
    return folder / "page.html"


def _history(folder: Path) -> Path:
    rows = [
        {
            "program": "cg",
            "ranks": 4,
            "start": float(number),
            "duration": seconds,
            "rank_time": 4 * seconds,
            "mpi_time": seconds,
            "metadata": json.dumps({"commit": commit}),
        }
        for number, (commit, seconds) in enumerate(
            (f"c{commit}", 1.0 + 0.01 * turn + 0.2 * (commit > 2)) for commit in range(5) for turn in range(4)
        )
    ]
    commits = explain.commits(pl.DataFrame(rows, schema=explain.HISTORY, orient="row"))
    (folder / "page.html").write_text(explain.make_commit_page(commits))
    return folder / "page.html"


KINDS: dict[str, Callable[[Path], Path]] = {
    "profile": _profile,
    "trace": _trace,
    "series": _series,
    "scaling": _scaling,
    "comparison": _comparison,
    "regimes": _regimes,
    "sweep": _sweep,
    "machine": _machine,
    "model": _model,
    "measured model": _measured_model,
    "gains": _gains,
    "improvement": _improvement,
    "campaign": _campaign,
    "history": _history,
    "study": _study,
}
