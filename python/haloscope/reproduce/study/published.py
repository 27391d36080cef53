"""Numbers and claims of a paper as data: `published.toml` in the folder of a study."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from haloscope.base.errors import UsageError
from haloscope.base.texts import parse_toml

_FILE = "published.toml"
_Model = TypeVar("_Model", bound=BaseModel)


class PrintedNumbers(BaseModel, extra="forbid", frozen=True):
    """Numbers from one place of a paper, by names that are unique in the study.

    `values` are as printed, which determines the digits that are compared. `tolerance` is a relative
    difference that is still equal, and `reason` explains it. `timed` numbers depend on times, so a busy
    machine spoils them.
    """

    part: str
    where: str
    unit: str = ""
    tolerance: Annotated[float, Field(ge=0)] = 0.0
    reason: str
    timed: bool = False
    values: Annotated[dict[str, str], Field(min_length=1)]

    @field_validator("values")
    @classmethod
    def _check_values(cls, values: dict[str, str]) -> dict[str, str]:
        for text in values.values():
            parse_printed(text)
        return values


class PublishedClaim(BaseModel, extra="forbid", frozen=True):
    """A statement of a paper about its results; `timed` as for numbers."""

    part: str
    where: str
    name: str
    text: str
    timed: bool = False


class Published(BaseModel, extra="forbid", frozen=True):
    """All numbers and claims of a paper that a study reproduces."""

    numbers: tuple[PrintedNumbers, ...] = ()
    claims: tuple[PublishedClaim, ...] = ()

    @model_validator(mode="after")
    def _check_names(self) -> Published:
        names = [name for group in self.numbers for name in group.values]
        for kind in (names, [claim.name for claim in self.claims]):
            name, count = max(Counter(kind).items(), key=lambda item: item[1], default=("", 0))
            if count > 1:
                raise ValueError(f"{name!r} is there {count} times")
        return self

    def names(self) -> set[str]:
        """Return the names of all numbers."""
        return {name for group in self.numbers for name in group.values}

    def parts(self) -> set[str]:
        """Return the names of all parts that reproduce a number or a claim."""
        return {group.part for group in self.numbers} | {claim.part for claim in self.claims}

    def number_names(self, part: str) -> set[str]:
        """Return the names of the numbers that a part reproduces."""
        return {name for group in self.numbers if group.part == part for name in group.values}

    def claim_names(self, part: str) -> set[str]:
        """Return the names of the claims that a part tests."""
        return {claim.name for claim in self.claims if claim.part == part}


def parse_printed(text: str) -> tuple[float, float]:
    """Return a printed number and half of its last digit: 19.4 and 0.05 for `19.4`."""
    plain = text.replace(",", "")
    mantissa, _, exponent = plain.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    try:
        number, half_digit = float(plain), 0.5 * 10.0 ** (int(exponent or 0) - decimals)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a finite number")
    return number, half_digit


def read_published(folder: Path) -> Published:
    """Return the numbers and claims of a study; none without the file.

    Raises:
        UsageError: The file is invalid.
    """
    file = folder / _FILE
    try:
        return read_toml(file, Published)
    except FileNotFoundError:
        return Published()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None


def read_toml(file: Path, kind: type[_Model], **more: object) -> _Model:
    """Return what a file has, as a model. `more` are values of the model that the file does not have.

    Raises:
        OSError: The file cannot be read.
        UsageError: The file is invalid.
    """
    try:
        return kind.model_validate(parse_toml(file.read_text("utf-8")) | more)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{file}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except ValueError as error:
        raise UsageError(f"{file}: {error}") from None
