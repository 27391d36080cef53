"""The regions of a .cali file: a tree, with the values of each region per rank or over ranks."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from haloscope.base.texts import parse_whole
from haloscope.profile.importing.cali_file import CaliRecord
from haloscope.profile.importing.mpi_functions import FAMILIES, call_name, family_of, is_waiting
from haloscope.profile.shown.cells import PROGRAM

_FUNCTION, _COMMUNICATION, _RANK = "mpi.function", "comm.region", "mpi.rank"
ALL = -1  # the rank of a record over all ranks
Key = tuple[int, int]  # node and rank
Values = dict[tuple[str, str], float]  # by quantity and statistic


@dataclass
class CaliRegions:
    """Regions, node 0 the program, parents first; and the values of each per rank, or over ranks.

    `functions` has calls and seconds of MPI functions within a region, exclusive. `knows_program`: the
    program is one of the file's regions, as `export --to cali` writes it. Otherwise it is the sum of all
    regions and of records without a region.
    """

    names: list[str] = field(default_factory=lambda: [PROGRAM])
    parents: list[int] = field(default_factory=lambda: [-1])
    communication: list[bool] = field(default_factory=lambda: [False])
    values: dict[Key, Values] = field(default_factory=lambda: defaultdict(dict))
    functions: dict[tuple[int, int, str], Values] = field(default_factory=lambda: defaultdict(dict))
    is_by_rank: bool = False
    knows_program: bool = False
    _known: dict[tuple[int, str], int] = field(default_factory=dict)

    def add(self, record: CaliRecord) -> None:
        """Add a record; records of one region and rank are summed."""
        label = record.labels.get(_RANK, record.values.get(_RANK, ""))
        stated = parse_whole(label)
        rank = ALL if stated is None else stated
        self.is_by_rank |= rank != ALL
        node, call = 0, None
        for attribute, name in record.path:
            if attribute == _FUNCTION:
                call = call_name(name)
                break
            if node == 0 and name == PROGRAM:
                self.knows_program = True
                continue
            node = self._find_child(node, name, attribute == _COMMUNICATION)
        into = self.values[node, rank] if call is None else self.functions[node, rank, call]
        values: Values = {}  # a quantity may be there in two units
        for attribute, text in record.values.items():
            meaning, number = meaning_of(attribute), number_in(text)
            if meaning is not None and number is not None:
                values.setdefault((meaning.quantity, meaning.statistic), number * meaning.unit)
        for key, value in values.items():
            into[key] = _put(key[1], into.get(key), value)

    def _find_child(self, parent: int, name: str, communication: bool) -> int:
        if (parent, name) not in self._known:
            self._known[parent, name] = len(self.names)
            self.names.append(name)
            self.parents.append(parent)
            self.communication.append(communication)
        return self._known[parent, name]

    def complete(self) -> None:
        """Compute inclusive times of all regions, also if the file has exclusive times."""
        ranks = sorted({rank for _, rank in self.values} | {rank for _, rank, _ in self.functions})
        inside: dict[Key, float] = defaultdict(float)
        has_own = any(("own_time", "sum") in known for known in self.values.values())
        if not has_own and not any(("time", "sum") in known for known in self.values.values()):
            return  # a file without times
        for (node, rank, _), known in self.functions.items():
            spent = known.get(("time", "sum"), known.get(("own_time", "sum"), 0.0))
            inside[node, rank] += spent
        for node in range(len(self.names) - 1, -1, -1):
            for rank in ranks:
                known = self.values.get((node, rank), {})
                whole = known.get(("time", "sum")) if node or self.knows_program else None
                if whole is None:
                    own = known.get(
                        ("own_time", "sum"), known.get(("time", "sum"), 0.0) if not has_own else 0.0
                    )
                    if not known and not inside[node, rank]:
                        continue
                    whole = inside[node, rank] + own
                self.values[node, rank]["time", "sum"] = whole
                if node:
                    inside[self.parents[node], rank] += whole

    @cached_property
    def spent(self) -> dict[Key, dict[str, float]]:
        """The seconds in MPI of each region and rank, exclusive, by kind of function."""
        found: dict[Key, dict[str, float]] = defaultdict(lambda: dict.fromkeys([*FAMILIES, "wait"], 0.0))
        for (node, rank, call), known in self.functions.items():
            seconds = known.get(("time", "sum"), known.get(("own_time", "sum"), 0.0))
            found[node, rank][family_of(call)] += seconds
            found[node, rank]["wait"] += seconds if is_waiting(call) else 0.0
        return found


def _put(statistic: str, before: float | None, number: float) -> float:
    if before is None:
        return number
    if statistic == "min":
        return min(before, number)
    return before + number if statistic == "sum" else max(before, number)


def number_in(text: str) -> float | None:
    """Return the finite number in a text, None if it is not one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


Statistic = Literal["min", "max", "sum", "ranks"]
_STATISTICS: dict[str, Statistic] = {"min": "min", "max": "max", "sum": "sum"}
_TIMES = {"time.duration": 1.0, "time.duration.ns": 1e-9}
_CALLS = ("rc.count", "region.count", "count")
# Messages, per instance of a region.
_TRAFFIC = {
    "total.send.count": "sends",
    "total.recv.count": "recvs",
    "total.coll.count": "colls",
    "total.dest.ranks": "dest_ranks",
    "total.src.ranks": "src_ranks",
    "mpi.send.size": "bytes_sent",
    "mpi.recv.size": "bytes_recv",
}


@dataclass(frozen=True)
class Meaning:
    """A quantity, the statistic over ranks, and the factor to our unit.

    `quantity` is `time` (inclusive), `own_time`, `calls`, or one of traffic; `ranks` of `time` is the number
    of ranks with a value.
    """

    quantity: str
    statistic: Statistic
    unit: float = 1.0


def meaning_of(attribute: str) -> Meaning | None:
    """Return the meaning of an attribute such as `min#inclusive#sum#time.duration`, None if unknown.

    The statistic is that of the outermost step; of a single rank that is its sum.
    """
    *steps, base = attribute.split("#")
    if base in _TIMES:
        return _parse_time(steps, base)
    if base in _CALLS:
        steps = [step for step in steps if step in _STATISTICS]
        # The extremes of single snapshots are not those of a rank.
        return (
            Meaning("calls", _STATISTICS[steps[0]])
            if steps[1:] or steps == ["sum"]
            else (Meaning("calls", "sum") if not steps and base == "count" else None)
        )
    if base in _TRAFFIC and steps and steps[0] in _STATISTICS:
        return Meaning(_TRAFFIC[base], _STATISTICS[steps[0]])
    return None


def _parse_time(steps: list[str], base: str) -> Meaning | None:
    quantity = "time" if "inclusive" in steps else "own_time"
    unit = 1.0 if "scale" in steps else _TIMES[base]
    left = [step for step in steps if step not in ("inclusive", "scale")]
    if left[:1] == ["avg.count"]:
        return Meaning(quantity, "ranks")
    if left in ([], ["sum"], ["sum", "sum"]):
        return Meaning(quantity, "sum", unit)
    if len(left) == 2 and left[0] in _STATISTICS and left[1] == "sum":
        return Meaning(quantity, _STATISTICS[left[0]], unit)
    return None
