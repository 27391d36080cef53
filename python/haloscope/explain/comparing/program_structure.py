"""What the program does otherwise: counts, which are exact, and how the runs were started."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from haloscope.base.errors import printable, shorten_text
from haloscope.base.units import bytes_text, count_text
from haloscope.explain.comparing.sides import ComparedRun, Side
from haloscope.profile.store import region_text

STRUCTURE = {
    "region": pl.String,
    "table": pl.String,
    "quantity": pl.String,
    "first_count": pl.Int64,
    "second_count": pl.Int64,
    "varies": pl.Boolean,
}
_KEYS = ["region", "table", "quantity"]
_MOST_SAID = 4  # quantities of a region in one line
_LONGEST = 80  # characters of a value
_SAID_FIRST = ("regions", "communicators", "spread", "calls", "collectives", "sizes", "memory")
_WORDS: Mapping[str, str] = {
    "ranks": "ranks in it",
    "instances": "passes",
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
_BYTES = ("bytes_sent_total", "bytes_recv_total", "largest_message", "coll_bytes_total", "rma_bytes_total")
# Of the run information: what decides how a library communicates, and where ranks are.
_SETTINGS = ("program", "command", "mpi_library", "mpi_standard", "binding")


def changes(first: Side, second: Side) -> pl.DataFrame:
    """Return a row a count that is not the same in all runs of both sides.

    Without `varies` all runs of a side agree, and the sides differ: a change of the program. With `varies`
    runs of one side differ among themselves, so that nothing follows; the counts are those of the first runs.
    What one side cannot know is left out. A count that is missing is 0.
    """
    unknown = sorted(set().union(*(run.unknown for side in (first, second) for run in side.runs)))
    sides = [_counts(side).filter(~pl.col("table").is_in(unknown)) for side in (first, second)]
    known = _known_regions(sides[0]) & _known_regions(sides[1])
    one, other = (_of_side(rows, len(side.runs)) for rows, side in zip(sides, (first, second), strict=True))
    both = one.join(other, on=_KEYS, how="full", coalesce=True, suffix="_second")
    # An unknown quantity has no row in any region; one that has some is 0 where it has none.
    both = both.filter((pl.col("table") != "regions") | pl.col("quantity").is_in(sorted(known)))
    rows = both.select(
        *_KEYS,
        pl.col("count").fill_null(0).alias("first_count"),
        pl.col("count_second").fill_null(0).alias("second_count"),
        (pl.col("varies").fill_null(False) | pl.col("varies_second").fill_null(False)).alias("varies"),
    )
    found = rows.filter(pl.col("varies") | (pl.col("first_count") != pl.col("second_count")))
    return _in_order(found, first, second)


def _counts(side: Side) -> pl.DataFrame:
    return pl.concat([run.facts.with_columns(run=pl.lit(index)) for index, run in enumerate(side.runs)])


def _known_regions(rows: pl.DataFrame) -> set[str]:
    return set(rows.filter(pl.col("table") == "regions")["quantity"].unique().to_list())


def _of_side(rows: pl.DataFrame, runs: int) -> pl.DataFrame:
    """Return a count of each quantity, and whether the runs differ in it."""
    own = pl.col("count").filter(pl.col("run") == 0).first().fill_null(0)
    differs = (pl.col("count").n_unique() > 1) | ((pl.len() < runs) & (pl.col("count") != 0).any())
    return rows.group_by(_KEYS).agg(own.alias("count"), differs.alias("varies"))


def _in_order(rows: pl.DataFrame, first: Side, second: Side) -> pl.DataFrame:
    regions = [*first.first.times["region"].to_list(), *second.first.times["region"].to_list()]
    place = {name: index for index, name in enumerate(dict.fromkeys(regions))}
    tables = {name: index for index, name in enumerate(_SAID_FIRST)}
    words = {name: index for index, name in enumerate(_WORDS)}
    order = [
        pl.col("region").replace_strict(place, default=len(place), return_dtype=pl.Int64).alias("_region"),
        pl.col("table").replace_strict(tables, default=9, return_dtype=pl.Int64).alias("_table"),
        pl.col("quantity").replace_strict(words, default=99, return_dtype=pl.Int64).alias("_word"),
    ]
    keys = ["varies", "_region", "_table", "_word", "quantity"]
    return (
        rows.with_columns(order)
        .sort(keys)
        .select(pl.col(name).cast(kind) for name, kind in STRUCTURE.items())
    )


def structure_lines(rows: pl.DataFrame, first: Side, second: Side) -> list[str]:
    """Return a sentence for each region that changed, then one about what varies from run to run."""
    certain = rows.filter(~pl.col("varies"))
    here, there = (set(side.first.times["region"].to_list()) for side in (first, second))
    lines = _one_sided(certain, first, second)
    for (region,), part in certain.group_by("region", maintain_order=True):
        name = str(region)
        if name in here and name in there:
            lines.append(f"{region_text(name)}: {_describe_part(name, part, first, second)}")
    varying = rows.filter(pl.col("varies"))
    if len(varying):
        where = varying["region"].unique(maintain_order=True).to_list()
        example = f"{printable(str(varying['quantity'][0]))} in {region_text(where[0])}"
        lines.append(
            f"{len(varying)} differ from run to run of one side, so nothing follows from them: "
            f"{example}{' …' if len(varying) > 1 else ''}"
        )
    return lines


def _one_sided(rows: pl.DataFrame, first: Side, second: Side) -> list[str]:
    """Return a sentence about the regions that only A has, and one about those that only B has."""
    changed = rows["region"].unique(maintain_order=True).to_list()
    regions = [set(side.first.times["region"].to_list()) for side in (first, second)]
    lines = []
    for side, own, other in (("A", *regions), ("B", *regions[::-1])):
        alone = [region_text(name) for name in changed if name in own and name not in other]
        if alone:
            more = f" and {len(alone) - _MOST_SAID} more" if len(alone) > _MOST_SAID else ""
            lines.append(f"only {side} has {', '.join(alone[:_MOST_SAID])}{more}")
    return lines


def _describe_part(region: str, part: pl.DataFrame, first: Side, second: Side) -> str:
    said = [_quantity(row) for row in part.filter(pl.col("table") != "spread").to_dicts()]
    if len(part.filter(pl.col("table") == "spread")):
        pairs = _other_pairs(region, first, second)
        if pairs or not said:  # other sums are other shares anyway
            said.insert(min(len(said), 1), pairs or "ranks have other shares of it")
    rest = len(said) - _MOST_SAID
    return "; ".join([*said[:_MOST_SAID], *([f"and {rest} more"] if rest > 0 else [])])


def _quantity(row: Mapping[str, object]) -> str:
    name, before, after = str(row["quantity"]), row["first_count"], row["second_count"]
    assert isinstance(before, int)
    assert isinstance(after, int)
    text = bytes_text if name in _BYTES or name == "io_bytes_total" else count_text
    what = _WORDS.get(name, printable(name))
    if row["table"] == "sizes":
        what = f"messages of {what.removeprefix('p2p ')}"
    if row["table"] == "communicators":
        what = f"communicators {what}"
    share = f" ({100 * (after / before - 1):+.3g} %)" if before and after else ""
    return f"{what} {text(before)} → {text(after)}{share}"


def _other_pairs(region: str, first: Side, second: Side) -> str:
    one, other = (
        side.first.pairs.filter(pl.col("region") == region).select("rank", "partner")
        for side in (first, second)
    )
    gone = len(one.join(other, on=["rank", "partner"], how="anti", nulls_equal=True))
    new = len(other.join(one, on=["rank", "partner"], how="anti", nulls_equal=True))
    if gone or new:
        return f"pairs of ranks that exchange messages: {gone} gone, {new} new"
    return ""


def settings_changed(first: Side, second: Side) -> list[str]:
    """Return how the sides were started otherwise: command, MPI, binding, an MPI library's variables."""
    one, other = _settings(first.first), _settings(second.first)
    names = [
        name
        for name in (*one, *(name for name in other if name not in one))
        if one.get(name) != other.get(name)
    ]
    return [f"{printable(name)}: {_value(one.get(name))} → {_value(other.get(name))}" for name in names]


def _settings(run: ComparedRun) -> dict[str, str]:
    told = {name: str(run.told[name]) for name in _SETTINGS if run.told.get(name)}
    told["hosts"] = ", ".join(run.told["hosts"] or ())
    around: Mapping[str, str] = run.told.get("environment") or {}
    return told | {name: text for name, text in around.items() if not name.startswith("HALOSCOPE_")}


def _value(value: str | None) -> str:
    return "unknown" if value is None else printable(shorten_text(value, _LONGEST))
