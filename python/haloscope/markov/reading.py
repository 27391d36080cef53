"""Timings from files: a profile's series, or a matrix of durations in other formats."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haloscope.base.arrays import Floats, Indices
from haloscope.base.errors import HaloscopeError, ProfileError, UsageError, printable
from haloscope.base.schema import MAGIC
from haloscope.base.units import bytes_text
from haloscope.markov.bounded_parquet import read_bounded_parquet
from haloscope.markov.profile_series import timings_of
from haloscope.markov.timings import Timings, check_timings
from haloscope.profile import Profile
from haloscope.profile.importing import kind_of_foreign
from haloscope.profile.store import most_memory

_MOST_COLUMNS = 1 << 17  # of a CSV file; Polars takes 1.4 KiB for each
_MOST_RANKS = 1 << 53
# Polars unpacks CSV files that begin so, to any size.
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x78\x01", b"\x78\x9c", b"\x78\xda")


def _check_size(path: Path, numbers: int) -> None:
    """Raise `ProfileError` if so many numbers take more memory than a file of this size may."""
    if 8 * numbers > most_memory(path.stat().st_size):
        raise ProfileError(f"{path}: would take {bytes_text(8 * numbers)}, too much for a file of its size")


def read_arrays(path: Path, region: str | None) -> Timings:
    """Read `.npy`, or `.npz` with `duration` and, if need be, `rank`, `host` and other matrices."""
    with path.open("rb") as stream:  # np.load does not close a damaged file that it opened itself
        loaded = np.load(stream, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return make_timings(path, region, {"duration": loaded})
        _check_size(path, sum(member.file_size for member in loaded.zip.infolist()) // 8)
        arrays = {name: loaded[name] for name in loaded.files}
    if len(arrays) == 1:
        arrays = {"duration": next(iter(arrays.values()))}
    if "duration" not in arrays:
        raise ProfileError(
            f"{path}: none of its arrays is called duration: {', '.join(arrays) or 'it has none'}"
        )
    return make_timings(path, region, arrays)


def make_timings(path: Path, region: str | None, arrays: dict[str, NDArray[np.generic]]) -> Timings:
    """Return the matrix `duration`, with `rank` and `host` of its rows and others of its shape."""
    _check_size(path, sum(array.size for array in arrays.values()))
    durations = _numbers(path, "duration", arrays["duration"])
    if durations.ndim == 1 or (durations.ndim == 2 and durations.shape[1] == 1):
        arrays = {
            name: array.reshape(1, -1) if array.shape == durations.shape else array
            for name, array in arrays.items()
        }
        durations = durations.reshape(1, -1)
    if durations.ndim != 2:
        raise ProfileError(f"{path}: is no matrix of ranks × instances: it has {durations.ndim} dimensions")
    if not durations.size:
        raise ProfileError(f"{path}: has no durations")
    ranks = _read_per_rank(path, arrays, "rank", len(durations))
    hosts = _read_per_rank(path, arrays, "host", len(durations))
    others = {
        name: _numbers(path, name, array)
        for name, array in arrays.items()
        if name != "duration" and array.shape == durations.shape
    }
    numbers = np.arange(len(durations)) if ranks is None else ranks.astype(np.int64)
    names = [None] * len(durations) if hosts is None else [str(host) for host in hosts]
    return check_timings(path.stem, region, durations, numbers, names, others)


def _numbers(path: Path, name: str, array: NDArray[np.generic]) -> Floats:
    if array.dtype.kind not in "fiu":
        raise ProfileError(f"{path}: {name} is {array.dtype}, not numbers")
    return np.ascontiguousarray(array, dtype=np.float64)


def _read_per_rank(
    path: Path, arrays: dict[str, NDArray[np.generic]], name: str, ranks: int
) -> NDArray[np.generic] | None:
    if name in arrays and arrays[name].shape != (ranks,):
        raise ProfileError(f"{path}: {name} has not one value for each of {ranks} ranks")
    return arrays.get(name)


def read_parquet(path: Path, region: str | None) -> Timings:
    """Read Parquet as `read_csv` reads CSV."""
    return _read_frame(path, region, read_bounded_parquet(path, most_memory(path.stat().st_size)))


def read_csv(path: Path, region: str | None) -> Timings:
    """Read rows of rank, instance, duration …, or a matrix whose rows are ranks."""
    with path.open("rb") as stream:
        first = stream.readline(1 << 24).decode("utf-8-sig", "replace").strip()
    separator = next((mark for mark in ",;\t" if mark in first), ",")
    if first.count(separator) >= _MOST_COLUMNS:
        raise ProfileError(f"{path}: has over {_MOST_COLUMNS} columns; give each duration a row")
    header = not all(_is_number(cell) for cell in first.split(separator))
    frame = pl.read_csv(
        path,
        has_header=header,
        separator=separator,
        infer_schema_length=1000,
        schema_overrides=None
        if header
        else dict.fromkeys([f"column_{i + 1}" for i in range(first.count(separator) + 1)], pl.Float64),
    )
    return _read_frame(path, region, frame)


def _is_number(cell: str) -> bool:
    try:
        float(cell or "nan")
    except ValueError:
        return False
    return True


def _read_frame(path: Path, region: str | None, frame: pl.DataFrame) -> Timings:
    _check_size(path, frame.height * frame.width)
    if "duration" in frame.columns:
        return _read_rows(path, region, frame)
    text = [name for name, kind in frame.schema.items() if not kind.is_numeric()]
    if text or not frame.width:
        reason = f"{printable(text[0])!r} is not numbers" if text else "it has no columns"
        raise ProfileError(f"{path}: has no column duration, and is no matrix of times either: {reason}")
    matrix = frame.to_numpy().astype(np.float64)
    return make_timings(path, region, {"duration": matrix})


def _read_rows(path: Path, region: str | None, frame: pl.DataFrame) -> Timings:
    frame, region = _select_region(path, region, frame)
    frame = _with_keys(path, frame)
    ranks, rows = np.unique(frame["rank"].to_numpy(), return_inverse=True)
    # Numbers of instances may have gaps, as long as they are the same for all ranks.
    columns = np.unique(frame["instance"].to_numpy(), return_inverse=True)[1]
    shape = (len(ranks), int(columns.max(initial=-1)) + 1)
    keys = ("region", "rank", "instance", "host")
    numbers = [column for column in frame.drop(keys, strict=False) if column.dtype.is_numeric()]
    if 8 * shape[0] * shape[1] * len(numbers) > most_memory(path.stat().st_size):
        raise ProfileError(f"{path}: the ranks' instances are too unequal in number for a matrix")
    matrices = {}
    for column in numbers:
        matrices[column.name] = np.full(shape, np.nan)
        matrices[column.name][rows, columns] = column.cast(pl.Float64).to_numpy()
    durations = matrices.pop("duration")
    hosts = _hosts(frame, rows, len(ranks))
    return check_timings(path.stem, region, durations, ranks.astype(np.int64), hosts, matrices)


def _with_keys(path: Path, frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows with a rank and an instance each, counted where the file has none."""
    for name in {"duration", "rank", "instance"} & set(frame.columns):
        kind = frame.schema[name]
        if not kind.is_numeric() and len(frame):
            reason = "has no numbers" if kind == pl.Null else "is not numbers"
            raise ProfileError(f"{path}: its column {name} {reason}; times are plain seconds")
    if "rank" not in frame.columns:
        frame = frame.with_columns(rank=pl.lit(0, pl.Int64))
    if "instance" not in frame.columns:
        frame = frame.with_columns(instance=pl.int_range(pl.len()).over("rank"))
    frame = frame.with_columns(pl.col("rank", "instance", "duration").cast(pl.Float64))
    keys = frame.select("rank", "instance")
    ranks = keys["rank"].drop_nulls()
    if not ((ranks.abs() < _MOST_RANKS) & (ranks % 1 == 0)).all():
        raise ProfileError(f"{path}: its ranks are not whole numbers")
    if keys.null_count().sum_horizontal().item() or keys.is_duplicated().any():
        raise ProfileError(f"{path}: rank and instance do not name each row, and once only")
    return frame


