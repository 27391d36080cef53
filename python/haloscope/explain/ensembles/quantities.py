"""What is drawn of a region, declared once: its title, unit, and how it comes from the table `regions`."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from haloscope.base.errors import UsageError


@dataclass(frozen=True)
class Quantity:
    """A number of a region in a run: `value` of the columns of `regions`, in `unit`."""

    title: str
    unit: str
    value: pl.Expr


def _a_rank(total: str) -> pl.Expr:
    return pl.col(total) / pl.col("ranks")


def _a_second(total: str) -> pl.Expr:
    return pl.when(pl.col("time_mean") > 0).then(_a_rank(total) / pl.col("time_mean"))


QUANTITIES: dict[str, Quantity] = {
    "time": Quantity("time a rank", "s", pl.col("time_mean")),
    "mpi_time": Quantity("time a rank in MPI", "s", pl.col("mpi_time_mean")),
    "sends": Quantity("messages sent", "", pl.col("sends_total")),
    "bytes": Quantity("bytes sent", "B", pl.col("bytes_sent_total")),
    "sends_a_rank": Quantity("messages sent a rank", "", _a_rank("sends_total")),
    "bytes_a_rank": Quantity("bytes sent a rank", "B", _a_rank("bytes_sent_total")),
    "most_bytes": Quantity("bytes sent, most of any rank", "B", pl.col("bytes_sent_max")),
    "largest_send": Quantity("largest message sent", "B", pl.col("largest_message")),
    "mean_send": Quantity("mean message sent", "B", pl.col("mean_message")),
    "sources": Quantity("distinct sources of a rank, mean", "", pl.col("src_ranks_mean")),
    "destinations": Quantity("distinct destinations of a rank, mean", "", pl.col("dest_ranks_mean")),
    "collectives": Quantity("collectives of a rank", "", _a_rank("colls_total")),
    "bandwidth": Quantity("bytes sent a second and rank", "B/s", _a_second("bytes_sent_total")),
    "message_rate": Quantity("messages sent a second and rank", "/s", _a_second("sends_total")),
}


def quantity_of(name: str) -> Quantity:
    """Return a quantity. Raises `UsageError` if there is none of that name."""
    if name not in QUANTITIES:
        raise UsageError(f"there is no quantity {name!r}; there is {', '.join(QUANTITIES)}")
    return QUANTITIES[name]
