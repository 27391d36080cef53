"""Running programs in the text format that Prometheus's node exporter collects from files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from haloscope.base.files import write_whole
from haloscope.watch.live import Process
from haloscope.watch.rates import RunningProgram


@dataclass(frozen=True)
class _Metric:
    """One metric, with a value per rank, or with one per part of it."""

    name: str
    kind: str
    help: str
    value: Callable[[Process], float | dict[str, float]]


def _mpi_seconds(process: Process) -> dict[str, float]:
    return {part: getattr(process.sums, f"{part}_time") for part in ("p2p", "coll", "rma", "io", "other")}


def _in_call(process: Process) -> float:
    call = process.main.call
    return call.since or 0.0 if call is not None and not process.finalized else 0.0


_UP = "Whether the rank's process is alive."
_WAITS = "Seconds in MPI calls that wait for other ranks."
_CALL = "Seconds so far in the current MPI call of the rank, 0 outside MPI."
_SENT, _RECEIVED = (f"Bytes of point-to-point messages {way}." for way in ("sent", "received"))
_SENDS, _RECEIVES = (f"Point-to-point messages {way}." for way in ("sent", "received"))
_METRICS = (
    _Metric("haloscope_rank_up", "gauge", _UP, lambda p: p.state != "dead"),
    _Metric("haloscope_run_seconds", "gauge", "Seconds since MPI_Init.", lambda p: p.elapsed),
    _Metric("haloscope_mpi_seconds_total", "counter", "Seconds in MPI calls, by their kind.", _mpi_seconds),
    _Metric("haloscope_mpi_wait_seconds_total", "counter", _WAITS, lambda p: p.sums.wait_time),
    _Metric("haloscope_sent_bytes_total", "counter", _SENT, lambda p: p.sums.bytes_sent),
    _Metric("haloscope_received_bytes_total", "counter", _RECEIVED, lambda p: p.sums.bytes_recv),
    _Metric("haloscope_sent_messages_total", "counter", _SENDS, lambda p: p.sums.sends),
    _Metric("haloscope_received_messages_total", "counter", _RECEIVES, lambda p: p.sums.recvs),
    _Metric("haloscope_collectives_total", "counter", "Collective operations.", lambda p: p.sums.colls),
    _Metric("haloscope_call_seconds", "gauge", _CALL, _in_call),
)


def exposition(programs: Sequence[RunningProgram]) -> str:
    """Return the text: each metric with its help and type, then a sample per rank."""
    lines: list[str] = []
    for metric in _METRICS:
        lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}"]
        for program in programs:
            for process in program.after:
                labels, value = _labels(program, process), metric.value(process)
                if isinstance(value, dict):
                    lines += [_sample(metric.name, {**labels, "part": part}, x) for part, x in value.items()]
                else:
                    lines.append(_sample(metric.name, labels, value))
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
