"""Synthetic years of a machine: frames with the columns of `haloscope.history`.

Programs differ in run time, in its variation, and in their number of runs. Users prefer some hosts. One run
in twenty is delayed. A host's speed varies from day to day, and a program's from month to month. `slow` maps
hosts to a slowdown of all their runs.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

_DAYS = 365


def year(
    seed: int,
    runs: int = 10_000,
    hosts: int = 100,
    programs: int = 20,
    slow: Mapping[int, float] | None = None,
) -> pl.DataFrame:
    """Return a frame as of `haloscope.history`, with the columns that are used to compare hosts."""
    random = np.random.default_rng(seed)
    speed = np.zeros(hosts)
    for host, by in (slow or {}).items():
        speed[host] = np.log1p(by)
    days = 0.01 * random.standard_normal((hosts, _DAYS))
    often = random.dirichlet(np.full(programs, 0.5))
    spread = random.uniform(0.01, 0.1, programs)
    length = random.uniform(2, 8, programs)
    months = 0.05 * random.standard_normal((programs, 12)).cumsum(axis=1)
    liked = random.dirichlet(np.full(hosts, 2.0), programs)
    imbalance = 0.1 * random.standard_normal((programs, 8))
    rows = []
    for run in range(runs):
        program = int(random.choice(programs, p=often))
        day, size = int(random.integers(_DAYS)), int(random.choice([1, 1, 1, 1, 2, 4, 8]))
        chosen = random.choice(hosts, size, replace=False, p=liked[program])
        common = length[program] + months[program, day * 12 // _DAYS]
        common += spread[program] * random.standard_normal()
        common += random.exponential(0.3) if random.random() < 0.05 else 0.0
        own = 0.01 * random.standard_normal(size) + (imbalance[program, :size] if size > 1 else 0)
        compute = np.exp(common + own + speed[chosen] + days[chosen, day])
        rows.append(
            {
                "profile": f"{run}.halo",
                "program": f"program {program}",
                "command": f"./program{program}",
                "mpi_library": "Open MPI",
                "ranks": 4 * size,
                "hosts": size,
                "start": 86400.0 * (20_000 + day) + float(random.uniform(0, 86400)),
                "partial": False,
                "partition": "all",
                "host_names": [f"n{host:03}" for host in chosen],
                "host_compute": compute.tolist(),
            }
        )
    return pl.DataFrame(rows)
