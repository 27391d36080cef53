"""Store a profile of this version, and its tables as JSON, for a test of all later versions.

    python tools/keep_profile.py DIRECTORY      writes NAME.halo and NAME.json there; NAME is the version

The files of a released version never change: `tests/explain/test_kept_profiles.py` compares with them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import haloscope
from haloscope.base.building import build_application
from haloscope.base.toolchain import toolchain
from haloscope.base.version import own_version
from haloscope.profile.shown import SHOWN

_COMPUTED = {"waits", "wait_pairs", "delays", "critical_path", "pop", "tolerance", "clocks"}
KEPT_TABLES = tuple(name for name in SHOWN if name not in _COMPUTED)
_PROGRAM = "--procs 2,2,1 --zones 8,8,8 --groups 2 --quad 8 --gset 1 --dset 8 --zset 1,1,1 --niter 2".split()
_OPTIONS = ["--trace", "--callsites", "--depth", "2", "--series", "sweep_comm", "--slice", "0.01"]


def record(path: Path) -> None:
    """Write a profile that has something in nearly every table, and no path of this machine."""
    program = path.with_name("sweep")
    shutil.copy(build_application("sweep"), program)
    launch = [toolchain().launcher.name, "-n", "4", str(program), *_PROGRAM]
    command = Path(sys.executable).with_name("haloscope")
    subprocess.run([command, "run", "--quiet", "-o", path, *_OPTIONS, "--", *launch], cwd="/", check=True)


def said(path: Path) -> dict[str, list[dict[str, object]]]:
    """Return all rows of the recorded tables, by table, and the numbers of rows of the trace.

    A later version may compute other values from the same trace.
    """
    with haloscope.open(path) as profile:
        tables = {name: json.loads(profile.table(name).write_json()) for name in KEPT_TABLES}
        trace = profile.trace()
        tables["trace"] = [
            {name: len(getattr(trace, name)) for name in ("calls", "regions", "sends", "receives")}
        ]
    return tables


def as_text(tables: dict[str, list[dict[str, object]]]) -> str:
    """Return tables as JSON, of each the names of its columns and then its rows, one per line."""
    parts = []
    for name, rows in tables.items():
        lines = [list(rows[0]), *(list(row.values()) for row in rows)]
        body = ",\n".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines)
        parts.append(f"{json.dumps(name)}:[\n{body}]")
    return "{" + ",\n".join(parts) + "}\n"


def main() -> None:
    """Entry point of the command."""
    target, version = Path(sys.argv[1]), own_version()
    with tempfile.TemporaryDirectory(prefix="haloscope-", dir="/tmp") as scratch:
        written = Path(scratch) / "kept.halo"
        record(written)
        tables = {name: rows for name, rows in said(written).items() if rows}
        shutil.copy(written, target / f"{version}.halo")
    (target / f"{version}.json").write_text(as_text(tables), encoding="utf-8")


if __name__ == "__main__":
    main()
