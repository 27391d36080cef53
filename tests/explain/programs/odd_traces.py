"""Exports traces as no recorder should leave them, by the kernels of a library: odd_traces.py LIBRARY.

It runs under a sanitizer. Hypothesis would take minutes there, so the traces are drawn from a seed.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from haloscope.explain.export import EXPORTS, TracedProfile
from haloscope.profile.trace import Trace
from support.kernels import use_kernels
from support.traces import Script, cg_trace, halo_trace

CALLS = ("MPI_Send", "MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Allreduce", "MPI_Ibcast", "MPI_Wtime")


def odd(seed: int) -> Trace:
    draw = random.Random(seed)
    script = Script(1 + seed % 4)
    paths = [0, script.path("a"), script.path("b", 1), -7, 99]

    def rank() -> int:
        return draw.randrange(script.ranks)

    def time() -> int:
        return draw.randrange(-50, 200)

    calls = [
        script.call(rank(), draw.choice(CALLS), time(), time(), draw.choice(paths), time(), draw.randrange(2))
        for _ in range(draw.randrange(40))
    ]
    for _ in range(draw.randrange(20)):
        script.region(rank(), time(), time(), draw.choice(paths), draw.randrange(2))
    for number in range(draw.randrange(20) if calls else 0):
        one, other = draw.choice(calls), draw.choice([*calls, -1, None])
        for write in (script.send, script.receive):
            write(one, draw.randrange(-1, 6), time(), time(), draw.choice([0, 0, 5, -1]), other)
        script.collective(one, draw.choice(CALLS), number, root=draw.randrange(-1, 6), completed=other)
    return script.trace()


use_kernels(sys.argv[1])
WHOLE = sys.argv[2] == "all"
steps = 50 if WHOLE else 5
with tempfile.TemporaryDirectory() as place:
    for trace in [
        Script(1).trace(),
        halo_trace(3, steps),
        cg_trace(5, steps),
        *map(odd, range(200 if WHOLE else 20)),
    ]:
        for name in ("perfetto", "goal"):
            EXPORTS[name].load()(TracedProfile(trace), Path(place, name))
