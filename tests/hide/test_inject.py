"""`haloscope inject`: messages are delayed, other calls are not."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import polars
import pytest
from scipy import stats

import haloscope as library
from support.applications import Application
from support.injected import Inject
from support.mpi import Mpi
from support.processes import run_program
from support.programs import Compiler

ONE = pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)


def test_every_form_of_receiving_is_delayed(mpi: Mpi, inject: Inject) -> None:
    done = inject(mpi, 2, "forms.c", options=["--latency", "constant:20ms", "--no-collectives"])
    assert len({name for name, _ in done.lines}) == 17
    for name, elapsed in done.lines:
        assert float(elapsed) > 0.0199, name
    assert set(done.latencies["what"]) == {"message"}
    assert len(done.latencies) == len(done.lines) == 2 * 17


def test_every_form_of_sending_is_delayed(mpi: Mpi, inject: Inject) -> None:
    """To each rank: also to the first one."""
    done = inject(mpi, 2, "sendings.c", options=["--latency", "constant:20ms", "--no-collectives"])
    assert len({name for name, *_ in done.lines}) == 14
    for name, rank, elapsed in done.lines:
        assert float(elapsed) > 0.0199, (name, rank)
    assert Counter(done.latencies["rank"]) == {0: 14, 1: 14}


def test_collectives_are_delayed_where_data_arrive(mpi: Mpi, inject: Inject) -> None:
    """The record shows that other ranks are not delayed."""
    done = inject(mpi, 3, "collectives.c", options=["--latency", "constant:60ms"])
    lines = done.lines
    held = {(name, int(rank)) for name, rank, time, _ in lines if float(time) > 0.0599}
    ranks = {0, 1, 2}
    expected = {(f"world/{name}", rank) for name in ("Barrier", "Allreduce") for rank in ranks}
    expected |= {("world/Bcast", 1), ("world/Bcast", 2), ("world/Reduce", 0)}
    expected |= {(f"half/{name}", rank) for name in ("Barrier", "Allreduce") for rank in (0, 2)}
    expected |= {("half/Bcast", 2), ("half/Reduce", 0)}
    expected |= {(name, rank) for name in ("Iallreduce", "Ibarrier") for rank in ranks}
    assert expected <= held
    drawn = done.latencies.filter(done.latencies["what"] == "collective")["rank"].value_counts()
    assert dict(drawn.rows()) == Counter(rank for _, rank in expected)


@ONE
@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("normal:40us,9us", stats.norm(40e-6, 9e-6)),
        ("gamma:2,20us", stats.gamma(2, scale=20e-6)),
        ("lognormal:1ms,0.4", stats.lognorm(s=0.4, scale=1e-3)),
    ],
)
def test_distributions(mpi: Mpi, inject: Inject, text: str, model: stats.rv_continuous) -> None:
    """Each message takes at least the latency in the record, and recorded latencies have the distribution."""
    done = inject(mpi, 2, "oneway.c", "600", options=["--latency", text, "--seed", "5"])
    injected = done.latencies["latency"].to_numpy()
    observed = np.array(done.lines, dtype=np.float64).ravel()
    assert len(observed) == len(injected) == 600
    assert (observed >= injected).all()
    assert stats.kstest(injected, model.cdf).pvalue > 0.01


@ONE
def test_measured_latencies_are_injected_again(mpi: Mpi, inject: Inject, tmp_path: Path) -> None:
    values = stats.gamma(1.5, scale=30e-6).rvs(500, random_state=1)
    (tmp_path / "measured.txt").write_text("\n".join(map(str, values)))
    options = ["--latency", "empirical:measured.txt"]
    done = inject(mpi, 2, "oneway.c", "600", options=options)
    assert stats.ks_2samp(done.latencies["latency"].to_numpy(), values).pvalue > 0.01


def test_a_single_delay_travels_one_rank_per_step(mpi: Mpi, inject: Inject) -> None:
    """The idle wave of an exchange with neighbours moves one rank per step (Afzal, Hager and Wellein)."""
    done = inject(mpi, 6, "wave.c", "12", "4", options=["--once", "0:4:150ms"])
    ends = [[float(word) for word in line] for line in done.lines]
    # A rank at the end sends one message per step, so message 4 is that of step 4.
    front = [5, 4, 5, 6, 7, 8]
    assert all(row[step] > 0.1499 for row, step in zip(ends, front, strict=True))
    assert len(done.latencies) == 2 * 5 * 12
    assert (done.latencies["latency"] > 0).sum() == 1
    assert done.latencies.filter(done.latencies["latency"] > 0).rows() == [
        row for row in done.latencies.rows() if row[-2] == 1
    ]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ([], "nothing to inject"),
        (["--latency", "sometimes:1ms"], "not one of none, constant:1ms"),
        (["--latency", "constant:soon"], "is not a time"),
        (["--latency", "normal:1ms"], "not one of none"),
        (["--latency", "gamma:-1,1ms"], "greater than 0"),
        (["--latency", "empirical:nowhere"], "No such file"),
        (["--latency", "model:nowhere.json"], "name a saved regime model"),
        (["--once", "2:1"], "not of the form 2:100:50ms"),
        (["--latency", "-1*constant:1ms"], "greater than 0"),
        (["--latency", "constant:1ms", "-o", "/nowhere/x.csv"], "/nowhere/x.csv"),
    ],
)
def test_errors_are_one_line(haloscope: Path, any_mpi: Mpi, options: list[str], complaint: str) -> None:
    command = [str(haloscope), "inject", *options, "--", *any_mpi.launch(1), "true"]
    done = run_program(command, env=any_mpi.environment(), status=None)
    assert done.returncode in (1, 2)
    (line,) = done.stderr.splitlines()
    assert complaint in line


def timeless(table: polars.DataFrame) -> list[tuple[object, ...]]:
    """Return the columns that do not depend on the speed of the machine."""
    return table.drop("time").rows()


MACHINE = {
    "format": "haloscope-regimes",
    "version": 1,
    "unit": "s",
    "family": "gamma",
    "regimes": [{"shape": 100.0, "scale": 1e-7, "shift": 0.0}, {"shape": 100.0, "scale": 2e-6, "shift": 0.0}],
    "start": [1.0, 0.0],
    "transition": [[0.9, 0.1], [0.1, 0.9]],
    "machine": {
        "start": [1.0, 0.0],
        "transition": [[0.95, 0.05], [0.1, 0.9]],
        "transitions": [[[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]],
    },
}


@ONE
def test_regimes_of_the_whole_machine(mpi: Mpi, inject: Inject, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text(json.dumps(MACHINE))
    keywords: dict[str, object] = {"latency": "model:model.json", "every": 4}
    done = inject(mpi, 4, "wave.c", "40", keywords=keywords)
    table = done.latencies
    # In this model the machine's state determines the regime, and the regime the size.
    assert (table["regime"] == table["machine_state"]).all()
    assert ((table["latency"] > 5e-5) == (table["regime"] == 1)).all()
    assert set(table["regime"]) == {0, 1}
    # An instance has four latencies, and all ranks have the same state in the same instance.
    states = {rank[0]: rows["machine_state"].to_list() for rank, rows in table.group_by("rank")}
    instances = {rank: row[::4] for rank, row in states.items()}
    shortest = min(map(len, instances.values()))
    assert len({tuple(row[:shortest]) for row in instances.values()}) == 1
    assert all(len(set(row[i : i + 4])) == 1 for row in states.values() for i in range(0, len(row), 4))
    # The same seed gives the same run, a different seed a different run.
    again = inject(mpi, 4, "wave.c", "40", keywords=keywords).latencies
    assert timeless(again) == timeless(table)
    other = inject(mpi, 4, "wave.c", "40", keywords=keywords | {"seed": 1}).latencies
    assert timeless(other) != timeless(table)
    # Twice the part above the mean of the fast regime, 10 us.
    keywords |= {"excess": True, "latency": "2*model:model.json"}
    above = inject(mpi, 4, "wave.c", "40", keywords=keywords).latencies["latency"].to_numpy()
    assert above == pytest.approx(2 * np.maximum(table["latency"].to_numpy() - 1e-5, 0), abs=2e-9)


@ONE
def test_the_recorder_measures_latencies(mpi: Mpi, inject: Inject, haloscope: Path, tmp_path: Path) -> None:
    around = [haloscope, "run", "--quiet", "-o", tmp_path / "run.halo", "--"]
    options = ["--latency", "constant:20ms"]
    done = inject(mpi, 2, "oneway.c", "10", options=options, around=around)
    assert len(done.latencies) == 10
    with library.open(tmp_path / "run.halo") as profile:
        calls = profile.table("calls").filter(profile.table("calls")["call"] == "MPI_Recv")
        (row,) = calls.to_dicts()
        assert row["calls"] == 10
        # Stamps are not counted as messages of the program.
        (region,) = (
            profile.table("regions").filter(profile.table("regions")["path"] == "<program>").to_dicts()
        )
        assert region["sends_total"] == 10
        assert profile.info["duration"] > 10 * 0.02  # one message after the other


@ONE
def test_results_are_unchanged(mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path: Path) -> None:
    cg = Application.build(compiler, mpi, "cg")
    arguments = ["--nx", "16", "--ny", "16", "--nz", "16", "--iterations", "4"]
    plain = cg.output(4, *arguments)
    options = ["--latency", "lognormal:300us,1", "-o", str(tmp_path / "injected.csv")]
    done = run_program(
        [str(haloscope), "inject", *options, "--", *mpi.launch(4), str(cg.program), *arguments],
        env=mpi.environment(),
        cwd=tmp_path,
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    for name in ("residual", "error"):
        assert plain[name]
        assert [row[1:] for row in lines if row[0] == name] == plain[name]
