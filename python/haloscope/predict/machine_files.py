"""Files of machine models: reading by name or path, and writing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from haloscope.base.files import write_whole
from haloscope.predict.described_files import (
    find_described,
    list_names,
    make_error,
    parse_yaml,
    read_described,
)
from haloscope.predict.machine import FittedAlgorithm, Link, Machine

_SHIPPED = files("haloscope.predict") / "machines"
_TIMES = ((Decimal(1), "s"), (Decimal("1e-3"), "ms"), (Decimal("1e-6"), "us"))
_SPEEDS = ((Decimal("1e9"), "GB/s"), (Decimal("1e6"), "MB/s"), (Decimal("1e3"), "kB/s"))
_FORM = "# Times have units (G and beta: for each byte); the form is in docs/reference/bench-model.md.\n"
# The key `fitted` with all its lines, up to the next key.
_OLD = re.compile(r"^fitted:.*?(?=^[^\s#-]|\Z)", re.MULTILINE | re.DOTALL)
_HEAD = """\
# By `haloscope bench fit`: values with 95 % intervals; seconds, or factors of the levels' costs.
"""


def machines() -> list[str]:
    """Return the names of the machine models that come with Haloscope."""
    return list_names(_SHIPPED)


def load_machine(machine: str | Path) -> Machine:
    """Read a machine model: a name from `machines()`, or the path of a YAML file.

    Raises:
        MachineError: The model is not found, unreadable or invalid.
    """
    return _parse(_read(str(machine)), str(machine))


def machine_source(machine: str | Path) -> str:
    """Return the YAML of a machine that `load_machine` can read."""
    text = _read(str(machine))
    _parse(text, str(machine))
    return text.decode()


def _read(name: str) -> bytes:
    return read_described(find_described(name, _SHIPPED, machines(), "machine"), name, "machine model")


def _parse(text: bytes, name: str) -> Machine:
    values = parse_yaml(text, name)
    try:
        return Machine.model_validate(values)
    except ValidationError as error:
        raise make_error(error, name, "machine model", "bench-model.md") from None


def write_machine(machine: Machine, output: Path, remarks: Sequence[str] = ()) -> None:
    """Write a model to `output`, which is replaced only by a complete file.

    Raises:
        OutputError: The file cannot be written.
    """
    write_whole(output, machine_text(machine, remarks), "machine model")


def machine_text(machine: Machine, remarks: Sequence[str] = ()) -> str:
    """Return the YAML of a machine; `remarks` become comments at the top."""
    return "".join(f"{line}\n" for line in _write_lines(machine, remarks))


def _write_lines(machine: Machine, remarks: Sequence[str]) -> Iterator[str]:
    for remark in remarks:
        yield f"# {' '.join(remark.split())}"
    yield _FORM.rstrip()
    for key in ("name", "description", "source"):
        if getattr(machine, key):
            yield f"{key}: {_quote(getattr(machine, key))}"
    yield "levels:"
    for level in machine.levels:
        yield f"  - name: {_quote(level.name)}"
        yield f"    cores: {level.cores}"
        yield from (f"    {line}" for line in _link_lines(level))
    if machine.smt:
        yield "smt:"
        yield from (f"  {line}" for line in _link_lines(machine.smt))
    if machine.arithmetic:
        yield f"arithmetic: {_format_speed(machine.arithmetic)}"
    if machine.matrix:
        yield "matrix:"
        yield f"  cores: [{', '.join(map(str, machine.matrix.cores))}]"
        yield "  microseconds:"
        for row in machine.matrix.microseconds:
            yield f"    - [{', '.join('null' if time is None else f'{time:g}' for time in row)}]"


def _link_lines(link: Link) -> Iterator[str]:
    yield f"latency: {_format_time(link.latency)}"
    if link.latency_interval:
        yield f"latency_interval: {_format_interval(link.latency_interval)}"
    if link.bandwidth:
        yield f"bandwidth: {_format_speed(link.bandwidth)}"
    if link.bandwidth_interval:
        yield f"bandwidth_interval: [{', '.join(map(_format_speed, link.bandwidth_interval))}]"
    for name in ("hockney", "loggp"):
        model = getattr(link, name)
        if model:
            yield f"{name}:"
            yield from (f"  {key}: {_format_value(value)}" for key, value in model if value is not None)
    yield from _table_lines(link)


def _table_lines(link: Link) -> Iterator[str]:
    """Yield the lines of tables with one row per size."""
    if link.protocols:
        yield "protocols:"
        for protocol in link.protocols:
            name = f"name: {_quote(protocol.name)}, " if protocol.name else ""
            speed = f", bandwidth: {_format_speed(protocol.bandwidth)}" if protocol.bandwidth else ""
            yield f"  - {{from: {protocol.first}, {name}latency: {_format_time(protocol.latency)}{speed}}}"
    if link.plogp:
        yield "plogp:"
        for row in link.plogp:
            times = f"g: {_format_time(row.g)}, os: {_format_time(row.send)}, or: {_format_time(row.receive)}"
            yield f"  - {{bytes: {row.bytes}, {times}}}"
    if link.measured:
        yield "measured:"
        for point in link.measured:
            spread = f", interval: {_format_interval(point.interval)}" if point.interval else ""
            gap = "" if point.gap is None else f", gap: {_format_time(point.gap)}"
            yield f"  - {{bytes: {point.bytes}, time: {_format_time(point.time)}{spread}{gap}}}"


def _format_value(value: Any) -> str:
    return _format_interval(value) if isinstance(value, tuple) else _format_time(value)


def _format_interval(interval: tuple[Decimal, Decimal]) -> str:
    return f"[{', '.join(map(_format_time, interval))}]"


def _format_time(seconds: Decimal) -> str:
    if not seconds:
        return "0"
    scale, unit = next((unit for unit in _TIMES if seconds >= unit[0]), (Decimal("1e-9"), "ns"))
    return f"{_format_number(seconds / scale)} {unit}"


def _format_speed(speed: Decimal) -> str:
    scale, unit = next((unit for unit in _SPEEDS if speed >= unit[0]), (Decimal(1), "B/s"))
    return f"{_format_number(speed / scale)} {unit}"


def _format_number(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def save_fitted(machine: str | Path, fitted: Sequence[FittedAlgorithm], output: str | Path) -> None:
    """Write the YAML of a machine, given by name or path, with its fitted algorithms replaced.

    Raises:
        MachineError: The machine cannot be read.
        OutputError: The result cannot be written.
    """
    text = _OLD.sub("", machine_source(machine).replace(_HEAD, "")).rstrip() + "\n"
    rows = [model.model_dump(mode="json", by_alias=True, exclude_defaults=True) for model in fitted]
    text += _HEAD + yaml.safe_dump({"fitted": rows}, sort_keys=False, default_flow_style=None)
    write_whole(Path(output), text, "machine model")