def _hosts(frame: pl.DataFrame, rows: Indices, ranks: int) -> list[str | None]:
    hosts: list[str | None] = [None] * ranks
    if "host" in frame.columns:
        for row, host in zip(rows.tolist(), frame["host"].cast(pl.String).to_list(), strict=True):
            hosts[row] = host
    return hosts


def _select_region(path: Path, region: str | None, frame: pl.DataFrame) -> tuple[pl.DataFrame, str | None]:
    """Return the rows of a region, and its name."""
    if "region" not in frame.columns:
        return frame, region
    names = [str(name) for name in frame["region"].unique(maintain_order=True).to_list()]
    if region is None and len(names) > 1:
        raise UsageError(f"{path}: has several series; name one with --region: {', '.join(names)}")
    wanted = names[0] if region is None and names else region
    if wanted not in names:
        raise UsageError(f"{path}: has no region {wanted!r}; there is {', '.join(names)}")
    return frame.filter(frame["region"].cast(pl.String) == wanted), wanted


# The first bytes of a file determine its format; its name does not matter.
_KINDS: Mapping[bytes, Callable[[Path, str | None], Timings]] = {
    b"\x93NUMPY": read_arrays,
    b"PK\x03\x04": read_arrays,
    b"PAR1": read_parquet,
}


def read_timings(path: str | os.PathLike[str], region: str | None = None) -> Timings:
    """Return the timings of `region` that are in a file; None: of its only region.

    The file is a profile with a series, a `.npy` or `.npz` array, a Parquet or a CSV file, with the contents
    that docs/reference/regimes.md describes. Raises `UsageError` if the region has no series or has to be
    named, `ProfileError` if the file has no timings.
    """
    path = Path(path)
    if kind_of_foreign(path) is not None:
        return timings_of(Profile(path), region)  # which says that it has none
    try:
        with path.open("rb") as stream:
            begin = stream.read(4096)
    except OSError as error:
        raise ProfileError(f"{path}: {error.strerror}; name a file of timings") from None
    if not begin:
        raise ProfileError(f"{path}: is empty; name a profile, or .npy, .npz, CSV or Parquet")
    if begin.startswith(MAGIC[:5]):
        profile = Profile(path)
        profile.verify()  # other tables are read later, when they are asked for
        return timings_of(profile, region)
    kind = next((kind for start, kind in _KINDS.items() if begin.startswith(start)), read_csv)
    if kind is read_csv and (b"\0" in begin or begin.startswith(_COMPRESSED)):
        raise ProfileError(f"{path}: is neither a profile nor .npy, .npz, CSV or Parquet")
    try:
        return kind(path, region)
    except HaloscopeError:
        raise
    except Exception as error:  # these readers raise many kinds of errors for damage
        reason = " ".join(str(error).split())[:200]
        raise ProfileError(f"{path}: cannot be read: {reason}; write the file again") from None
