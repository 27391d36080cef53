"""Computing and waiting of a run by rank and region."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl

from haloscope.base.arrays import Flags, Floats, Integers
from haloscope.base.errors import UsageError
from haloscope.explain.findings.machine_limits import POLL, has_shared_cpus
from haloscope.profile import Profile
from haloscope.profile.store import PROGRAM, Scope, region_text
from haloscope.profile.tables import main_thread_rows

Family = Literal["p2p", "coll", "other"]
FAMILIES: tuple[Family, ...] = ("p2p", "coll", "other")
# Point-to-point functions that wait for other ranks.
WAITING = r"^MPI_(Recv|Mrecv|Probe|Mprobe|Iprobe|Improbe|Test|Wait|Sendrecv|Send$|Ssend$|Rsend$)"


@dataclass(frozen=True)
class Absence:
    """Lower bounds (s, per rank) of the time outside MPI in which a rank had no CPU.

    `for_core` is the part in which it could have run, and `outside_mpi` all time outside MPI. A slice of time
    counts as far as the time without a CPU exceeds the time in MPI, as ranks may sleep or yield there.
    """

    total: Floats
    for_core: Floats
    outside_mpi: Floats


@dataclass
class RunTimes:
    """The times of one profile. Matrices have shape (ranks, regions) and are in seconds.

    Where several threads of a rank call MPI, they are those of the main thread. Regions are the marked
    regions of the program. Iterations that the recorder found belong to the region around them, because ranks
    find them at different times.
    """

    profile: Profile

    def __post_init__(self) -> None:
        """Read the data that all rules need."""
        self._tables: dict[str, pl.DataFrame] = {}
        tree = self.profile.regions
        names = pl.Series(tree.distinct_names, dtype=pl.String)
        self._paths = dict(zip(tree.distinct_names, tree.full_names, strict=True))
        owners = names.gather(_find_owners(self.profile))
        self.own = dict(zip(names.to_list(), owners.to_list(), strict=True))
        # Regions with iterations that the recorder found.
        self.with_phases = {own for name, own in self.own.items() if name != own}
        self._own = pl.col("region").replace_strict(self.own, return_dtype=pl.String)
        scope = Scope(tree, exclusive=True)
        cells = scope.name_regions(main_thread_rows(self.profile.data, scope), ["rank"])
        self._cells = cells.with_columns(self._own.alias("region"))
        self.ranks: list[int] = self._cells["rank"].unique().sort().to_list()
        self.regions: list[str] = self._cells["region"].unique(maintain_order=True).to_list()
        self.hosts = self.profile.hosts.find_names(pl.Series(self.ranks, dtype=pl.Int64)).to_list()
        # A poll that finds nothing waits for a message.
        polling = pl.col("poll_time").fill_null(0.0)
        other = pl.col("mpi_time") - pl.col("p2p_time") - polling - pl.col("coll_time")
        times = {
            "p2p": self._matrix(pl.col("p2p_time") + polling),
            "coll": self._matrix(pl.col("coll_time")),
            "other": self._matrix(other),
        }
        # Only some of the frequent calls are timed: their total is an estimate, and may exceed the region's
        # time.
        spent, available = self._matrix(pl.col("mpi_time")), self._matrix(pl.col("time")).clip(min=0)
        with np.errstate(over="ignore", invalid="ignore"):  # times of a damaged profile may be infinite
            self._fitting = np.where(
                spent > available, available / np.where(spent > available, spent, 1.0), 1.0
            )
            self._longest_sum = max(
                float(np.abs(part).sum(axis=1).max(initial=0.0)) for part in times.values()
            )
            self.mpi = {family: part * self._fitting for family, part in times.items()}
        # Older files count polls only.
        untimed = self._matrix(pl.when(pl.col("poll_time").is_null()).then("polls")) * POLL[1]
        computing = self._matrix(pl.col("compute_time")).clip(min=0)
        estimated = np.minimum(untimed, computing)
        self.computing = computing - estimated
        self._polled = self._matrix(polling) + estimated

    def read_computing(self, other: RunTimes) -> Floats:
        """Return the computing matrix of another run of the program, with the rows and columns of this one.

        Raises:
            UsageError: The other run is of a different program, or has different ranks.
        """
        programs = [run.profile.info.get("program") for run in (self, other)]
        if other.ranks != self.ranks or programs[0] != programs[1]:
            difference = "different ranks" if programs[0] == programs[1] else "a different program"
            raise UsageError(
                f"{other.profile.path}: has {difference} than {self.profile.path};"
                " repetitions must be runs of the same program on the same ranks"
            )
        columns = {region: position for position, region in enumerate(other.regions)}
        computing: Floats = np.zeros(self.computing.shape)
        for column, region in enumerate(self.regions):
            if region in columns:
                computing[:, column] = other.on_cpu_computing[:, columns[region]]
        return computing

    @cached_property
    def absence(self) -> Absence:
        """The time outside MPI in which ranks had no CPU; 0 for ranks with several threads in MPI."""
        inside = pl.sum_horizontal("p2p_time", "coll_time", "rma_time", "io_time", "poll_time")
        parts = [
            (pl.col(name).fill_null(0) - inside).clip(0, (pl.col("duration") - inside).clip(0)).alias(name)
            for name in ("off_cpu_time", "core_wait_time")
        ]
        threads = self.profile.frame("processes", ["rank", "threads"])
        alone = threads.filter(pl.col("threads") == 1)["rank"].implode()
        rows = self.profile.table("slices").filter(pl.col("rank").is_in(alone))
        sums = rows.select("rank", *parts).group_by("rank").agg(pl.all().sum())
        ranks = pl.DataFrame({"rank": self.ranks}, schema={"rank": pl.Int64})
        both = ranks.join(sums, on="rank", how="left", maintain_order="left").fill_null(0)
        outside: Floats = self._matrix(pl.col("compute_time")).clip(min=0).sum(axis=1)
        # Slices have no time of other calls, such as those that create communicators.
        unseen = self._matrix(pl.col("mpi_time") - inside.fill_null(0)).clip(min=0).sum(axis=1)
        off_cpu, for_core = (
            (both[name].to_numpy() - unseen).clip(0) for name in ("off_cpu_time", "core_wait_time")
        )
        total = np.minimum(off_cpu, outside)
        return Absence(total, np.minimum(for_core, total), outside)

    @cached_property
    def absence_of_regions(self) -> Floats:
        """The time (s) without a CPU outside MPI by rank and region, at least; 0 if it is not known."""
        return self._matrix(pl.col("time") - pl.col("cpu_time") - pl.col("mpi_time")).clip(min=0)

    @cached_property
    def on_cpu_computing(self) -> Floats:
        """Computing (s) without what absence adds.

        Absence counts as computing while the rank with the most work has not finished that, as nobody waits
        for an absent rank then. Its regions are not known: all are shortened by the same factor.
        """
        whole = self.computing.sum(axis=1)
        present = whole - np.minimum(self.absence.total, whole)
        shorter = np.minimum(whole, present.max(initial=0.0))
        present_part: Floats = self.computing * (shorter / np.where(whole > 0, whole, 1.0))[:, None]
        return present_part

    @cached_property
    def run_time(self) -> float:
        """Longest time of a rank from MPI_Init to MPI_Finalize (s)."""
        return float(self.time_of_ranks.max(initial=0.0))

    @cached_property
    def time_of_ranks(self) -> Floats:
        """Time from MPI_Init to MPI_Finalize per rank (s)."""
        times: Floats = self._matrix(pl.col("time")).sum(axis=1)
        return times

    @cached_property
    def waits_at_end(self) -> Floats:
        """Time (s) per rank that it waits in MPI_Finalize for the rank that computes longest, at most.

        A rank that did not reach it ended otherwise, and one that began later also ends later.
        """
        processes = self.profile.frame("processes", ["rank", "start", "finalized"])
        began = self._of_ranks(processes, "start", 0.0)
        waits = (self.run_time - self.time_of_ranks - (began - began.min(initial=np.inf))).clip(min=0)
        reached: Floats = waits * (self._of_ranks(processes, "finalized", 1.0) > 0)
        return reached

    @cached_property
    def waiting(self) -> Floats:
        """Time in waiting calls and in polls that found nothing (s)."""
        waits: Floats = self._matrix(pl.col("wait_time")) * self._fitting + self._polled
        return waits

    @property
    def is_sound(self) -> bool:
        """Whether the times are plausible: those of a damaged profile may not be."""
        with np.errstate(over="ignore", invalid="ignore"):  # sums may be infinite, which is not plausible
            most = 2 * self.run_time  # a margin, because sampling overestimates short calls
            parts = all(
                bool((np.abs(part).sum(axis=1) <= most).all()) for part in (self.computing, self.waiting)
            )
            return 0 < most < np.inf and self._longest_sum <= most and parts

    def table(self, name: str) -> pl.DataFrame:
        """Return a table of the profile without nested regions; `own` is the region to report."""
        if name not in self._tables:
            rows = self.profile.table(name, exclusive=True)
            self._tables[name] = rows.with_columns(self._own.alias("own"))
        return self._tables[name]

    def full_path(self, region: str) -> str:
        """Return the full path of a region of the tables."""
        return self._paths[region]

    def column_of(self, region: str) -> int:
        """Return the column of a region in the matrices."""
        return self.regions.index(region)

    @cached_property
    def is_crowded(self) -> bool:
        """Whether a host has more ranks than CPUs."""
        return has_shared_cpus(self.profile)

    @property
    def is_one_node(self) -> bool:
        """Whether all ranks are on one host."""
        return len(set(self.hosts)) <= 1

    def has_remote_messages(self, region: str) -> bool:
        """Return whether a quarter of the messages of a region, or more, go to other nodes."""
        rows = self.table("ranks").filter(pl.col("own") == region)
        away, sends = (float(rows[name].sum()) for name in ("sends_offnode", "sends"))
        return away >= 0.25 * sends > 0

    @cached_property
    def collectives(self) -> list[str]:
        """The names of the collective functions that were called."""
        operations = self.profile.table("collectives")["operation"].unique().sort()
        return [f"MPI_{operation}" for operation in operations.to_list()]

    def nearby_computing(self, region: str) -> float:
        """Return the mean computing time (s) per rank in a region, its parent and its siblings."""
        parent = self.full_path(region).rpartition("/")[0]
        columns = [
            column
            for column, name in enumerate(self.regions)
            if name == region
            or self.full_path(name).rpartition("/")[0] == parent
            or self.full_path(name) == parent
        ]
        return float(self.computing[:, columns].sum(axis=1).mean())

    def find_waiting_function(self, rows: Flags) -> str | None:
        """Return where these ranks wait longest beyond the minimum of all, as `MPI_Recv in region halo`.

        Ranks that end earlier than others wait in MPI_Finalize.
        """
        more = {
            family: (self.mpi[family][rows] - self.mpi[family].min(axis=0)).mean(axis=0)
            for family in ("p2p", "coll")
        }
        family = "coll" if more["coll"].max(initial=0) > more["p2p"].max(initial=0) else "p2p"
        most = more[family].max(initial=0)
        if float(self.waits_at_end[rows].mean()) > most:
            return "MPI_Finalize"
        if not most > 0:
            return None
        region = self.regions[int(np.argmax(more[family]))]
        calls = self.table("calls").filter(pl.col("own") == region)
        if family == "coll":
            calls = calls.filter(pl.col("call").is_in(self.collectives))
        else:
            calls = calls.filter(pl.col("call").str.contains(WAITING))
        sums = calls.group_by("call").agg(pl.col("time_total").sum()).sort("time_total", descending=True)
        return f"{sums['call'][0]} in {place_text(region)}" if len(sums) else None

    def _matrix(self, value: pl.Expr) -> Floats:
        values = self._cells.select(value.fill_null(0).cast(pl.Float64).alias("value"))["value"]
        shape = (len(self.ranks), len(self.regions))
        sums = np.bincount(self._positions, values.to_numpy(), shape[0] * shape[1])
        return sums.astype(np.float64, copy=False).reshape(shape)

    def _of_ranks(self, rows: pl.DataFrame, column: str, unknown: float) -> Floats:
        """Return a column of a table with a row per rank, in the order of `ranks`."""
        ranks = pl.DataFrame({"rank": self.ranks}, schema={"rank": pl.Int64})
        joined = ranks.join(rows.unique("rank"), on="rank", how="left", maintain_order="left")
        values: Floats = joined[column].cast(pl.Float64).fill_null(unknown).to_numpy()
        return values

    @cached_property
    def _positions(self) -> Integers:
        """The index into a flat matrix for each row of `_cells`."""
        rows = {rank: position for position, rank in enumerate(self.ranks)}
        columns = {region: position for position, region in enumerate(self.regions)}
        row = self._cells["rank"].replace_strict(rows, return_dtype=pl.Int64).to_numpy()
        column = self._cells["region"].replace_strict(columns, return_dtype=pl.Int64).to_numpy()
        positions: Integers = row * len(columns) + column
        return positions


def place_text(region: str) -> str:
    """Return a region as part of a sentence."""
    return "the program" if region == PROGRAM else f"region {region_text(region)}"


def _find_owners(profile: Profile) -> Integers:
    """Return for each path the nearest one outside all phases: the path itself for marked regions."""
    tree = profile.regions
    phases = set(profile.data.phase_names.values())
    owners = np.arange(len(tree))
    for path in range(1, len(tree)):
        parent = int(tree.parents[path])
        if tree.names[path] in phases or owners[parent] != parent:
            owners[path] = owners[parent]
    return owners
