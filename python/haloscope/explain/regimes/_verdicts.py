"""What speaks against a model, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

__all__ = ["verdicts"]

_FAR = 0.1  # of a regime's times are elsewhere than the model says: worth a line
_NEGATIVE = 0.01
_CORRELATED = 0.1
_LONGER = 1.5
_FEWEST = 20


def verdicts(
    family: str, fits: pl.DataFrame, checks: pl.DataFrame, correlation: pl.DataFrame
) -> tuple[str, ...]:
    """Return one line for each thing that is so wrong that it matters, not merely significant."""
    lines = [line for row in fits.to_dicts() if (line := _of_regime(family, row))]
    lines += [line for row in fits.to_dicts() if (line := _of_runs(row))]
    if len(correlation):
        lag, value, band = correlation.row(0)
        if abs(value) > max(_CORRELATED, band):
            lines.append(
                f"times depend on each other beyond what the regimes explain: the residuals' "
                f"correlation at lag {lag} is {value:.2f}"
            )
    del checks
    return tuple(lines)


def _of_regime(family: str, row: dict[str, Any]) -> str | None:
    if row["instances"] < _FEWEST or row["distance"] is None:
        return None
    reasons = []
    if row["negative"] > _NEGATIVE:
        reasons.append(f"{100 * row['negative']:.0f} % of the times that it draws are negative")
    if row["distance"] > max(_FAR, 2 * row["allowed"]):
        share = f"{100 * row['distance']:.0f} %"
        reasons.append(f"{share} of the times are not where it says")
    if not reasons:
        return None
    return f"{family} is a bad model of regime {row['regime']}: {' and '.join(reasons)}"


def _of_runs(row: dict[str, Any]) -> str | None:
    seen, drawn = row["run_length"], row["drawn_run_length"]
    if row["instances"] < _FEWEST or seen is None or drawn is None:
        return None
    if seen < _LONGER * drawn and drawn < _LONGER * seen:
        return None
    return (
        f"regime {row['regime']} lasts {seen:.1f} instances in a row, "
        f"{drawn:.1f} in what the model draws: it isn't a Markov chain"
    )
