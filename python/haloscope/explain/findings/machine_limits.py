"""Measurements of the machine, and bounds for a machine without measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from haloscope.base.units import noun_text
from haloscope.profile import Profile
from haloscope.profile.tables import numbers_of

# Time (s) of a poll that finds nothing: low, expected and high, as measured with Open MPI and MPICH.
POLL = (20e-9, 60e-9, 150e-9)
# Upper bounds of a message's latency (s) and lower bounds of its bandwidth (bytes per second), by whether it
# stays on its node, for machines without measurements.
_SLOW_MESSAGE = {True: (20e-6, 1e9), False: (100e-6, 2e8)}
_MOST_CPUS_LOOKED_AT = 65536


@dataclass(frozen=True)
class MachineMeasurements:
    """Measurements of the machine, for rules that depend on its speed.

    `message_time(bytes, same_node)` is the time (s) from a send to its receive. `limits` are sizes in bytes
    at which the library changes its protocol. `collectives` has one row per measured point: `operation` (as
    in the table `collectives`), `comm_size`, `bytes`, `time` and `best_time` (s), and `algorithm`, the name
    of the fastest one.
    """

    message_time: Callable[[float, bool], float] | None = None
    limits: Sequence[int] = ()
    collectives: pl.DataFrame | None = None

    def bound_message_time(self, size: float, same_node: bool) -> float:
        """Return an upper bound (s) of a message's time: from measurements, else that of a slow machine."""
        if self.message_time is not None:
            return 2 * self.message_time(size, same_node)
        latency, bandwidth = _SLOW_MESSAGE[same_node]
        return latency + size / bandwidth


def find_crowded_host(profile: Profile, *, is_of_threads: bool = True) -> tuple[int, int, int] | None:
    """Return ranks, threads and CPUs of the host with most threads per CPU; None if each has a CPU.

    The CPUs are those on which the ranks may run. Threads are OpenMP's, as far as they are recorded, and one
    for each rank; without `is_of_threads` only the latter.
    """
    teams = profile.frame("ranks", ["rank", "omp_threads"]).group_by("rank").agg(pl.col("omp_threads").max())
    rows = profile.table("binding").head(_MOST_CPUS_LOOKED_AT).join(teams, on="rank", how="left")
    crowded = []
    for (_host,), of_host in rows.group_by("host", maintain_order=True):
        lists = [numbers_of(text) for text in of_host["cpus"].drop_nulls().unique().to_list()]
        cpus = {cpu for numbers in lists for cpu in numbers or []}
        threads = int(of_host["omp_threads"].fill_null(1).clip(1).sum()) if is_of_threads else len(of_host)
        if cpus and threads > len(cpus):
            crowded.append((len(of_host), threads, len(cpus)))
    return max(crowded, key=lambda host: host[1] / host[2], default=None)


def crowding_text(crowded: tuple[int, int, int]) -> str:
    """Return what `find_crowded_host` found, such as `4 ranks with 8 threads shared 2 CPUs`."""
    ranks, threads, cpus = crowded
    more = f" with {noun_text(threads, 'thread')}" if threads > ranks else ""
    return f"{noun_text(ranks, 'rank')}{more} shared {noun_text(cpus, 'CPU')}"


def has_shared_cpus(profile: Profile) -> bool:
    """Return whether a host has more ranks than CPUs."""
    return find_crowded_host(profile, is_of_threads=False) is not None
