"""`--to parquet`: a data set of many runs with one directory per table, and in it one per run."""

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

RUNS = "runs"  # the table of runs; a run listed there is complete
_FILE = "table.parquet"
_LONGEST_STEM = 80


def write_parquet(profiles: Profiles, output: Path) -> list[str]:
    """Write each table of each profile to `TABLE/run=RUN/table.parquet`, inclusive of nested regions.

    The columns are those of `Ensemble.table`. Runs are added to an existing data set, and replace those with
    the same name. Raises `OutputError` if `output` exists and is not a data set.
    """
    if output.exists() and not ((output / RUNS).is_dir() or (output.is_dir() and not any(output.iterdir()))):
        raise OutputError(f"{output}: exists and is not a data set of profiles; choose a different directory")
    for profile in profiles:
        profile.data.guard(lambda opened=profile: _write_run(opened, output))  # type: ignore[misc]
    return []


def _write_run(profile: Profile, output: Path) -> None:
    run = f"run={make_run_name(profile)}"
    runs = output / RUNS / run / _FILE
    runs.unlink(missing_ok=True)  # until all of its tables are written
    for name in TABLES:
        folder = output / name / run
        table = label_table(profile, name)
        if table.height:
            _write(table, folder / _FILE)
        else:
            shutil.rmtree(folder, ignore_errors=True)  # of an earlier export
    _write(run_columns(profile), runs)


def make_run_name(profile: Profile) -> str:
    """Return the name of a run: that of its file, and digits that distinguish equal names in several
    directories."""
    path = profile.path
    stem = re.sub(r"[^A-Za-z0-9_.-]", "_", path.name.removesuffix(".halo"))[:_LONGEST_STEM]
    return f"{stem}-{hashlib.sha256(str(path.absolute()).encode('utf-8', 'replace')).hexdigest()[:8]}"


def _write(table: pl.DataFrame, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{target.parent}: {error.strerror}; choose a different path") from None
    with write_file(target, "table") as file:
        table.write_parquet(file)
