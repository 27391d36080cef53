"""Rules about ranks without a CPU: other threads had their core, or they slept."""

from __future__ import annotations

import numpy as np

from haloscope.base.arrays import Integers
from haloscope.base.units import ranks_text, time_text
from haloscope.explain.findings.alike import estimate_detour
from haloscope.explain.findings.finding import Evidence, Finding
from haloscope.explain.findings.ground import Ground
from haloscope.explain.findings.run_times import place_text
from haloscope.explain.findings.unevenness import subtract_waits, sum_waits
from haloscope.profile.store import PROGRAM

# Smallest excess that counts, as a share of the run.
_LEAST_EXCESS = 0.01
# A rank of which at least this share of the absence was a wait for a core is not asleep.
_MOSTLY = 0.5


def find_absent_ranks(ground: Ground) -> list[Finding]:
    """Find ranks that had no core, or slept, outside MPI for longer than the others, which wait for them.

    From here on the computing of ranks is without the time that this adds.
    """
    absence, before = ground.absence, ground.computing
    ground.computing = ground.on_cpu_computing
    excess = (before - ground.computing).sum(axis=1)
    if len(excess) < 2 or not np.ptp(excess):
        return []
    excess -= excess.min()
    worst = int(np.argmax(excess))
    others = np.arange(len(excess)) != worst
    gain = min(float(excess[worst]), float(sum_waits(ground)[others].mean()))
    if gain < _LEAST_EXCESS * ground.run_time:
        return []
    is_waiting = absence.for_core >= _MOSTLY * absence.total
    rows = np.flatnonzero((excess > excess[worst] / 2) & (is_waiting == is_waiting[worst]))
    found = _make_finding(ground, rows, is_asleep=not is_waiting[worst], gain=gain)
    if found:
        subtract_waits(ground, excess.max() - excess)
    return found


def _make_finding(ground: Ground, rows: Integers, *, is_asleep: bool, gain: float) -> list[Finding]:
    ranks = [ground.ranks[row] for row in rows.tolist()]
    absence = ground.absence
    absent, outside = float(absence.total[rows].mean()), float(absence.outside_mpi[rows].mean())
    function = ground.find_waiting_function(~np.isin(ground.ranks, ranks))
    each = "" if len(ranks) == 1 else " each"
    region = _find_region(ground, rows)
    where = "" if region is None else f", most of it in {place_text(region)}"
    of = f"{time_text(absent)} of the {time_text(outside)} outside MPI{each}{where}"
    if is_asleep:
        what = f"slept for {of}, as in waiting for a file, a lock or a timer"
        remedy = "find what it waits for: haloscope hang prints its stack while it sleeps"
    else:
        what = f"had no core for {of}, as other threads used it"
        remedy = "give each rank a core: end the other programs there, start fewer ranks, or bind them"
    return ground.make_finding(
        "asleep" if is_asleep else "no_core",
        f"{ranks_text(ranks)} {what}; the others wait{f', mostly in {function}' if function else ''}",
        remedy,
        gains=(
            min(0.8 * gain, gain - estimate_detour(ground)),
            gain,
            max(gain, float(np.ptp(absence.total))),
        ),
        region=region,
        ranks=ranks,
        evidence=[
            Evidence(
                "slices",
                {"rank": ranks},
                {
                    "off_cpu_outside_mpi": absent,
                    "core_wait_outside_mpi": float(absence.for_core[rows].mean()),
                },
            )
        ],
    )


def _find_region(ground: Ground, rows: Integers) -> str | None:
    """Return the marked region in which these ranks were without a CPU for most of that time.

    None: no region is known to have most of it. Only the CPU time of long regions is recorded.
    """
    absent = ground.absence_of_regions[rows].mean(axis=0)
    region = ground.regions[int(np.argmax(absent))]
    is_most = absent.max() >= _MOSTLY * float(ground.absence.total[rows].mean())
    return region if is_most and region != PROGRAM else None
