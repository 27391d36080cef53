"""Store the rows of a benchmark: `NAME/run.py | tee new.json`, then `table.py NAME new.json`.

All rows are stored in `NAME/rows.csv`. A row is replaced when a run has measured it again. A page of
docs/quality shows some of them: each line between its marks of that name that begins with a row's case gets
the row's figures. The page determines which rows are shown, and their order.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from common import between, put_between

BENCHMARKS = Path(__file__).resolve().parent
PAGES = BENCHMARKS.parent / "docs" / "quality"
COLUMNS = ("case", "ours", "peer", "unit", "peer_name", "ratio", "ci_low", "ci_high", "target", "met")

Row = Mapping[str, str]


def page_of(name: str) -> Path:
    """Return the page with the marks of a benchmark."""
    mark = f"<!-- bench-{name}: begin -->\n"
    (page,) = (path for path in PAGES.glob("*.md") if mark in path.read_text(encoding="utf-8"))
    return page


def rows(name: str) -> dict[str, Row]:
    """Return all stored rows of a benchmark by case."""
    path = BENCHMARKS / name / "rows.csv"
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {row["case"]: row for row in csv.DictReader(file)}


def line(row: Row) -> str:
    """Return a row as a line of a table."""
    ours, peer, ratio, low, high = (
        _number(row[key]) for key in ("ours", "peer", "ratio", "ci_low", "ci_high")
    )
    sides = f"{ours} {row['unit']} | {peer} ({row['peer_name']})"
    aim = f"{float(row['target']):g}" if row["target"] else ""
    return f"| {row['case']} | {sides} | {ratio} [{low}, {high}] | {aim} |"


def shown(text: str, kept: Mapping[str, Row]) -> str:
    """Return the text of a page's tables with the stored figures."""
    lines = [(one, one.removeprefix("| ").partition(" | ")[0]) for one in text.split("\n")]
    return "\n".join(line(kept[case]) if case in kept else one for one, case in lines)


def _number(text: str) -> str:
    """Format with three significant digits."""
    value = float(text)
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


def _read(texts: Iterable[str]) -> dict[str, Row]:
    """Return the rows that a run printed, without those that it could not measure."""
    printed = [json.loads(text) for text in texts]
    measured = [row for row in printed if row["ours"] is not None]
    return {
        row["case"]: {key: "" if row[key] is None else str(row[key]) for key in COLUMNS} for row in measured
    }


def _main() -> None:
    name, file = sys.argv[1:]
    kept = rows(name) | _read(Path(file).read_text(encoding="utf-8").splitlines())
    with (BENCHMARKS / name / "rows.csv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept.values())
    page = page_of(name)
    put_between(page, name, shown(between(page, name)[1], kept))


if __name__ == "__main__":
    _main()
