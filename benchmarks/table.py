"""Puts rows into docs/benchmarks.md: `NAME/run.py | tee rows.json`, then `table.py NAME rows.json`.

What was measured before stands until a run has measured it again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
HEAD = "| what | Haloscope | peer | ratio | aim |\n| --- | --- | --- | --- | --- |\n"


def number(value: float) -> str:
    """With the digits that count."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3f}"


def line(row: dict[str, Any]) -> str:
    """A line of the table."""
    ours, peer, ratio, low, high = (
        number(row[key]) for key in ("ours", "peer", "ratio", "ci_low", "ci_high")
    )
    aim = "" if row["target"] is None else f"{row['target']:g}"
    unit = row["unit"]
    sides = f"{ours} {unit} | {peer} ({row['peer_name']})"
    return f"| {row['case']} | {sides} | {ratio} [{low}, {high}] | {aim} |\n"


def main() -> None:
    name, file = sys.argv[1:]
    begin, end = (f"<!-- bench-{name}: {place} -->\n" for place in ("begin", "end"))
    rows = [json.loads(text) for text in Path(file).read_text().splitlines()]
    text = DOCUMENT.read_text(encoding="utf-8")
    head, rest = text.split(begin)
    table, tail = rest.split(end)
    lines = {words.split(" | ")[0]: words for words in table.splitlines(keepends=True)[2:]}
    for row in rows:
        if row["ours"] is not None:
            lines[f"| {row['case']}"] = line(row)
    made = "".join([head, begin, HEAD, *lines.values(), end, tail])
    DOCUMENT.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
