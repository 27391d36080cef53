"""The latency above which pipelined and s-step conjugate gradients are faster: model and injection."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haloscope.hide import build_fem
from support.mpi import Mpi
from support.processes import run_program

Fem = Callable[[str], Path]


def predictions(program: Path, machines: list[list[float]]) -> list[tuple[list[float], list[float]]]:
    """Return, for the pipelined and the 4-step method, the times of an iteration of CG and of theirs, and the
    crossover.
    """
    text = "\n".join(" ".join(f"{value:.12g}" for value in machine) for machine in machines)
    done = run_program([program], text=text)
    rows = [[float(word) for word in line.split()] for line in done.stdout.splitlines()]
    return list(zip(rows[::2], rows[1::2], strict=True))


def test_both_methods_take_equally_long_at_the_crossover(fem: Fem) -> None:
    """On any machine, plain CG is faster below the crossover, the other method above it."""
    chance, program = random.Random(3), fem("crossover.cpp")
    machines = []
    for _ in range(200):
        stream = 10 ** chance.uniform(-10, -8.5)
        costs = [10 ** chance.uniform(-5, -2), stream, stream * chance.uniform(1, 3), stream / 10]
        machines.append([*costs, 1e-6, 10 ** chance.uniform(2, 6.5)])
    for machine in machines:
        machine[5] = float(int(machine[5]))
    first = predictions(program, machines)
    for method in range(2):
        crossovers = [both[method][2] for both in first]
        assert any(crossovers)
        for factor in (0.5, 1.0, 2.0):
            there = [
                [*machine[:4], factor * latency, machine[5]]
                for machine, latency in zip(machines, crossovers, strict=True)
            ]
            for latency, both in zip(crossovers, predictions(program, there), strict=True):
                plain, other, again = both[method]
                assert again == pytest.approx(latency, rel=1e-6)
                if latency > 0:
                    ahead = (plain - other) * (factor - 1)
                    assert ahead > 0 or factor == 1
                    assert factor != 1 or other == pytest.approx(plain, rel=1e-6)


def test_where_a_line_crosses_zero(script: Callable[..., Any]) -> None:
    crossing = script("crossover", "benchmarks/overlap", "benchmarks").crossing
    latencies = np.array([1.0, 2.0, 4.0, 5.0])
    assert crossing(latencies, 3 * latencies - 7.5) == pytest.approx(2.5)


@pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
def test_each_method_waits_for_its_allreduces(mpi: Mpi, fem: Fem, haloscope: Path, tmp_path: Path) -> None:
    """An iteration waits for three Allreduces, for one that overlaps its work, or for a quarter of one."""
    fem("crossover.cpp")  # skips if a component is missing
    late, iterations = 4e-3, 10
    inject = [str(haloscope), "inject", "--quiet", "--latency", f"constant:{1e3 * late}ms", "--"]
    program = [*mpi.launch(2), str(build_fem(quiet=True).poisson), "--jacobi", "--tolerance", "0"]
    program += ["--iterations", str(iterations), "--solver"]

    def seconds(*solver: str) -> float:
        done = run_program([*inject, *program, *solver], env=mpi.environment(), cwd=tmp_path)
        said = {words[0]: words[1] for line in done.stdout.splitlines() if (words := line.split())}
        if solver != ("cg",):
            assert float(said["allreduce"]) > late
            assert float(said["crossover"]) >= 0  # 0 where the other one costs less by chance
        return float(said["time"]) / iterations

    assert seconds("cg") > 3 * late
    assert seconds("pipelined") > late
    assert seconds("s-step", "--steps", "4") > late / 4
