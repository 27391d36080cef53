"""Store what run.py printed: `run.py | tee new.json`, then `pages.py new.json`.

counts.csv has a row per program; a program that ran again replaces its row. The table of
docs/quality/programs.md is made of it.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import put_between, write_rows

HERE = Path(__file__).resolve().parent

PAGE = HERE.parents[1] / "docs" / "quality" / "programs.md"

Row = Mapping[str, str]


def main() -> None:
    rows = read_rows(HERE / "counts.csv")
    for file in sys.argv[1:]:
        for line in Path(file).read_text(encoding="utf-8").splitlines():
            row = summarise(json.loads(line))
            rows[row["program"]] = row
    write_rows(HERE / "counts.csv", [rows[name] for name in sorted(rows)])
    head = "| program | calls | as counted | output | iterations |"
    lines = [show(rows[name]) for name in sorted(rows)]
    put_between(PAGE, "programs", "\n".join([head, "|" + " --- |" * 5, *lines]) + "\n")


def summarise(result: Mapping[str, object]) -> dict[str, str]:
    """Return the row of one result of run.py."""
    status, differ = result["status"], result["differ"]
    assert isinstance(status, list)
    iterations, phases = result.get("iterations"), result.get("phases")
    return {
        "program": str(result["program"]),
        "package": str(result["package"]),
        "mpi": str(result["mpi"]),
        "ranks": str(result["ranks"]),
        "status": " ".join(map(str, status)),
        "output": str(result["output"]),
        "functions": str(result["functions"]),
        "calls": str(result["calls"]),
        "equal": "yes" if differ == {} else "no",
        "iterations": " ".join(map(str, iterations)) if isinstance(iterations, list) else "",
        "phases": "; ".join(map(str, phases)) if isinstance(phases, list) else "",
    }


def show(row: Row) -> str:
    """Return a row as a line of the table."""
    bare, profiled = row["status"].split()
    output = row["output"].replace("same but for ", "") if bare == profiled else f"status {bare}, {profiled}"
    known = (
        f"{row['iterations'] or '–'}/{row['phases'] or '–'}" if row["iterations"] or row["phases"] else "–"
    )
    name = row["program"] + " (MPICH)" * (row["mpi"] == "mpich" and "mpich" not in row["program"])
    return f"| {name} | {row['calls']} | {row['equal']} | {output} | {known} |"


def read_rows(path: Path) -> dict[str, dict[str, str]]:
    """Return the rows of a file by program."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {row["program"]: row for row in csv.DictReader(file)}


if __name__ == "__main__":
    main()
