"""Data of a GPU that go through the host, although MPI is handed them right after."""

from __future__ import annotations

import polars as pl

from haloscope.base.units import bytes_text, percent_text, time_text
from haloscope.explain.findings.finding import Evidence, Finding
from haloscope.explain.findings.ground import Ground, place_text

# A device's buffers have to be moved all the same: not all of the copies' time is to be gained.
_LEAST_PART = 0.5


def host_staging(ground: Ground) -> list[Finding]:
    """Copies to the host of what MPI sends from there.

    Only bytes that a copy put where a send then began are counted, so a program that copies results to the
    host to write them has none.
    """
    names = ("device_copy_bytes", "device_copy_time", "staged_bytes")
    rows = ground.table("ranks").select("own", *(pl.col(name).fill_null(0) for name in names))
    copied, time, staged = (float(rows[name].sum()) for name in names)
    if staged <= 0 or copied <= 0:
        return []
    by_region = rows.group_by("own").agg(pl.col("staged_bytes").sum()).sort("staged_bytes", descending=True)
    region = str(by_region["own"][0])
    gain = time * min(staged / copied, 1.0) / len(ground.ranks)
    return ground.finding(
        "host_staging",
        f"{bytes_text(staged)} of a GPU's data are copied to the host before MPI sends them, most in"
        f" {place_text(region)}: {percent_text(staged / copied, 1.0)} of what is copied, which takes"
        f" {time_text(gain)} of a mean rank",
        "hand MPI the device's own buffers, if it is built for that, or copy one part while another is sent",
        gains=(_LEAST_PART * gain, gain, gain),
        region=region,
        evidence=[
            Evidence(
                "regions", {"region": region}, {"staged_bytes_total": float(by_region["staged_bytes"][0])}
            )
        ],
    )
