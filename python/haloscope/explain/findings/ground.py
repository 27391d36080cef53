"""What all rules stand on: a run's computing and waiting, by rank and region, and what is left to explain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl

from haloscope.base.arrays import Flags, Floats, Integers
from haloscope.base.errors import UsageError
from haloscope.explain.findings.finding import Evidence, Finding
from haloscope.profile import Profile
from haloscope.profile.store import PROGRAM, region_text
from haloscope.profile.tables import numbers_of

Family = Literal["p2p", "coll", "other"]
FAMILIES: tuple[Family, ...] = ("p2p", "coll", "other")
# A poll that finds nothing takes so long (s): between what Open MPI and MPICH took here.
POLL = (20e-9, 60e-9, 150e-9)
# What a message takes at most (s, bytes a second) where nothing was measured.
_SLOW_MESSAGE = {True: (20e-6, 1e9), False: (100e-6, 2e8)}
_MOST_CPUS_LOOKED_AT = 65536
# The low end of a gain, as a share of the run: less does not matter.
LEAST_GAIN = 0.02
# Functions of messages that wait for others.
WAITING = r"^MPI_(Recv|Mrecv|Probe|Mprobe|Wait|Sendrecv|Send$|Ssend$|Rsend$)"


@dataclass(frozen=True)
class MachineMeasurements:
    """What was measured on the machine beforehand, for rules that go by its speed.

    `message_time(bytes, same_node)` are seconds from a send to its receive. `limits` are sizes from which on
    another protocol begins. `collectives` has a row for each point that was measured: `operation` (as the
    table `collectives` has it), `comm_size`, `bytes`, `time` and `best_time` (s), and `algorithm`, the name
    of the best one.
    """

    message_time: Callable[[float, bool], float] | None = None
    limits: Sequence[int] = ()
    collectives: pl.DataFrame | None = None


@dataclass
class Ground:
    """One profile, as rules see it. Matrices have a row for each rank, a column for each region.

    Regions are those that the program marked; iterations that were found in its calls belong to the region
    around them, as ranks find them at different times. `left[family]` is the mean time (s) in MPI calls that
    no finding has explained yet, for each region. `again` has matrices of the computing in other runs.
    """

    profile: Profile
    measured: MachineMeasurements = field(default_factory=MachineMeasurements)
    most_events: int | None = None
    again: Sequence[Floats] = ()

    def __post_init__(self) -> None:
        """Read what all rules need."""
        self._tables: dict[str, pl.DataFrame] = {}
        tree = self.profile.regions
        names = pl.Series(tree.distinct_names, dtype=pl.String)
        self._paths = dict(zip(tree.distinct_names, tree.full_names, strict=True))
        kept = names.gather(_outside_of_phases(self.profile))
        self.own = dict(zip(names.to_list(), kept.to_list(), strict=True))
        # Regions that have iterations in them which were found.
        self._with_phases = {own for name, own in self.own.items() if name != own}
        self._cells = self.table("ranks").with_columns(pl.col("own").alias("region"))
        self.ranks: list[int] = self._cells["rank"].unique().sort().to_list()
        self.regions: list[str] = self._cells["region"].unique(maintain_order=True).to_list()
        self.hosts = self.profile.hosts.find_names(pl.Series(self.ranks, dtype=pl.Int64)).to_list()
        other = pl.col("mpi_time") - pl.col("p2p_time") - pl.col("coll_time")
        told = {
            "p2p": self._matrix(pl.col("p2p_time")),
            "coll": self._matrix(pl.col("coll_time")),
            "other": self._matrix(other),
        }
        # Of frequent calls some are timed: what they took in all is an estimate, maybe more than there was.
        spent, there = self._matrix(pl.col("mpi_time")), self._matrix(pl.col("time")).clip(min=0)
        with np.errstate(over="ignore", invalid="ignore"):  # times of a damaged profile may be infinite
            self._fitting = np.where(spent > there, there / np.where(spent > there, spent, 1.0), 1.0)
            self._most_told = max(float(np.abs(part).sum(axis=1).max(initial=0.0)) for part in told.values())
            self.mpi = {family: part * self._fitting for family, part in told.items()}
        self.left: dict[Family, Floats] = {family: self.mpi[family].mean(axis=0) for family in FAMILIES}
        # What of that was waiting for those who compute longer.
        self.uneven: dict[Family, Floats] = {family: np.zeros(len(self.regions)) for family in FAMILIES}
        polled = self._matrix(pl.col("polls")) * POLL[1]
        computing = self._matrix(pl.col("compute_time")).clip(min=0)
        self.polled = np.minimum(polled, computing)
        self.computing = computing - self.polled

    def computing_in(self, other: Ground) -> Floats:
        """Return the computing of another run of the program, as the matrices of this one.

        Raises `UsageError` if that is of another program, or had other ranks.
        """
        programs = [one.profile.info.get("program") for one in (self, other)]
        if other.ranks != self.ranks or programs[0] != programs[1]:
            what = "other ranks" if programs[0] == programs[1] else "another program"
            raise UsageError(
                f"{other.profile.path}: has {what} than {self.profile.path};"
                " repetitions are runs of one program on as many ranks"
            )
        places = {region: place for place, region in enumerate(other.regions)}
        computing: Floats = np.zeros(self.computing.shape)
        for column, region in enumerate(self.regions):
            if region in places:
                computing[:, column] = other.computing[:, places[region]]
        return computing

    def _matrix(self, value: pl.Expr) -> Floats:
        sums = self._cells.group_by("rank", "region").agg(
            value.fill_null(0).cast(pl.Float64).sum().alias("value")
        )
        places = {rank: place for place, rank in enumerate(self.ranks)}
        columns = {region: place for place, region in enumerate(self.regions)}
        matrix = np.zeros((len(places), len(columns)))
        row = sums["rank"].replace_strict(places, return_dtype=pl.Int64).to_numpy()
        column = sums["region"].replace_strict(columns, return_dtype=pl.Int64).to_numpy()
        matrix[row, column] = sums["value"].to_numpy()
        return matrix

    @cached_property
    def run_time(self) -> float:
        """From MPI_Init to MPI_Finalize, of the rank that took longest (s)."""
        return float(self.time_of_ranks.max(initial=0.0))

    @cached_property
    def time_of_ranks(self) -> Floats:
        """From MPI_Init to MPI_Finalize (s)."""
        times: Floats = self._matrix(pl.col("time")).sum(axis=1)
        return times

    @cached_property
    def waiting(self) -> Floats:
        """Time in calls that wait (s)."""
        return self._matrix(pl.col("wait_time")) * self._fitting

    @property
    def is_sound(self) -> bool:
        """Whether the times of a damaged or odd profile can be those of a run."""
        with np.errstate(over="ignore", invalid="ignore"):  # times may add up to infinity, which is too much
            most = 2 * self.run_time  # with room for what sampling makes of short calls
            parts = all(
                bool((np.abs(part).sum(axis=1) <= most).all()) for part in (self.computing, self.waiting)
            )
            return 0 < most < np.inf and self._most_told <= most and parts

    def table(self, name: str) -> pl.DataFrame:
        """Return a table of the profile without nested regions; `own` is the region to tell people of."""
        if name not in self._tables:
            rows = self.profile.table(name, exclusive=True)
            own = pl.col("region").replace_strict(self.own, return_dtype=pl.String).alias("own")
            self._tables[name] = rows.with_columns(own)
        return self._tables[name]

    @cached_property
    def uses_trace(self) -> bool:
        """Whether there is a trace, and it is not too long to be looked at."""
        if not self.profile.has_trace or self.most_events is None:
            return self.profile.has_trace
        return int(self.profile.frame("trace_sequences", ["events"])["events"].sum()) <= self.most_events

    def path(self, region: str) -> str:
        """Return the path of a region of the tables."""
        return self._paths[region]

    def column(self, region: str) -> int:
        """Return the place of a region in the matrices."""
        return self.regions.index(region)

    def give_up_waiting(self) -> None:
        """Leave nothing to explain: why ranks wait cannot be said."""
        for family in FAMILIES:
            self.left[family] = np.zeros(len(self.regions))
        self.computing = np.zeros_like(self.computing)

    def left_of(self, region: str, family: Family) -> float:
        """Return the time (s) in MPI of a mean rank in a region that nobody explained yet."""
        return float(self.left[family][self.column(region)])

    def take_anywhere(self, family: Family, seconds: float) -> float:
        """Return so much of these seconds of a mean rank as is left in all regions, and take them there."""
        whole = float(self.left[family].sum())
        taken = min(max(seconds, 0.0), whole)
        if taken > 0:
            self.left[family] *= 1 - taken / whole
        return taken

    def take(self, region: str, family: Family, seconds: float) -> float:
        """Return so much of these seconds of a mean rank as nobody explained yet, and take them."""
        place = self.column(region)
        taken = min(max(seconds, 0.0), float(self.left[family][place]))
        self.left[family][place] -= taken
        return taken

    @cached_property
    def is_crowded(self) -> bool:
        """Whether a host has more ranks than CPUs for them."""
        return is_crowded(self.profile)

    def waiting_function(self, rows: Flags) -> str | None:
        """Return where some ranks wait most beyond what any rank does, as `MPI_Recv in region halo`."""
        more = {
            family: (self.mpi[family][rows] - self.mpi[family].min(axis=0)).mean(axis=0)
            for family in ("p2p", "coll")
        }
        family = "coll" if more["coll"].max(initial=0) > more["p2p"].max(initial=0) else "p2p"
        if not more[family].max(initial=0) > 0:
            return None
        region = self.regions[int(np.argmax(more[family]))]
        calls = self.table("calls").filter(pl.col("own") == region)
        if family == "coll":
            calls = calls.filter(pl.col("call").is_in(self.collectives))
        else:
            calls = calls.filter(pl.col("call").str.contains(WAITING))
        sums = calls.group_by("call").agg(pl.col("time_total").sum()).sort("time_total", descending=True)
        return f"{sums['call'][0]} in {place_text(region)}" if len(sums) else None

    def finding(
        self,
        rule: str,
        sentence: str,
        remedy: str,
        *,
        gains: tuple[float, float, float],
        evidence: Sequence[Evidence],
        region: str | None = None,
        ranks: Sequence[int] = (),
    ) -> list[Finding]:
        """Return a finding with `gains` (low, expected, high), in seconds; none where it does not matter."""
        low, gain, high = gains
        if self.run_time <= 0 or low < LEAST_GAIN * self.run_time:
            return []
        path = None if region is None else self.path(region)
        share = gain / self.run_time
        seen = tuple(
            replace(one, nested=True) if one.rows.get("region") in self._with_phases else one
            for one in evidence
        )
        return [Finding(rule, sentence, remedy, path, tuple(ranks), gain, low, high, share, seen)]

    @property
    def is_one_node(self) -> bool:
        """Whether all ranks are on one host."""
        return len(set(self.hosts)) <= 1

    def sends_off_node(self, region: str) -> bool:
        """Return whether a quarter of the messages of a region, or more, go to other nodes."""
        rows = self._cells.filter(pl.col("region") == region)
        away, sends = (float(rows[name].sum()) for name in ("sends_offnode", "sends"))
        return away >= 0.25 * sends > 0

    @cached_property
    def collectives(self) -> list[str]:
        """The names of the collective functions that were called."""
        operations = self.profile.table("collectives")["operation"].unique().sort()
        return [f"MPI_{operation}" for operation in operations.to_list()]

    def computing_beside(self, region: str) -> float:
        """Return the time (s) that a mean rank computes in a region, and in those of the same parent."""
        parent = self.path(region).rpartition("/")[0]
        beside = [
            place
            for place, name in enumerate(self.regions)
            if name == region or self.path(name).rpartition("/")[0] == parent or self.path(name) == parent
        ]
        return float(self.computing[:, beside].sum(axis=1).mean())

    def note(
        self, rule: str, sentence: str, remedy: str, *, evidence: Sequence[Evidence], region: str
    ) -> list[Finding]:
        """Return a finding that gains no time itself."""
        return [Finding(rule, sentence, remedy, self.path(region), (), 0.0, 0.0, 0.0, 0.0, tuple(evidence))]

    def slowest_message(self, size: float, same_node: bool) -> float:
        """Return the seconds that a message takes at most: as measured, else by a slow machine."""
        if self.measured.message_time is not None:
            return 2 * self.measured.message_time(size, same_node)
        latency, bandwidth = _SLOW_MESSAGE[same_node]
        return latency + size / bandwidth


def place_text(region: str) -> str:
    """Return a region as a part of a sentence."""
    return "the program" if region == PROGRAM else f"region {region_text(region)}"


def _outside_of_phases(profile: Profile) -> Integers:
    """Return for each path the nearest one that is no phase, nor within one: itself, for marked regions."""
    tree = profile.regions
    numbers: list[Any] = profile.frame("phases", ["phase"])["phase"].unique().to_list()
    phases = {f"phase {number}" for number in numbers}
    kept = np.arange(len(tree))
    for path in range(1, len(tree)):
        parent = int(tree.parents[path])
        if tree.names[path] in phases or kept[parent] != parent:
            kept[path] = kept[parent]
    return kept


def is_crowded(profile: Profile) -> bool:
    """Return whether a host has more ranks than CPUs for them, so that some wait for a CPU."""
    rows = profile.table("binding").head(_MOST_CPUS_LOOKED_AT)
    for (_host,), of_host in rows.group_by("host"):
        lists = [numbers_of(text) for text in of_host["cpus"].drop_nulls().unique().to_list()]
        cpus = {cpu for numbers in lists for cpu in numbers or []}
        if cpus and len(of_host) > len(cpus):
            return True
    return False
