"""The study of stencil protocols: its numbers and claims, from tables as its scripts write them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from haloscope.reproduce.study import studies

STUDY = "dynamic-stencil-protocols"


@pytest.fixture
def nodes(script: Callable[..., Any]) -> Any:
    return script(STUDY, "nodes")


def stencil_tables(nodes: Any, ratio: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Tables as of two MPIs: the overlap and the gain grow with the nodes, and the ratio is of MPI alone."""
    halo, overlap = [], []
    for count in nodes.SCALES:
        for size in nodes.SIZES.values():
            key = {"mpi": "Open MPI", "nodes": count, "ranks": 2 * count, "bytes": size}
            for of in ("MPI alone", "shm library"):
                ends = {"ratio": ratio, "ratio_from": ratio - 0.1, "ratio_to": ratio + 0.1}
                gain = 10.0 * count if of == "shm library" else None
                less = {"less_percent": gain, "less_from": gain and gain - 1, "less_to": gain and gain + 1}
                halo.append({**key, "of": of, "total": 3.9, "inter": 3.0, "intra": 1.0, **ends, **less})
                for slots, late in ((1, False), (1, True), (2, False))[2 * (count > 2) :]:
                    base = (70 if of == "shm library" else 10 if late else 40) + count
                    shown = {"overlap": base, "overlap_from": base - 1, "overlap_to": base + 1}
                    shown |= {"communication": 2.0, "computation": 3.0, "both": 5.0}
                    receives = "after computing" if late else "before computing"
                    own = {"ranks": slots * count, "of": of, "receives": receives}
                    overlap.append({**key, **own, **shown, **less})
    return pl.DataFrame(halo, infer_schema_length=None), pl.DataFrame(overlap, infer_schema_length=None)


def test_numbers_and_claims_of_stencils(nodes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    published = studies()[STUDY].published
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(16)))
    tables = stencil_tables(nodes, 1.3)
    numbers = {one.name: one for one in nodes.numbers(*tables)}
    assert numbers.keys() == published.number_names("stencil")
    assert numbers["total over inter-only, 4 nodes"].value == 1.3
    assert numbers["overlap, 2 MB, fewest nodes"].value == 72
    assert numbers["overlap, 2 MB, most nodes"].value == 78
    assert numbers["less latency, 2 MB, 4 nodes"].value == 40
    # Each reason is from the run: what no overlap, and full overlap, would be.
    assert numbers["total over inter-only, 4 nodes"].why.endswith(
        "inter-only and intra-only together are 1.33"
    )
    for name in ("less latency, 2 MB, 4 nodes", "less latency, 2 MB, 16 nodes"):
        assert "full overlap is 40 % less; the exchange alone " in numbers[name].why
    assert "on 8: 80 [79, 81] %; 16 ranks on 16 cores" in numbers["less latency, 2 MB, 16 nodes"].why
    assert all(one.why for one in numbers.values())
    claims = {one.name: one for one in nodes.claims(*tables)}
    assert claims.keys() == published.claim_names("stencil")
    assert {one.holds for one in claims.values()} == {True}
    # Ranks that share cores: numbers, but no claim about times.
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})
    held = {one.name for one in nodes.claims(*tables) if one.holds}
    assert held == {"rendezvous misses overlap", "library buffers overlap"}
    shared = next(one for one in nodes.numbers(*tables) if one.name == "overlap, 2 MB, most nodes")
    assert shared.why.endswith("16 ranks share 2 cores")
    figures = nodes.figures(*tables)
    assert [len(figures[name]) for name in ("halo.json", "overlap.json")] == [2, 2]
    total, latencies = figures["halo.json"]
    # Total, inter-only and intra-only of Motivation 2, with 1.3 times inter-only on four nodes.
    assert {trace["name"].partition(", ")[2] for trace in latencies.traces} == {
        "total",
        "inter-only",
        "intra-only",
        "",
    }
    stars = [trace for trace in latencies.traces if trace["name"] == "slides"]
    assert [(trace["x"], trace["y"]) for trace in stars] == [([4], [pytest.approx(3900)])]
    traces = [trace for one in (total, *figures["overlap.json"]) for trace in one.traces]
    printed = [trace for trace in traces if trace["name"] == "slides"]
    assert sorted(y for trace in printed for y in trace["y"]) == [1.3, 32, 38, 50, 67, 94]
    assert all("error_y" in trace for trace in traces if trace not in printed)


def test_a_total_below_its_part_is_no_number(nodes: Any) -> None:
    (ratio,) = (one for one in nodes.numbers(*stencil_tables(nodes, 0.79)) if one.name.startswith("total"))
    assert ratio.value is None
    assert "below the ideal, which it includes" in ratio.why


def test_numbers_and_claims_of_miniamr(script: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    miniamr = script(STUDY, "miniamr")
    published = studies()[STUDY].published
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})
    gains = {(2, 16): 5.0, (2, 24): 37.0, (2, 32): 20.0, (2, 48): -3.0, (4, 32): 50.0, (8, 32): 60.0}
    rows = [
        {"ranks": ranks, "cells": cells, "protocol": protocol, "less_percent": gain - off}
        for (ranks, cells), gain in gains.items()
        for protocol, off in (("dynamic", 0), ("get", 2), ("steal", 9))
    ]
    gain = pl.col("less_percent")
    table = pl.DataFrame(rows).with_columns(less_from=gain - 2, less_to=gain + 2)
    numbers = {one.name: one for one in miniamr.numbers(table)}
    assert numbers.keys() == published.number_names("miniamr")
    assert [one.value for one in numbers.values()] == [37, 20]  # more than two ranks share cores
    assert all("the slides have 128 processes" in one.why for one in numbers.values())
    copied = {"GET": (40, 0), "COOP": (7, 6), "STEAL": (2, 6), "ESCAPE": (5, 0)}
    record = pl.DataFrame(
        [{"protocol": name, "messages": count, "helpers": more} for name, (count, more) in copied.items()]
    )
    claims = {one.name: one.holds for one in miniamr.claims(table, record)}
    assert claims == {
        "protocol by copiers": True,
        "stealing has overheads": True,
        "static chunks": None,
        "faster over grid sizes": True,
        "faster over numbers of processes": None,
    }
    assert claims.keys() == published.claim_names("miniamr")
    more = record.with_columns(helpers=pl.col("helpers") + 2)
    assert miniamr.claims(table, more)[0].holds is False
    assert miniamr.claims(table, record.clear())[0].holds is None
    # On one core all ranks share it: no number, and the reason.
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})
    assert {one.value for one in miniamr.numbers(table)} == {None}
    assert "sharing cores, 2 ranks, 16³ cells: 5 [3, 7] % less" in miniamr.numbers(table)[0].why
