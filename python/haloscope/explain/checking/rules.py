"""The file of rules: TOML for people to read and edit. docs/reference/check.md lists the keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from haloscope.base.errors import UsageError
from haloscope.base.files import write_whole
from haloscope.base.texts import parse_toml
from haloscope.explain.comparing import COUNTS

_COMMENT = """\
# Rules for `haloscope check`. Counts are exact and exclude nested regions, as in `haloscope show
# --exclusive`; a count can also be { at_least = 10, at_most = 20 }. Times are seconds, one per run that
# they were learned from; a time can also be { at_most = 2.5 }. All keys: docs/reference/check.md.
"""
_Number = Annotated[int, Field(ge=0, lt=2**63, strict=True)]
_Time = Annotated[float, Field(gt=0, lt=1e9)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Limits(_Strict):
    """Limits of a count, both included. None: no limit."""

    at_least: _Number | None = None
    at_most: _Number | None = None

    @model_validator(mode="after")
    def _require_limit(self) -> Limits:
        if self.at_least is None and self.at_most is None:
            raise ValueError("give at_least, at_most, or both")
        return self


class TimeRule(_Strict):
    """An upper limit of a time, in seconds."""

    at_most: _Time


Count = _Number | Limits
Time = Annotated[list[_Time], Field(min_length=2)] | TimeRule


class RegionRules(_Strict):
    """The rules of a region, without nested regions.

    `regions`, `calls`, `sizes`, `memory`, `collectives` and `communicators` are counts by name. `varies`
    lists counts that may have any value. `own_time` is the region's time, `time` includes nested regions.
    """

    regions: dict[str, Count] = Field(default_factory=dict)
    calls: dict[str, Count] = Field(default_factory=dict)
    sizes: dict[str, Count] = Field(default_factory=dict)
    memory: dict[str, Count] = Field(default_factory=dict)
    collectives: dict[str, Count] = Field(default_factory=dict)
    communicators: dict[str, Count] = Field(default_factory=dict)
    varies: list[str] = Field(default_factory=list)
    time: Time | None = None
    own_time: Time | None = None

    @model_validator(mode="after")
    def _check_names(self) -> RegionRules:
        unknown = [name for name in self.regions if name not in COUNTS]
        if unknown:
            raise ValueError(f"unknown count {unknown[0]!r}; choose from {', '.join(COUNTS)}")
        return self


class Learned(_Strict):
    """The runs that the rules were learned from."""

    runs: _Number = 1
    mpi_library: str = ""
    hosts: list[str] = Field(default_factory=list)


class CheckRules(_Strict):
    """A file of rules.

    `slower` is the share by which a time may be longer, `again` the number of runs that confirm a slow time.
    With `complete`, a count or region without a rule fails.
    """

    version: Literal[1] = 1
    program: str
    ranks: Annotated[int, Field(ge=1, strict=True)]
    complete: bool = True
    slower: Annotated[float, Field(gt=0, le=10)] = 0.05
    again: Annotated[int, Field(ge=2, le=1000, strict=True)] = 5
    learned: Learned = Field(default_factory=Learned)
    regions: dict[str, RegionRules] = Field(default_factory=dict)


def read_rules(path: Path) -> CheckRules:
    """Return the rules in a file. Raises `UsageError` if it cannot be read or has unknown keys."""
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; create a file of rules with --write-rules") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not text; give the rules last, after the profile") from None
    try:
        return CheckRules.model_validate(parse_toml(text))
    except ValidationError as error:
        # For a key that may be a number or a table, our own message is the most helpful.
        first = max(error.errors(), key=lambda error: error["type"] == "value_error")
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{path}: {where or 'rules'}: {first['msg']}") from None
    except ValueError as error:
        raise UsageError(f"{path}: is not TOML: {error}") from None


def write_rules(rules: CheckRules, path: Path) -> None:
    """Replace `path` by these rules. Raises `OutputError`."""
    content: dict[str, Any] = rules.model_dump(exclude_defaults=True)
    content = {"version": rules.version, "program": rules.program, "ranks": rules.ranks, **content}
    content |= {"complete": rules.complete, "slower": rules.slower, "again": rules.again}
    # Tables come last in TOML.
    ordered = {key: content[key] for key in sorted(content, key=lambda key: isinstance(content[key], dict))}
    write_whole(path, _COMMENT + tomli_w.dumps(_escape_surrogates(ordered)), "rules")


def _escape_surrogates(content: dict[str, Any]) -> dict[str, Any]:
    """Return the same without lone surrogates, which no text file can hold."""
    return {
        key.encode(errors="backslashreplace").decode(): (
            _escape_surrogates(value) if isinstance(value, dict) else value
        )
        for key, value in content.items()
    }
