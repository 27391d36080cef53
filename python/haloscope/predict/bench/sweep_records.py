"""The records in the file of a sweep: one JSON object per line, the environment first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from haloscope.base.errors import MachineError
from haloscope.base.texts import parse_json

_Number = Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)]
_Sample = Annotated[float, Field(ge=-1e18, le=1e18, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=0, lt=1 << 63)]


class _Environment(BaseModel, strict=True):
    library: str | None = None
    host: str | None = None
    method: dict[str, Any] | None = None


class _Point(BaseModel, strict=True):
    collective: str
    algorithm: str
    number: _Number | None = None
    segment: _Count | None = None
    fanout: _Count | None = None
    ranks: _Count
    nodes: _Count | None = None
    mapping: str | None = None
    bytes: _Count
    iterations: _Count | None = None
    launch: _Count | None = None
    status: str
    reason: str | None = None
    samples_ns: list[list[_Sample]] | None = None


_KINDS: Mapping[object, type[BaseModel]] = {"environment": _Environment, "point": _Point}


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return all records of a sweep's file, the environment first. An incomplete last line is ignored.

    Raises:
        MachineError: The file is not a sweep, or damaged.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise MachineError(f"{path}: {error.strerror}") from None
    records: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        try:
            record = parse_json(line) if line.strip() else None
        except ValueError:
            if number == len(lines):  # incomplete: a complete line ends with a newline
                break
            raise MachineError(f"{path}: line {number} is not JSON; not a sweep") from None
        if record is not None and not isinstance(record, dict):
            raise MachineError(f"{path}: line {number} is not a record; not a sweep")
        if record:
            if not records and record.get("record") != "environment":
                break
            _check(record, path, number)
            records.append(record)
    if not records:
        raise MachineError(f"{path}: not a sweep of haloscope bench: no environment record")
    return records


def _check(record: dict[str, Any], path: Path, number: int) -> None:
    """Raise `MachineError` if a known record has values of other types."""
    kind = record.get("record")
    model = _KINDS.get(kind) if isinstance(kind, str) else None
    try:
        if model is not None:
            model.model_validate(record)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise MachineError(f"{path}: line {number} is damaged: {where}: {first['msg']}") from None


def identify_point(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the values that identify a point."""
    keys = ("collective", "algorithm", "number", "segment", "fanout", "ranks", "mapping", "bytes", "launch")
    return tuple(record.get(key) or 0 for key in keys)
