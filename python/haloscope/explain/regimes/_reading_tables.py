"""Timings from CSV and Parquet: a row an instance, or a matrix whose rows are ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from haloscope.base.errors import ProfileError, UsageError, printable
from haloscope.explain.regimes._checking import checked
from haloscope.explain.regimes._reading_arrays import of_matrix

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from haloscope.explain.regimes._timings import Timings

__all__ = ["read_csv", "read_parquet"]

_MOST_EMPTINESS, _ALWAYS_FINE = 64, 1 << 24  # as of a profile's matrix


def read_parquet(path: Path, region: str | None) -> Timings:
    """Read Parquet as `read_csv` reads CSV."""
    return _of_frame(path, region, pl.read_parquet(path))


def read_csv(path: Path, region: str | None) -> Timings:
    """Read rows of rank, instance, duration …, or a matrix whose rows are ranks."""
    with path.open("rb") as stream:
        first = stream.readline(1 << 24).decode("utf-8-sig", "replace").strip()
    separator = next((mark for mark in ",;\t" if mark in first), ",")
    header = not all(_is_number(cell) for cell in first.split(separator))
    frame = pl.read_csv(
        path, has_header=header, separator=separator, infer_schema_length=1000,
        schema_overrides=None if header else dict.fromkeys(
            [f"column_{i + 1}" for i in range(first.count(separator) + 1)], pl.Float64
        ),
    )  # fmt: skip
    return _of_frame(path, region, frame)


def _is_number(cell: str) -> bool:
    try:
        float(cell or "nan")
    except ValueError:
        return False
    return True


def _of_frame(path: Path, region: str | None, frame: pl.DataFrame) -> Timings:
    if "duration" in frame.columns:
        return _of_rows(path, region, frame)
    text = [name for name, kind in frame.schema.items() if not kind.is_numeric()]
    if text or not frame.width:
        told = f"{printable(text[0])!r} is not numbers" if text else "it has no columns"
        raise ProfileError(
            f"{path}: has no column duration, and is no matrix of times either: {told}"
        )
    matrix = frame.to_numpy().astype(np.float64)
    return of_matrix(path, region, {"duration": matrix})


def _of_rows(path: Path, region: str | None, frame: pl.DataFrame) -> Timings:
    frame, region = _of_region(path, region, frame)
    frame = _with_keys(path, frame)
    ranks, rows = np.unique(frame["rank"].to_numpy(), return_inverse=True)
    # Every tenth instance is as good as every one; where a rank lacks one of them is a gap.
    columns = np.unique(frame["instance"].to_numpy(), return_inverse=True)[1]
    shape = (len(ranks), int(columns.max(initial=-1)) + 1)
    if shape[0] * shape[1] > max(_MOST_EMPTINESS * len(frame), _ALWAYS_FINE):
        raise ProfileError(f"{path}: the ranks' instances are too unequal in number for a matrix")
    matrices = {}
    for column in frame.drop("region", "rank", "instance", "host", strict=False):
        if column.dtype.is_numeric():
            matrices[column.name] = np.full(shape, np.nan)
            matrices[column.name][rows, columns] = column.cast(pl.Float64).to_numpy()
    durations = matrices.pop("duration")
    hosts = _hosts(frame, rows, len(ranks))
    return checked(path.stem, region, durations, ranks.astype(np.int64), hosts, matrices)


def _with_keys(path: Path, frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows with a rank and an instance each, counted where the file has none."""
    for name in {"duration", "rank", "instance"} & set(frame.columns):
        kind = frame.schema[name]
        if not kind.is_numeric() and len(frame):
            told = "has no numbers" if kind == pl.Null else "is not numbers"
            raise ProfileError(f"{path}: its column {name} {told}; times are plain seconds")
    if "rank" not in frame.columns:
        frame = frame.with_columns(rank=pl.lit(0, pl.Int64))
    if "instance" not in frame.columns:
        frame = frame.with_columns(instance=pl.int_range(pl.len()).over("rank"))
    frame = frame.with_columns(pl.col("rank", "instance", "duration").cast(pl.Float64))
    keys = frame.select("rank", "instance")
    if keys.null_count().sum_horizontal().item() or keys.is_duplicated().any():
        raise ProfileError(f"{path}: rank and instance do not name each row, and once only")
    return frame


def _hosts(frame: pl.DataFrame, rows: NDArray[np.intp], ranks: int) -> list[str | None]:
    hosts: list[str | None] = [None] * ranks
    if "host" in frame.columns:
        for row, host in zip(rows.tolist(), frame["host"].cast(pl.String).to_list(), strict=True):
            hosts[row] = host
    return hosts


def _of_region(
    path: Path, region: str | None, frame: pl.DataFrame
) -> tuple[pl.DataFrame, str | None]:
    """Return the rows of the region, and which one that is."""
    if "region" not in frame.columns:
        return frame, region
    names = [str(name) for name in frame["region"].unique(maintain_order=True).to_list()]
    if region is None and len(names) > 1:
        raise UsageError(f"{path}: has several series; name one with --region: {', '.join(names)}")
    wanted = names[0] if region is None and names else region
    if wanted not in names:
        raise UsageError(f"{path}: has no region {wanted!r}; there is {', '.join(names)}")
    return frame.filter(frame["region"].cast(pl.String) == wanted), wanted
