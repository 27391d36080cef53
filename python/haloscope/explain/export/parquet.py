"""`--to parquet`: a data set of many runs, a directory for each table, in it one for each run."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

import polars as pl

from haloscope.base.errors import OutputError
from haloscope.base.files import write_file
from haloscope.explain.export.traced import Profiles
from haloscope.profile import Profile, label_table, run_columns
from haloscope.profile.tables import TABLES

RUNS = "runs"  # the table of runs; one that it has is whole
_FILE = "table.parquet"
_LONGEST_STEM = 80


def write_parquet(profiles: Profiles, output: Path) -> list[str]:
    """Write each table of each profile to `TABLE/run=RUN/table.parquet`, inclusive of nested regions.

    The columns are those of `Ensemble.table`. A data set that is there gets the runs added; one that it has
    is replaced. Raises `OutputError` if something else stands at `output`.
    """
    if output.exists() and not ((output / RUNS).is_dir() or (output.is_dir() and not any(output.iterdir()))):
        raise OutputError(f"{output}: is there, and is no data set of profiles; name another directory")
    for profile in profiles:
        profile.data.guard(lambda opened=profile: _write_run(opened, output))  # type: ignore[misc]
    return []


def _write_run(profile: Profile, output: Path) -> None:
    run = f"run={run_of(profile)}"
    runs = output / RUNS / run / _FILE
    runs.unlink(missing_ok=True)  # until all of its tables are there
    for name in TABLES:
        place = output / name / run
        table = label_table(profile, name)
        if table.height:
            _write(table, place / _FILE)
        else:
            shutil.rmtree(place, ignore_errors=True)  # of what was there before
    _write(run_columns(profile), runs)


def run_of(profile: Profile) -> str:
    """Return the name of a run: its file's, and digits that tell equal names in several directories apart."""
    path = profile.path
    stem = re.sub(r"[^A-Za-z0-9_.-]", "_", path.name.removesuffix(".halo"))[:_LONGEST_STEM]
    return f"{stem}-{hashlib.sha256(str(path.absolute()).encode('utf-8', 'replace')).hexdigest()[:8]}"


def _write(table: pl.DataFrame, place: Path) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{place.parent}: {error.strerror}; name another place") from None
    with write_file(place, "table") as file:
        table.write_parquet(file)
