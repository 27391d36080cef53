"""The page: a figure for each collective, without network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from haloscope._errors import printable
from haloscope.explain._page import page
from haloscope.explain._page import write_page as write
from haloscope.explain._units import time_text
from haloscope.predict._figure import figure

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from haloscope.predict._machine import Machine

__all__ = ["write_page"]


def write_page(
    rows: pl.DataFrame, machine: Machine, output: Path, *, about: Mapping[str, str] | None = None
) -> None:
    """Write the page about a table of `model` for a machine; `about` is what it was made with.

    Raises `OutputError` if the page cannot be written.
    """
    levels = (
        f"{level.name} ({level.cores} cores) {time_text(float(level.latency))}"
        for level in machine.levels
    )
    said = {
        "Machine": machine.description,
        "Source": machine.source,
        "Latency within": "; ".join(levels),
        "Placement": "rank r on core r, one node after the other",
        **(about or {}),
    }
    data = {
        "machine": printable(machine.name),
        "about": [[key, printable(value)] for key, value in said.items() if value],
        "figures": [
            {"collective": collective, **figure(part, machine)}
            for (collective,), part in rows.group_by("collective", maintain_order=True)
        ],
    }
    title = f"{printable(machine.name)} – Haloscope model"
    write(page("model.html", title, ["model.js"], data, "predict"), Path(output))
