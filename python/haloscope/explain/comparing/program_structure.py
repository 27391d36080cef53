"""Changes of the program: counts, which are exact, and settings of the runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from haloscope.base.errors import printable, shorten_text
from haloscope.base.units import bytes_text, count_text, noun_text
from haloscope.explain.comparing.sides import ComparedRun, Side
from haloscope.profile.store import region_text

STRUCTURE = {
    **dict.fromkeys(("region", "table", "quantity"), pl.String),
    "first_count": pl.Int64,
    "second_count": pl.Int64,
    "varies": pl.Boolean,
}
_KEYS = ["region", "table", "quantity"]
_MOST_SAID = 4  # quantities of a region in one line
_MOST_FOLDED = 2  # other counts of a region that the page names
_LONGEST = 80  # characters of a value
_SAID_FIRST = ("regions", "communicators", "spread", "calls", "collectives", "sizes", "memory")
_WORDS: Mapping[str, str] = {
    "ranks": "ranks that enter",
    "instances": "instances",
    "sends_total": "messages sent",
    "recvs_total": "messages received",
    "bytes_sent_total": "sent",
    "bytes_recv_total": "received",
    "largest_message": "in the largest message",
    "dest_ranks_max": "partners to send to",
    "src_ranks_max": "partners to receive from",
    "colls_total": "collective calls",
    "coll_bytes_total": "in collectives",
    "rma_ops_total": "one-sided operations",
    "rma_bytes_total": "one-sided",
    "io_ops_total": "file operations",
    "io_bytes_total": "in files",
}
_HEADS: Mapping[str, str] = {
    "sends_total": "Messages",
    "bytes_sent_total": "Bytes sent",
    "colls_total": "Collective calls",
    "coll_bytes_total": "Bytes in collectives",
    "rma_ops_total": "One-sided operations",
    "io_ops_total": "File operations",
    "instances": "Instances of regions",
}
# Counts with a column of their own on the page.
FOLDED: Mapping[str, str] = {
    "instances": "instances",
    "sends_total": "messages sent",
    "bytes_sent_total": "bytes sent",
    "colls_total": "collectives",
}
_BYTES = ("bytes_sent_total", "bytes_recv_total", "largest_message", "coll_bytes_total", "rma_bytes_total")
# Run information about the communication of the MPI library and the placement of ranks.
_SETTINGS = ("program", "command", "mpi_library", "mpi_standard", "binding")


def compare_structure(first: Side, second: Side) -> pl.DataFrame:
    """Return one row per count that is not equal in all runs of both sides.

    Without `varies` all runs of a side agree and the sides differ: the program changed. With `varies` runs of
    one side differ from each other, so no change can be concluded; the counts are those of the first runs.
    Counts that one side does not record are left out. A missing count is 0.
    """
    unknown = sorted(set().union(*(run.unknown for side in (first, second) for run in side.runs)))
    sides = [_stack_counts(side).filter(~pl.col("table").is_in(unknown)) for side in (first, second)]
    known = _known_regions(sides[0]) & _known_regions(sides[1])
    first_counts, second_counts = (
        _sum_side(rows, len(side.runs)) for rows, side in zip(sides, (first, second), strict=True)
    )
    both = first_counts.join(second_counts, on=_KEYS, how="full", coalesce=True, suffix="_second")
    # An unknown quantity has no row in any region; a known one is 0 in regions without a row.
    both = both.filter((pl.col("table") != "regions") | pl.col("quantity").is_in(sorted(known)))
    rows = both.select(
        *_KEYS,
        pl.col("count").fill_null(0).alias("first_count"),
        pl.col("count_second").fill_null(0).alias("second_count"),
        (pl.col("varies").fill_null(False) | pl.col("varies_second").fill_null(False)).alias("varies"),
    )
    found = rows.filter(pl.col("varies") | (pl.col("first_count") != pl.col("second_count")))
    return _sort_rows(found, first, second)


def _stack_counts(side: Side) -> pl.DataFrame:
    return pl.concat([run.facts.with_columns(run=pl.lit(index)) for index, run in enumerate(side.runs)])


def _known_regions(rows: pl.DataFrame) -> set[str]:
    return set(rows.filter(pl.col("table") == "regions")["quantity"].unique().to_list())


def _sum_side(rows: pl.DataFrame, runs: int) -> pl.DataFrame:
    """Return the first run's count of each quantity, and whether the runs differ."""
    own = pl.col("count").filter(pl.col("run") == 0).first().fill_null(0)
    differs = (pl.col("count").n_unique() > 1) | ((pl.len() < runs) & (pl.col("count") != 0).any())
    return rows.group_by(_KEYS).agg(own.alias("count"), differs.alias("varies"))


