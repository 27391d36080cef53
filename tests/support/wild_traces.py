"""Traces as no recorder should leave them, for exporters that have to cope."""

from __future__ import annotations

from hypothesis import strategies as st

from haloscope.profile.trace import Trace
from support.traces import Script

_CALLS = ("MPI_Send", "MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Allreduce", "MPI_Ibcast", "MPI_Wtime")
_TIMES = st.integers(-50, 200)


@st.composite
def wild_traces(draw: st.DrawFn) -> Trace:
    """Return a trace whose calls and regions overlap, end before they begin, or at the same time, whose
    messages have no other side, no communicator or a completion elsewhere, and whose paths are not known.
    """
    ranks = draw(st.integers(1, 3))
    script = Script(ranks)
    paths = [0] + [script.path(name, draw(st.integers(0, 0))) for name in ("a", 'b"\n', "a")]
    paths.append(script.path("inner", paths[1]))
    rank, path = st.integers(0, ranks - 1), st.sampled_from([*paths, -1, 99])
    calls = [
        script.call(
            draw(rank),
            draw(st.sampled_from(_CALLS)),
            draw(_TIMES),
            draw(_TIMES),
            draw(path),
            draw(st.integers(-1, 9)),
            draw(st.integers(0, 1)),
        )
        for _ in range(draw(st.integers(0, 25)))
    ]
    for _ in range(draw(st.integers(0, 12))):
        script.region(draw(rank), draw(_TIMES), draw(_TIMES), draw(path), draw(st.integers(0, 1)))
    if calls:
        any_call = st.sampled_from(calls)
        completed = st.one_of(st.none(), st.just(-1), any_call)
        partner, communicator = st.integers(-1, ranks), st.sampled_from([0, 0, 5])
        for kind in (script.send, script.receive):
            for _ in range(draw(st.integers(0, 10))):
                kind(
                    draw(any_call),
                    draw(partner),
                    draw(st.integers(0, 100)),
                    draw(st.integers(-1, 3)),
                    draw(communicator),
                    draw(completed),
                )
        for number in range(draw(st.integers(0, 5))):
            operation = draw(st.sampled_from(["MPI_Allreduce", "MPI_Ibcast", "odd"]))
            script.collective(
                draw(any_call),
                operation,
                number,
                root=draw(partner),
                communicator=draw(communicator),
                completed=draw(completed),
            )
    return script.trace()
