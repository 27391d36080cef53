"""Numbers and claims as a part of a study found them, which its script writes."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from haloscope.base.errors import OutputError
from haloscope.base.files import write_whole
from haloscope.base.texts import is_number, parse_json
from haloscope.reproduce.study.published import Published
from haloscope.reproduce.study.study_folder import Part

Source = Literal["counted", "computed", "measured", "emulated nodes", "simulated", "virtual time"]
_MEASURED: tuple[Source, ...] = ("measured", "emulated nodes")


@dataclass(frozen=True)
class Reproduced:
    """A number of a paper as it came out, with its 95 % interval if it has one.

    Without a value, `why` is the reason. A number that differs for a known reason may have it, too, made from
    the run's own data.
    """

    name: str
    value: float | None
    source: Source
    low: float | None = None
    high: float | None = None
    why: str = ""

    @property
    def is_measured(self) -> bool:
        """Whether the value depends on how busy this machine was, if it depends on times."""
        return self.source in _MEASURED


@dataclass(frozen=True)
class Tested:
    """Whether a claim of a paper holds in the data of a run; None if they cannot show it.

    `evidence` has the data's own numbers, or the reason why they cannot show it.
    """

    name: str
    holds: bool | None
    evidence: str
    source: Source = "measured"

    @property
    def is_measured(self) -> bool:
        """Whether the test depends on how busy this machine was, if it depends on times."""
        return self.source in _MEASURED


@dataclass(frozen=True)
class PartResults:
    """What a part found; `originals` are numbers of the paper's own programs."""

    numbers: tuple[Reproduced, ...] = ()
    claims: tuple[Tested, ...] = ()
    originals: tuple[Reproduced, ...] = ()


def write_reproduced(
    part: str,
    numbers: Sequence[Reproduced] = (),
    claims: Sequence[Tested] = (),
    originals: Sequence[Reproduced] = (),
) -> None:
    """Write what a part found into the current directory.

    Args:
        part: The part's name.
        numbers: Each number of `published.toml` that belongs to the part.
        claims: Each claim that belongs to the part.
        originals: Numbers, of any part, from the paper's own programs.

    Raises:
        OutputError: The file cannot be written.
        ValueError: A name is given twice, or a value is infinite or not a number.

    Examples:
        >>> write_reproduced("sizes", [Reproduced("largest message", 86528, "counted")])
    """
    for group in (numbers, claims, originals):
        twice = [name for name, count in Counter(entry.name for entry in group).items() if count > 1]
        if twice:
            raise ValueError(f"{part}: {twice[0]!r} is given twice")
    for number in (*numbers, *originals):
        if number.value is not None and not math.isfinite(number.value):
            raise ValueError(f"{part}: {number.name!r} is {number.value}")
    results = asdict(PartResults(tuple(numbers), tuple(claims), tuple(originals)))
    write_whole(results_file(Path(), part), json.dumps(results, indent=1, allow_nan=False) + "\n", "results")


def results_file(directory: Path, part: str) -> Path:
    """Return the file of what a part found."""
    return directory / f"{part}.reproduced.json"


def read_reproduced(directory: Path, part: str) -> PartResults:
    """Return what a part found; nothing without its file.

    Raises:
        OutputError: The file was not written by `write_reproduced`.
    """
    file = results_file(directory, part)
    try:
        read = parse_json(file.read_text("utf-8"))
        results = PartResults(
            tuple(Reproduced(**entry) for entry in read["numbers"]),
            tuple(Tested(**entry) for entry in read["claims"]),
            tuple(Reproduced(**entry) for entry in read["originals"]),
        )
        if not all(_is_valid(entry) for entry in (*results.numbers, *results.originals)):
            raise ValueError
        if not all(claim.holds in (None, True, False) for claim in results.claims):
            raise ValueError
    except FileNotFoundError:
        return PartResults()
    except OSError as error:
        raise OutputError(f"{file}: {error.strerror}; remove it and run again") from None
    except (ValueError, KeyError, TypeError):
        raise OutputError(f"{file}: not the results of a part; remove it and run again") from None
    return results


def _is_valid(number: Reproduced) -> bool:
    values = (number.value, number.low, number.high)
    are_numbers = all(value is None or is_number(value) for value in values)
    return are_numbers and number.source in get_args(Source)


def find_name_error(published: Published, part: Part, directory: Path) -> str:
    """Return which name the results of a part lack, or have without need; empty if they are complete.

    Raises:
        OutputError: The results are damaged.
    """
    file, results = results_file(directory, part.name), read_reproduced(directory, part.name)
    if part.originals and not file.is_file():
        return f"it wrote no {file.name}"
    originals = {one.name for one in results.originals}
    names = {
        "number": (published.number_names(part.name), {one.name for one in results.numbers}),
        "claim": (published.claim_names(part.name), {one.name for one in results.claims}),
        "original": (originals & published.names(), originals),
    }
    for kind, (expected, given) in names.items():
        for name in sorted(expected ^ given):
            problem = "has no" if name in expected else "has an unpublished"
            return f"{file.name} {problem} {kind} {name!r}"
    return ""
