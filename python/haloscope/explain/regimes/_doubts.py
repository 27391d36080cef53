"""What is to be said of a fit that is not what was hoped for: a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from haloscope.explain.regimes._climbing import Climb
    from haloscope.explain.regimes._searching import Searched
    from haloscope.explain.regimes._sequences import Sequences

__all__ = ["disagreement", "doubts"]

_FEWEST = 2.0  # instances of a regime
_SAME = 1e-3  # of the larger deviation: means that are hardly two


def doubts(best: Climb, sequences: Sequences, parameters: int) -> tuple[str, ...]:
    """Return lines about the fit to `sequences` of so many parameters; none if all is well."""
    values = sequences.inside
    if float(values.min()) == float(values.max()):
        return (f"all {len(values)} instances last {values[0]:g} s: there is one regime",)
    return (*_of_the_fit(best, len(values), parameters), *_of_regimes(best))


def disagreement(found: Searched) -> tuple[str, ...]:
    """Return a line if of the starts that climbed one alone ended at the likeliest model."""
    if found.agreed > 1 or found.climbed == 1:
        return ()
    return (
        f"starts disagree: of the best {found.climbed} of {found.starts} one alone ended here, the"
        f" next is {found.next_best:.3g} less likely (logarithm): try more starts, or doubt these"
        " regimes",
    )


def _of_the_fit(best: Climb, points: int, parameters: int) -> list[str]:
    lines = []
    if points < parameters:
        lines.append(f"{points} instances for {parameters} parameters: the regimes mean little")
    if not best.converged:
        lines.append(
            f"not converged after {best.steps} steps: raise max_iter, or doubt these regimes"
        )
    return lines


def _of_regimes(best: Climb) -> list[str]:
    means, stds = best.parameters.emission.means, best.parameters.emission.stds
    empty = np.flatnonzero(best.weight < _FEWEST).tolist()
    held = np.flatnonzero(best.parameters.emission.held()).tolist()
    close = np.flatnonzero(np.diff(means) < _SAME * np.maximum(stds[1:], stds[:-1])).tolist()
    return [
        *(f"regime {i} is empty: ask for fewer regimes" for i in empty),
        *(f"regime {i} is one point, {means[i]:g} s: its width was kept from zero" for i in held),
        *(f"regimes {i} and {i + 1} have the same mean: ask for fewer regimes" for i in close),
    ]
