"""The rule about GPU data that are copied to the host and then sent by MPI."""

from __future__ import annotations

import polars as pl

from haloscope.base.units import bytes_text, percent_text, time_text
from haloscope.explain.findings.finding import Evidence, Finding
from haloscope.explain.findings.ground import Ground, place_text

# The buffers have to be moved in any case, so not all of the copying time can be saved.
_LEAST_PART = 0.5


def find_host_staging(ground: Ground) -> list[Finding]:
    """Find copies to the host of data that MPI sends from there.

    Only bytes in memory from which a send then began are counted, so copies of results for output are not.
    """
    names = ("device_copy_bytes", "device_copy_time", "staged_bytes")
    rows = ground.table("ranks").select("own", *(pl.col(name).fill_null(0) for name in names))
    copied, time, staged = (float(rows[name].sum()) for name in names)
    if staged <= 0 or copied <= 0:
        return []
    by_region = rows.group_by("own").agg(pl.col("staged_bytes").sum()).sort("staged_bytes", descending=True)
    region = str(by_region["own"][0])
    gain = time * min(staged / copied, 1.0) / len(ground.ranks)
    return ground.make_finding(
        "host_staging",
        f"{bytes_text(staged)} of GPU data are copied to the host before MPI sends them, most of them in"
        f" {place_text(region)}: {percent_text(staged / copied, 1.0)} of all copied bytes, which"
        f" takes {time_text(gain)} per rank on average",
        "pass device buffers to MPI, if it supports them, or copy one part while the previous one is sent",
        gains=(_LEAST_PART * gain, gain, gain),
        region=region,
        evidence=[
            Evidence(
                "regions", {"region": region}, {"staged_bytes_total": float(by_region["staged_bytes"][0])}
            )
        ],
    )
