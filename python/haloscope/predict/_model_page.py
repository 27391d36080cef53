"""The page: a figure for each collective, without network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from haloscope.base.errors import printable
from haloscope.base.units import time_text
from haloscope.explain import page
from haloscope.explain import write_page as write
from haloscope.predict._figures import figure, measured_figures
from haloscope.predict.fitted._evaluation import error_summary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from haloscope.predict._machine import Machine

__all__ = ["write_measured_page", "write_page"]


def write_page(
    rows: pl.DataFrame, machine: Machine, output: Path, *, about: dict[str, str] | None = None
) -> None:
    """Write the page about a table of `model` for a machine; `about` is what it was made with.

    Raises `OutputError` if the page cannot be written.
    """
    said = _about(machine) | (about or {})
    figures = [
        {"collective": collective, **figure(part, machine)}
        for (collective,), part in rows.group_by("collective", maintain_order=True)
    ]
    _write(machine, said, figures, output)


def write_measured_page(rows: pl.DataFrame, machine: Machine, output: Path) -> None:
    """Write the page about a table of `errors`: measured against modelled, and their differences.

    Raises `OutputError` if the page cannot be written.
    """
    said = _about(machine) | {
        "Time": "mean over ranks and iterations, as OSU's; points are measured, lines modelled",
        "Error": "relative, of the modelled time",
    }
    summary = [
        [
            row["collective"],
            printable(row["algorithm"]),
            row["points"],
            *(f"{100 * row[name]:.1f} %" for name in ("error_median", "error_p90", "error_max")),
        ]
        for row in error_summary(rows).to_dicts()
    ]
    _write(machine, said, measured_figures(rows, machine), output, summary)


def _about(machine: Machine) -> dict[str, str]:
    levels = (
        f"{level.name} ({level.cores} cores) {time_text(float(level.latency))}" for level in machine.levels
    )
    return {
        "Machine": machine.description,
        "Source": machine.source,
        "Latency within": "; ".join(levels),
        "Placement": "rank r on core r, one node after the other",
    }


def _write(
    machine: Machine,
    said: Mapping[str, str],
    figures: Sequence[Mapping[str, Any]],
    output: Path,
    errors: Sequence[Sequence[Any]] = (),
) -> None:
    data = {
        "machine": printable(machine.name),
        "about": [[key, printable(value)] for key, value in said.items() if value],
        "figures": figures,
        "errors": errors,
    }
    title = f"{printable(machine.name)} – Haloscope model"
    write(page("model.html", title, ["model.js"], data, "predict"), Path(output))
