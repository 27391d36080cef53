"""Measurements of the machine, and bounds for a machine without measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

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


def find_crowded_host(profile: Profile) -> tuple[int, int] | None:
    """Return the numbers of ranks and CPUs of the host with most ranks per CPU; None if each has a CPU.

    The CPUs are those on which the ranks may run.
    """
    rows = profile.table("binding").head(_MOST_CPUS_LOOKED_AT)
    crowded = []
    for (_host,), of_host in rows.group_by("host", maintain_order=True):
        lists = [numbers_of(text) for text in of_host["cpus"].drop_nulls().unique().to_list()]
        cpus = {cpu for numbers in lists for cpu in numbers or []}
        if cpus and len(of_host) > len(cpus):
            crowded.append((len(of_host), len(cpus)))
    return max(crowded, key=lambda host: host[0] / host[1], default=None)