def _sort_rows(rows: pl.DataFrame, first: Side, second: Side) -> pl.DataFrame:
    regions = [*first.first.times["region"].to_list(), *second.first.times["region"].to_list()]
    positions = {name: index for index, name in enumerate(dict.fromkeys(regions))}
    tables = {name: index for index, name in enumerate(_SAID_FIRST)}
    words = {name: index for index, name in enumerate(_WORDS)}
    order = [
        pl.col("region")
        .replace_strict(positions, default=len(positions), return_dtype=pl.Int64)
        .alias("_region"),
        pl.col("table").replace_strict(tables, default=9, return_dtype=pl.Int64).alias("_table"),
        pl.col("quantity").replace_strict(words, default=99, return_dtype=pl.Int64).alias("_word"),
    ]
    keys = ["varies", "_region", "_table", "_word", "quantity"]
    return (
        rows.with_columns(order)
        .sort(keys)
        .select(pl.col(name).cast(kind) for name, kind in STRUCTURE.items())
    )


def count_headline(rows: pl.DataFrame, first: Side, second: Side) -> str:
    """Return how the program's main count changed, in a few words without a period."""
    certain = rows.filter(~pl.col("varies"))
    if certain.is_empty():
        return "Counts vary between runs of one side" if len(rows) else "All counts are equal"
    varying = set(rows.filter("varies")["quantity"])
    before, after = (_sum_counts(side) for side in (first, second))
    for name, what in _HEADS.items():
        old, new = before.get(name, 0), after.get(name, 0)
        if old == new or name in varying:
            continue
        if not old or not new:
            return f"{what}: {count_text(old)} → {count_text(new)}"
        return f"{what} {'grew' if new > old else 'fell'} by {abs(100 * (new / old - 1)):.3g} %"
    return f"Counts changed in {noun_text(certain['region'].n_unique(), 'region')}"


def _sum_counts(side: Side) -> dict[str, int]:
    """Return the first run's counts, summed over regions."""
    rows = side.first.facts.filter(pl.col("table") == "regions")
    return dict(rows.group_by("quantity").agg(pl.col("count").sum()).iter_rows())


def structure_lines(rows: pl.DataFrame, first: Side, second: Side) -> list[str]:
    """Return a sentence for each changed region, then one about counts that vary from run to run."""
    certain = rows.filter(~pl.col("varies"))
    first_regions, second_regions = (set(side.first.times["region"].to_list()) for side in (first, second))
    lines = _list_one_sided(certain, first, second)
    for (region,), part in certain.group_by("region", maintain_order=True):
        name = str(region)
        if name in first_regions and name in second_regions:
            lines.append(f"{region_text(name)}: {_describe_part(name, part, first, second)}")
    varying = rows.filter(pl.col("varies"))
    if len(varying):
        where = varying["region"].unique(maintain_order=True).to_list()
        example = f"{printable(str(varying['quantity'][0]))} in {region_text(where[0])}"
        lines.append(
            f"{noun_text(len(varying), 'count')} {'varies' if len(varying) == 1 else 'vary'} between runs of"
            " one side,"
            f" so no change is concluded: "
            f"{example}{' …' if len(varying) > 1 else ''}"
        )
    return lines


def _list_one_sided(rows: pl.DataFrame, first: Side, second: Side) -> list[str]:
    """Return a sentence about regions that only A has, and one about regions that only B has."""
    changed = rows["region"].unique(maintain_order=True).to_list()
    regions = [set(side.first.times["region"].to_list()) for side in (first, second)]
    lines = []
    for side, own, other in (("A", *regions), ("B", *regions[::-1])):
        alone = [region_text(name) for name in changed if name in own and name not in other]
        if alone:
            more = f" and {len(alone) - _MOST_SAID} more" if len(alone) > _MOST_SAID else ""
            lines.append(f"only {side} has {', '.join(alone[:_MOST_SAID])}{more}")
    return lines


