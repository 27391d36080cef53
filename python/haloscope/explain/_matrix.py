"""The timing matrix of a region: what the models of regimes take."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from haloscope.base.errors import UsageError
from haloscope.explain._instances import Series

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from haloscope.explain._profile import Profile

__all__ = ["Instances"]

# One rank with many instances among many ranks with few would make a matrix of nothing.
_MOST_EMPTINESS, _ALWAYS_FINE = 64, 1 << 24


class Instances:
    """All instances of one region: matrices of seconds, rank × instance.

    A row is a rank of `ranks`, and in it NaN follows its last instance. A matrix is read from the
    profile when it is first asked for, so the profile must be open then.
    """

    def __init__(self, profile: Profile, region: str) -> None:
        """Raises `UsageError` if no instances, or those of several paths, go by that name."""
        series = Series.of(profile, profile.regions.matching(region))
        self.path = _only_path(profile, region, series)
        self.ranks, rows = np.unique(series.ranks, return_inverse=True)
        self.counts = np.zeros(len(self.ranks), dtype=np.int64)
        np.add.at(self.counts, rows, series.counts)
        self._series, self._rows = series, rows
        if self.counts.max() * len(self.ranks) > max(_MOST_EMPTINESS * len(series), _ALWAYS_FINE):
            raise UsageError(
                f"the ranks' instances of {region!r} are too unequal in number for a matrix;"
                " use the table series"
            )

    def __repr__(self) -> str:
        ranks, instances = len(self.ranks), self.counts.max()
        return f"<instances of {self.path!r}, {ranks} ranks × {instances}>"

    @cached_property
    def start(self) -> NDArray[np.float64]:
        """When each instance began, seconds since the rank's MPI_Init."""
        return self._matrix("start")

    @cached_property
    def duration(self) -> NDArray[np.float64]:
        """How long each instance lasted."""
        return self._matrix("duration")

    @cached_property
    def wait(self) -> NDArray[np.float64]:
        """How much of each instance was waiting."""
        return self._matrix("wait")

    def _matrix(self, quantity: str) -> NDArray[np.float64]:
        series, width = self._series, int(self.counts.max())
        values = series.profile.guarded(lambda: series.seconds(quantity))
        # As the recorder writes it where all ranks do the same.
        if np.array_equal(self._rows, np.arange(len(self.ranks))) and self.counts.min() == width:
            return values.reshape(len(self.ranks), width)
        matrix = np.full((len(self.ranks), width), np.nan)
        filled = np.zeros(len(self.ranks), dtype=np.int64).tolist()
        place = 0
        for row, count in zip(self._rows.tolist(), series.counts.tolist(), strict=True):
            matrix[row, filled[row] : filled[row] + count] = values[place : place + count]
            filled[row] += count
            place += count
        return matrix


def _only_path(profile: Profile, region: str, series: Series) -> str:
    names: list[str] = [
        profile.regions.full_names[path] for path in np.unique(series.paths).tolist()
    ]
    if not names:
        raise UsageError(
            f"no instances of {region!r} were kept; run the program with --series {region!r}"
        )
    if len(names) > 1:
        raise UsageError(f"several regions are called {region!r}; name one of {', '.join(names)}")
    return names[0]
