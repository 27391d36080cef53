"""The file of rules: TOML that a person can read and change; docs/reference/check.md has the keys."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from haloscope.base.errors import UsageError
from haloscope.base.files import write_whole
from haloscope.explain.comparing import COUNTS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_COMMENT = """\
# Rules for `haloscope check`. Counts are exact and without nested regions, as `haloscope show --exclusive`
# has them; a count can also be { at_least = 10, at_most = 20 }. Times are seconds, one a run that they were
# learned from; a time can also be { at_most = 2.5 }. All keys: docs/reference/check.md.
"""
_Number = Annotated[int, Field(ge=0, lt=2**63, strict=True)]
_Time = Annotated[float, Field(gt=0, lt=1e9)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Limits(_Strict):
    """A count may lie between these, both included; None: no limit."""

    at_least: _Number | None = None
    at_most: _Number | None = None

    @model_validator(mode="after")
    def _say_something(self) -> Limits:
        if self.at_least is None and self.at_most is None:
            raise ValueError("name at_least, at_most, or both")
        return self


class TimeRule(_Strict):
    """A time may be no longer than this, in seconds."""

    at_most: _Time


Count = _Number | Limits
Time = Annotated[list[_Time], Field(min_length=2)] | TimeRule


class RegionRules(_Strict):
    """What holds in a region without those nested in it.

    `regions`, `calls`, `sizes`, `memory`, `collectives`, `communicators` are counts by their name; `varies`
    names counts that anything is right for; `own_time` is the region's time, `time` that with nested regions.
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
    def _known_names(self) -> RegionRules:
        unknown = [name for name in self.regions if name not in COUNTS]
        if unknown:
            raise ValueError(f"there is no count {unknown[0]!r}; there is {', '.join(COUNTS)}")
        return self


class Learned(_Strict):
    """What the rules were learned from."""

    runs: _Number = 1
    mpi_library: str = ""
    hosts: list[str] = Field(default_factory=list)


class CheckRules(_Strict):
    """A whole file. `slower` is the share that a time may be more, `again` how many runs confirm a slow one.

    With `complete`, a count or region that has no rule must not be there.
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
    """Return the rules in a file. Raises `UsageError` for one that cannot be read, or has other keys."""
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; --write-rules makes a file of rules") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is no text; name the rules last, after the profile") from None
    try:
        return CheckRules.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: is not TOML: {error}") from None
    except ValidationError as error:
        # Of what may be a number or a table, our own words say most.
        first = max(error.errors(), key=lambda one: one["type"] == "value_error")
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{path}: {where or 'rules'}: {first['msg']}") from None


def write_rules(rules: CheckRules, path: Path) -> None:
    """Replace `path` by these rules. Raises `OutputError`."""
    told: dict[str, Any] = rules.model_dump(exclude_defaults=True)
    told = {"version": rules.version, "program": rules.program, "ranks": rules.ranks, **told}
    told |= {"complete": rules.complete, "slower": rules.slower, "again": rules.again}
    # Tables come last in TOML.
    ordered = {key: told[key] for key in sorted(told, key=lambda key: isinstance(told[key], dict))}
    write_whole(path, _COMMENT + tomli_w.dumps(_printable_names(ordered)), "rules")


def _printable_names(told: dict[str, Any]) -> dict[str, Any]:
    """Return the same without lone surrogates, which no text file can hold."""
    return {
        key.encode(errors="backslashreplace").decode(): (
            _printable_names(value) if isinstance(value, dict) else value
        )
        for key, value in told.items()
    }
