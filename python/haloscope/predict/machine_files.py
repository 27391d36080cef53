"""Machine models as files: read by name or path, written as people would, or after a fit."""

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
from haloscope.predict.described_files import find_described, invalid, names_in, parse_yaml, read_described
from haloscope.predict.machine import FittedAlgorithm, Link, Machine

_SHIPPED = files("haloscope.predict") / "machines"
_TIMES = ((Decimal(1), "s"), (Decimal("1e-3"), "ms"), (Decimal("1e-6"), "us"))
_SPEEDS = ((Decimal("1e9"), "GB/s"), (Decimal("1e6"), "MB/s"), (Decimal("1e3"), "kB/s"))
_FORM = "# Times have units (G and beta: for each byte); docs/reference/bench-model.md tells the form.\n"
# The key `fitted` with all of its lines, up to the next key.
_OLD = re.compile(r"^fitted:.*?(?=^[^\s#-]|\Z)", re.MULTILINE | re.DOTALL)
_HEAD = """\
# By `haloscope bench fit`: values with 95 % intervals; seconds, or factors of the levels' costs.
"""


def machines() -> list[str]:
    """Return the names of the machine models that come with Haloscope."""
    return names_in(_SHIPPED)


def load_machine(machine: str | Path) -> Machine:
    """Read a machine model: a name from `machines()`, or the path of a YAML file.

    Raises `MachineError` for what cannot be found, read or understood.
    """
    return _parsed(_read(str(machine)), str(machine))


def machine_source(machine: str | Path) -> str:
    """Return the YAML of a machine that `load_machine` can read."""
    text = _read(str(machine))
    _parsed(text, str(machine))
    return text.decode()


def _read(name: str) -> bytes:
    return read_described(find_described(name, _SHIPPED, machines(), "machine"), name, "machine model")


def _parsed(text: bytes, name: str) -> Machine:
    values = parse_yaml(text, name)
    try:
        return Machine.model_validate(values)
    except ValidationError as error:
        raise invalid(error, name, "machine model", "bench-model.md") from None


def write_machine(machine: Machine, output: Path, remarks: Sequence[str] = ()) -> None:
    """Replace `output` when the file is whole. Raises `OutputError`."""
    write_whole(output, machine_text(machine, remarks), "machine model")


def machine_text(machine: Machine, remarks: Sequence[str] = ()) -> str:
    """Return the YAML of a machine; `remarks` become comments at the top."""
    return "".join(f"{line}\n" for line in _lines(machine, remarks))


def _lines(machine: Machine, remarks: Sequence[str]) -> Iterator[str]:
    for remark in remarks:
        yield f"# {' '.join(remark.split())}"
    yield _FORM.rstrip()
    for key in ("name", "description", "source"):
        if getattr(machine, key):
            yield f"{key}: {_text(getattr(machine, key))}"
    yield "levels:"
    for level in machine.levels:
        yield f"  - name: {_text(level.name)}"
        yield f"    cores: {level.cores}"
        yield from (f"    {line}" for line in _link_lines(level))
    if machine.smt:
        yield "smt:"
        yield from (f"  {line}" for line in _link_lines(machine.smt))
    if machine.arithmetic:
        yield f"arithmetic: {_speed(machine.arithmetic)}"
    if machine.matrix:
        yield "matrix:"
        yield f"  cores: [{', '.join(map(str, machine.matrix.cores))}]"
        yield "  microseconds:"
        for row in machine.matrix.microseconds:
            yield f"    - [{', '.join('null' if one is None else f'{one:g}' for one in row)}]"


def _link_lines(link: Link) -> Iterator[str]:
    yield f"latency: {_time(link.latency)}"
    if link.latency_interval:
        yield f"latency_interval: {_interval(link.latency_interval)}"
    if link.bandwidth:
        yield f"bandwidth: {_speed(link.bandwidth)}"
    if link.bandwidth_interval:
        yield f"bandwidth_interval: [{', '.join(map(_speed, link.bandwidth_interval))}]"
    for name in ("hockney", "loggp"):
        model = getattr(link, name)
        if model:
            yield f"{name}:"
            yield from (f"  {key}: {_value(value)}" for key, value in model if value is not None)
    yield from _table_lines(link)


def _table_lines(link: Link) -> Iterator[str]:
    """Yield what has a row for each size."""
    if link.protocols:
        yield "protocols:"
        for one in link.protocols:
            named = f"name: {_text(one.name)}, " if one.name else ""
            speed = f", bandwidth: {_speed(one.bandwidth)}" if one.bandwidth else ""
            yield f"  - {{from: {one.first}, {named}latency: {_time(one.latency)}{speed}}}"
    if link.plogp:
        yield "plogp:"
        for row in link.plogp:
            times = f"g: {_time(row.g)}, os: {_time(row.send)}, or: {_time(row.receive)}"
            yield f"  - {{bytes: {row.bytes}, {times}}}"
    if link.measured:
        yield "measured:"
        for point in link.measured:
            spread = f", interval: {_interval(point.interval)}" if point.interval else ""
            gap = "" if point.gap is None else f", gap: {_time(point.gap)}"
            yield f"  - {{bytes: {point.bytes}, time: {_time(point.time)}{spread}{gap}}}"


def _value(value: Any) -> str:
    return _interval(value) if isinstance(value, tuple) else _time(value)


def _interval(interval: tuple[Decimal, Decimal]) -> str:
    return f"[{', '.join(map(_time, interval))}]"


def _time(seconds: Decimal) -> str:
    if not seconds:
        return "0"
    scale, unit = next((one for one in _TIMES if seconds >= one[0]), (Decimal("1e-9"), "ns"))
    return f"{_plain(seconds / scale)} {unit}"


def _speed(speed: Decimal) -> str:
    scale, unit = next((one for one in _SPEEDS if speed >= one[0]), (Decimal(1), "B/s"))
    return f"{_plain(speed / scale)} {unit}"


def _plain(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def save_fitted(machine: str | Path, fitted: Sequence[FittedAlgorithm], output: str | Path) -> None:
    """Write the YAML of a machine, by name or path, with these models in the place of its own.

    Raises `MachineError` if it cannot be read, `OutputError` if the result cannot be written.
    """
    text = _OLD.sub("", machine_source(machine).replace(_HEAD, "")).rstrip() + "\n"
    rows = [model.model_dump(mode="json", by_alias=True, exclude_defaults=True) for model in fitted]
    text += _HEAD + yaml.safe_dump({"fitted": rows}, sort_keys=False, default_flow_style=None)
    write_whole(Path(output), text, "machine model")
