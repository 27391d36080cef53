"""The reader's view of the declared tables: names, types, and the reductions of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from haloscope.base.schema import INSTANCE_QUANTITIES, STORED
from haloscope.profile.shown.profile_tables import SHOWN

if TYPE_CHECKING:
    from haloscope.profile.store.tree import Reduction

# The columns of each table of the file with their types, and the columns that every file has.
LAYOUT: Mapping[str, Mapping[str, str]] = {
    table: {column.name: column.type for column in columns} for table, columns in STORED.items()
}
NEEDED = {
    table: [c.name for c in columns if c.is_needed and not c.since] for table, columns in STORED.items()
}
# Columns that are newer than a file are null.
NEWER = {column.name for columns in STORED.values() for column in columns if column.since}

RANK_COLUMNS, REGION_COLUMNS = SHOWN["ranks"].columns, SHOWN["regions"].columns


_TYPES = {"integer": pl.Int64, "real": pl.Float64, "string": pl.String}


def type_columns(
    table: str, columns: Sequence[str], known: Mapping[str, pl.Series] | None = None
) -> pl.DataFrame:
    """Return columns of a table of the file; those not in `known` are null. Without `known`, no rows."""
    kinds = {name: _TYPES[LAYOUT[table][name]] for name in columns}
    if known is None:
        return pl.DataFrame(schema=kinds)
    frame = pl.DataFrame(list(known.values()))
    if len(known) < len(kinds):
        nulls = [pl.lit(None, kind).alias(name) for name, kind in kinds.items() if name not in known]
        return frame.with_columns(nulls).select(list(kinds))
    return frame


def instance_columns() -> list[str]:
    """Return the names `X_instance_min`, `X_instance_max`, in the order of the reference."""
    return [f"{name}_instance_{end}" for name in INSTANCE_QUANTITIES for end in ("min", "max")]


def keys(table: str) -> list[str]:
    """Return the columns by which rows of a table of the file are distinct, except the path."""
    return [column.name for column in STORED[table] if column.merge == "key" and not column.is_path]


def reductions(table: str) -> dict[str, Reduction]:
    """Return the other columns, with their reductions when rows are merged."""
    return {c.name: "max" if c.merge == "most" else "sum" for c in STORED[table] if c.merge != "key"}


def replace_empty_text(*names: str) -> list[pl.Expr]:
    """Return columns of text with null for empty texts: the file has no null."""
    return [pl.when(pl.col(name) != "").then(pl.col(name)).alias(name) for name in names]


# Columns of a rank that add up over nested regions. The others are known for a region as a whole.
_PARTNERS = {f"{side}_ranks{kind}" for side in ("dest", "src") for kind in ("", "_exclusive")}
_WHOLE = {"instances", "time", "cpu_time"} | _PARTNERS
RANK_REDUCTIONS: Mapping[str, Reduction] = {
    name: "max" if name == "largest_message" else reduction
    for name, reduction in reductions("ranks").items()
    if name not in _WHOLE and "_instance_" not in name
}
