"""Quantities of a region for figures, declared once: title, unit, and expression over the table `regions`."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from haloscope.base.errors import UsageError


@dataclass(frozen=True)
class Quantity:
    """A number of a region in a run: the expression `value` over the columns of `regions`, in `unit`."""

    title: str
    unit: str
    value: pl.Expr


def _per_rank(total: str) -> pl.Expr:
    return pl.col(total) / pl.col("ranks")


def _per_second(total: str) -> pl.Expr:
    return pl.when(pl.col("time_mean") > 0).then(_per_rank(total) / pl.col("time_mean"))


QUANTITIES: dict[str, Quantity] = {
    "time": Quantity("time per rank", "s", pl.col("time_mean")),
    "mpi_time": Quantity("MPI time per rank", "s", pl.col("mpi_time_mean")),
    "sends": Quantity("messages sent", "", pl.col("sends_total")),
    "bytes": Quantity("bytes sent", "B", pl.col("bytes_sent_total")),
    "sends_a_rank": Quantity("messages sent per rank", "", _per_rank("sends_total")),
    "bytes_a_rank": Quantity("bytes sent per rank", "B", _per_rank("bytes_sent_total")),
    "most_bytes": Quantity("bytes sent, maximum over ranks", "B", pl.col("bytes_sent_max")),
    "largest_send": Quantity("largest message sent", "B", pl.col("largest_message")),
    "mean_send": Quantity("mean message sent", "B", pl.col("mean_message")),
    "sources": Quantity("distinct sources per rank, mean", "", pl.col("src_ranks_mean")),
    "destinations": Quantity("distinct destinations per rank, mean", "", pl.col("dest_ranks_mean")),
    "collectives": Quantity("collectives per rank", "", _per_rank("colls_total")),
    "bandwidth": Quantity("send bandwidth per rank", "B/s", _per_second("bytes_sent_total")),
    "message_rate": Quantity("message rate per rank", "/s", _per_second("sends_total")),
}


def find_quantity(name: str) -> Quantity:
    """Return the quantity with this name. Raises `UsageError` if there is none."""
    if name not in QUANTITIES:
        raise UsageError(f"unknown quantity {name!r}; choose from {', '.join(QUANTITIES)}")
    return QUANTITIES[name]
