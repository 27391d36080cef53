"""Running programs in the text format that Prometheus's node exporter collects from files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from haloscope.base.files import write_whole
from haloscope.watch.live import Process
from haloscope.watch.rates import RunningProgram

Sample = tuple[Mapping[str, str], float]


@dataclass(frozen=True)
class _Metric:
    """One metric, with a sample per rank."""

    name: str
    kind: str
    help: str
    sample: Callable[[Process], Iterator[Sample]]


def _make_sampler(value: Callable[[Process], float]) -> Callable[[Process], Iterator[Sample]]:
    def samples(process: Process) -> Iterator[Sample]:
        yield {}, value(process)

    return samples


def _mpi_seconds(process: Process) -> Iterator[Sample]:
    sums = process.sums
    for part in ("p2p", "coll", "rma", "io", "other"):
        yield {"part": part}, getattr(sums, f"{part}_time")


def _in_call(process: Process) -> float:
    call = process.main.call
    return call.since or 0.0 if call is not None and not process.finalized else 0.0


_METRICS = (
    _Metric(
        "haloscope_rank_up",
        "gauge",
        "Whether the rank's process is alive.",
        _make_sampler(lambda p: p.state != "dead"),
    ),
    _Metric("haloscope_run_seconds", "gauge", "Seconds since MPI_Init.", _make_sampler(lambda p: p.elapsed)),
    _Metric("haloscope_mpi_seconds_total", "counter", "Seconds in MPI calls, by their kind.", _mpi_seconds),
    _Metric(
        "haloscope_mpi_wait_seconds_total",
        "counter",
        "Seconds in MPI calls that wait for other ranks.",
        _make_sampler(lambda p: p.sums.wait_time),
    ),
    _Metric(
        "haloscope_sent_bytes_total",
        "counter",
        "Bytes of point-to-point messages sent.",
        _make_sampler(lambda p: p.sums.bytes_sent),
    ),
    _Metric(
        "haloscope_received_bytes_total",
        "counter",
        "Bytes of point-to-point messages received.",
        _make_sampler(lambda p: p.sums.bytes_recv),
    ),
    _Metric(
        "haloscope_sent_messages_total",
        "counter",
        "Point-to-point messages sent.",
        _make_sampler(lambda p: p.sums.sends),
    ),
    _Metric(
        "haloscope_received_messages_total",
        "counter",
        "Point-to-point messages received.",
        _make_sampler(lambda p: p.sums.recvs),
    ),
    _Metric(
        "haloscope_collectives_total",
        "counter",
        "Collective operations.",
        _make_sampler(lambda p: p.sums.colls),
    ),
    _Metric(
        "haloscope_call_seconds",
        "gauge",
        "Seconds so far in the current MPI call of the rank, 0 outside MPI.",
        _make_sampler(_in_call),
    ),
)


def exposition(programs: Sequence[RunningProgram]) -> str:
    """Return the text: each metric with its help and type, then a sample per rank."""
    lines: list[str] = []
    for metric in _METRICS:
        lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}"]
        lines += [
            _sample(metric.name, {**_labels(program, process), **more}, value)
            for program in programs
            for process in program.after
            for more, value in metric.sample(process)
        ]
    return "\n".join(lines) + "\n"


def write_exposition(programs: Sequence[RunningProgram], output: Path) -> None:
    """Replace a file in one step, as the exporter may read it at any time. Raises `OutputError`."""
    write_whole(output, exposition(programs), "metrics")


def _labels(program: RunningProgram, process: Process) -> dict[str, str]:
    return {"run": program.run, "program": process.program, "host": process.host, "rank": str(process.rank)}


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    text = ",".join(f'{label}="{_escape(content)}"' for label, content in labels.items())
    return f"{name}{{{text}}} {float(value)!r}"


def _escape(text: str) -> str:
    """Return a label's value; control characters become question marks."""
    whole = text.encode(errors="replace").decode(errors="replace")
    return whole.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