def fold_structure(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Return a row per region and whether its counts vary: the counts of `FOLDED`, and the others by name."""
    folded = []
    for (region, varies), part in rows.group_by("region", "varies", maintain_order=True):
        row: dict[str, Any] = {"region": region, "varies": varies, **dict.fromkeys(FOLDED)}
        others = []
        for count in part.to_dicts():
            if count["table"] == "regions" and count["quantity"] in FOLDED:
                row[count["quantity"]] = (count["second_count"], _change_text(count))
            else:
                others.append(_WORDS.get(count["quantity"], printable(count["quantity"])))
        first = ", ".join(others[:_MOST_FOLDED]) + (", …" if len(others) > _MOST_FOLDED else "")
        folded.append(row | {"others": f"{len(others)}: {first}" if others else ""})
    return folded


def _describe_part(region: str, part: pl.DataFrame, first: Side, second: Side) -> str:
    texts = [_quantity_text(row) for row in part.filter(pl.col("table") != "spread").to_dicts()]
    if len(part.filter(pl.col("table") == "spread")):
        pairs = _compare_pairs(region, first, second)
        if pairs or not texts:  # different sums imply different shares
            texts.insert(min(len(texts), 1), pairs or "the distribution over ranks differs")
    rest = len(texts) - _MOST_SAID
    return "; ".join([*texts[:_MOST_SAID], *([f"and {rest} more"] if rest > 0 else [])])


def _quantity_text(row: Mapping[str, Any]) -> str:
    name = str(row["quantity"])
    what = _WORDS.get(name, printable(name))
    if row["table"] == "sizes":
        what = f"messages of {what.removeprefix('p2p ')}"
    if row["table"] == "communicators":
        what = f"communicators {what}"
    return f"{what} {_change_text(row)}"


def _change_text(row: Mapping[str, Any]) -> str:
    before, after = row["first_count"], row["second_count"]
    text = bytes_text if row["quantity"] in _BYTES or row["quantity"] == "io_bytes_total" else count_text
    share = f" ({100 * (after / before - 1):+.3g} %)" if before and after else ""
    return f"{text(before)} → {text(after)}{share}"


def _compare_pairs(region: str, first: Side, second: Side) -> str:
    first_pairs, second_pairs = (
        side.first.pairs.filter(pl.col("region") == region).select("rank", "partner")
        for side in (first, second)
    )
    gone = len(first_pairs.join(second_pairs, on=["rank", "partner"], how="anti", nulls_equal=True))
    new = len(second_pairs.join(first_pairs, on=["rank", "partner"], how="anti", nulls_equal=True))
    if gone or new:
        return f"pairs of ranks that exchange messages: {gone} gone, {new} new"
    return ""


def compare_settings(first: Side, second: Side) -> list[str]:
    """Return differences in the settings of the sides: command, MPI, binding, variables of the MPI
    library."""
    first_settings, second_settings = _read_settings(first.first), _read_settings(second.first)
    names = [
        name
        for name in (*first_settings, *(name for name in second_settings if name not in first_settings))
        if first_settings.get(name) != second_settings.get(name)
    ]
    return [
        f"{printable(name)}: {_value_text(first_settings.get(name))} →"
        f" {_value_text(second_settings.get(name))}"
        for name in names
    ]


def _read_settings(run: ComparedRun) -> dict[str, str]:
    settings = {name: str(run.info[name]) for name in _SETTINGS if run.info.get(name)}
    settings["hosts"] = ", ".join(run.info["hosts"] or ())
    around: Mapping[str, str] = run.info.get("environment") or {}
    return settings | {name: text for name, text in around.items() if not name.startswith("HALOSCOPE_")}


def _value_text(value: str | None) -> str:
    return "unknown" if value is None else printable(shorten_text(value, _LONGEST))
