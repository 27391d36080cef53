"""The program's own figure of merit, as it prints it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from haloscope.base.errors import UsageError
from haloscope.base.texts import parse_figure_pattern

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eEdD][-+]?\d+)?")


@dataclass(frozen=True)
class FigureOfMerit:
    """A regular expression for a number in the output. It is a time, or `is_rate`: more is better."""

    pattern: re.Pattern[str]
    is_rate: bool

    @classmethod
    def of(cls, text: str) -> FigureOfMerit:
        """Compile a regular expression with one group; the name `rate` means that more is better.

        Raises:
            UsageError: It is no regular expression, or has no single group.
        """
        try:
            pattern = parse_figure_pattern(text)
        except ValueError as error:
            raise UsageError(str(error)) from None
        return cls(pattern, "rate" in pattern.groupindex)

    def read(self, output: str) -> tuple[float | None, str]:
        """Return the last number in the output; None and the problem if there is none above 0."""
        found = self.pattern.findall(output)
        if not found:
            return None, f"its output has no match of {self.pattern.pattern!r}"
        text = found[-1].strip()
        value = float(re.sub("[dD]", "e", text)) if _NUMBER.fullmatch(text) else np.nan
        if 0 < value < np.inf:
            return value, ""
        return None, f"{self.pattern.pattern!r} matches {text!r}, which is no number above 0"

    def cost(self, value: float) -> float:
        """Return a number that is less if the program is faster; its inverse is its own."""
        return 1 / value if self.is_rate else value
