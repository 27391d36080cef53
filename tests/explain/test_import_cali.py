"""Caliper's .cali files as profiles: over ranks and by rank, written by Caliper and by our export."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings

import haloscope
from haloscope import ProfileError, explain
from haloscope.explain import Profile
from support.damaged import check_read_or_refused, damaged
from support.foreign_verbs import check_verbs
from support.profiles import Draft, draft, path_rows, process_rows

Read = Callable[[Draft], Profile]

# As Caliper writes it: its own numbers, attributes before their first use, a root without a region.
SPOT = r"""__rec=node,id=12,attr=10,data=64,parent=3
__rec=node,id=13,attr=8,data=attribute.alias,parent=12
__rec=node,id=84,attr=13,data=Min time/rank,parent=5
__rec=node,id=85,attr=10,data=65,parent=84
__rec=node,id=86,attr=8,data=min#inclusive#sum#time.duration,parent=85
__rec=node,id=95,attr=10,data=65,parent=5
__rec=node,id=87,attr=8,data=max#inclusive#sum#time.duration,parent=95
__rec=node,id=90,attr=8,data=sum#inclusive#sum#time.duration,parent=95
__rec=node,id=93,attr=10,data=193,parent=2
__rec=node,id=94,attr=8,data=avg.count#inclusive#sum#time.duration,parent=93
__rec=node,id=96,attr=8,data=sum#sum#rc.count,parent=93
__rec=ctx,attr=86=87=90=94,data=0.25=0.5=1.5=4
__rec=node,id=34,attr=10,data=268,parent=3
__rec=node,id=35,attr=8,data=mpi.function,parent=34
__rec=node,id=42,attr=8,data=function,parent=34
__rec=node,id=43,attr=42,data=main
__rec=ctx,ref=43,attr=86=87=90=94,data=9=11=40=4
__rec=node,id=44,attr=35,data=MPI_Wait,parent=43
__rec=ctx,ref=44,attr=86=87=90=94=96,data=0.5=1=3=4=20
__rec=node,id=49,attr=8,data=comm.region,parent=34
__rec=node,id=50,attr=49,data=halo\, \"x\"\=\n\\,parent=43
__rec=ctx,ref=50,attr=86=87=90=94,data=1=3=8=4
__rec=node,id=51,attr=35,data=MPI_Allreduce,parent=50
__rec=ctx,ref=51,attr=86=87=90=94=96,data=0.5=1=2=2=8
__rec=node,id=60,attr=10,data=588,parent=3
__rec=node,id=61,attr=8,data=mpi.world.size,parent=60
__rec=node,id=62,attr=8,data=cmdline,parent=60
__rec=node,id=63,attr=61,data=4
__rec=node,id=64,attr=62,data=[./app\,-n\,3],parent=63
__rec=globals,ref=64
"""
ODD = 'halo, "x"=\n\\'


@pytest.fixture
def spot(tmp_path: Path) -> Path:
    place = tmp_path / "any.name"
    place.write_text(SPOT)
    return place


def test_a_file_of_caliper_over_ranks(spot: Path) -> None:
    profile = explain.open(spot)
    rows = profile.table("regions").rows(named=True)
    assert [row["region"] for row in rows] == ["<program>", "main", ODD]
    assert [row["ranks"] for row in rows] == [4, 4, 4]
    assert [row["time_min"] for row in rows] == [None, 9, 1]
    # Time outside of regions adds to the whole; MPI functions belong to their region.
    assert [row["time_mean"] for row in rows] == [41.5 / 4, 10, 2]
    assert [row["mpi_time_mean"] for row in rows] == [5 / 4, 5 / 4, 2 / 4]
    assert [row["coll_time_mean"] for row in rows] == [2 / 4, 2 / 4, 2 / 4]
    assert [row["wait_time_mean"] for row in rows] == [5 / 4, 5 / 4, 2 / 4]
    assert [row["sends_total"] for row in rows] == [None, None, None]
    own = profile.table("regions", exclusive=True)
    assert own["time_mean"].to_list() == [1.5 / 4, 8, 2]
    assert own["time_mean"].sum() == rows[0]["time_mean"]
    assert own["mpi_time_mean"].sum() == rows[0]["mpi_time_mean"]
    assert profile.regions.communication.tolist() == [False, False, True]


def test_functions_and_metadata_of_a_file(spot: Path) -> None:
    profile = explain.open(spot)
    calls = profile.table("calls", exclusive=True).select("region", "call", "calls", "time_total").rows()
    assert calls == [("main", "MPI_Wait", 20, 3.0), (ODD, "MPI_Allreduce", 8, 2.0)]
    info = dict(profile.table("info").rows())
    assert (info["program"], info["ranks"], info["source"]) == ("app", "4", "a .cali file of Caliper")
    assert info["command"] == "[./app,-n,3]"
    assert profile.lacks("ranks") is not None
    assert profile.lacks("regions") is None
    assert profile.table("ranks").height == 0


def rows_of(path: int, ranks: int) -> list[dict[str, Any]]:
    return [
        {
            "path": path,
            "rank": rank,
            "instances": 3,
            "time": 8.0 - 2 * path + rank,
            "sends": path * rank,
            "recvs": path,
            "bytes_sent": 10 * path * rank,
            "bytes_recv": 10 * path,
            "sends_instance_min": path,
            "sends_instance_max": path * rank,
            "colls": 2,
            "colls_instance_max": 1,
        }
        for rank in range(ranks)
    ]


@pytest.fixture
def ours(read: Read) -> Profile:
    rows = [row for path in range(4) for row in rows_of(path, 3)]
    paths = path_rows("main", "main/halo", "main/halo/deep")
    return read(
        draft(
            {"ranks": 3, "metadata": {"mesh": "a=b, c"}},
            paths=paths,
            processes=process_rows(*"abc"),
            ranks=rows,
        )
    )


def test_an_export_over_ranks_comes_back(ours: Profile, tmp_path: Path) -> None:
    read = explain.open(haloscope.export(ours.path, "cali", tmp_path / "run.cali"))
    before, after = ours.table("regions"), read.table("regions")
    assert after["path"].to_list() == before["path"].to_list()
    for name in ("ranks", "time_mean", "time_min", "time_max", "instances"):
        assert after[name].to_list() == pytest.approx(before[name].to_list()), name
    mine, theirs = (table.filter(pl.col("region") == "deep").row(0, named=True) for table in (before, after))
    for name in """
        sends_total bytes_recv_total sends_instance_max colls_instance_max mean_message
    """.split():
        assert theirs[name] == mine[name], name
    assert dict(read.table("info").rows())["mesh"] == '"a=b, c"'


def test_an_export_by_rank_comes_back(ours: Profile, tmp_path: Path) -> None:
    read = explain.open(haloscope.export(ours.path, "cali-ranks", tmp_path / "run.cali"))
    keys = ["region", "rank"]
    names = ["time", "instances", "sends", "bytes_sent", "recvs", "sends_instance_min", "sends_instance_max"]
    before = ours.table("ranks", region="main/halo/deep").select(*keys, *names).sort(keys)
    after = read.table("ranks").filter(pl.col("region") == "deep").select(*keys, *names).sort(keys)
    assert after.rows() == before.rows()
    whole = read.table("ranks", region="<program>").filter(pl.col("region") == "<program>").sort("rank")
    assert whole["time"].to_list() == pytest.approx([8, 9, 10])
    assert read.table("regions")["path"].to_list() == ours.table("regions")["path"].to_list()


def test_own_times_alone_add_up(tmp_path: Path) -> None:
    text = SPOT.replace("inclusive#sum#time.duration", "sum#time.duration.ns")
    place = tmp_path / "own.cali"
    place.write_text(text)
    rows = explain.open(place).table("regions").rows(named=True)
    assert [row["time_mean"] for row in rows] == pytest.approx([54.5e-9 / 4, 53e-9 / 4, 10e-9 / 4])


def test_lines_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    place = tmp_path / "odd.cali"
    place.write_bytes(SPOT.encode() + b"__rec=ctx,ref=999,attr=86,data=1\n__rec=node,id=x\n\xff\xfe\n")
    profile = explain.open(place)
    assert profile.info["source"] == "a .cali file of Caliper, 2 lines of which cannot be read"
    assert profile.table("regions").height == 3


def test_a_file_without_records_is_an_error(tmp_path: Path) -> None:
    place = tmp_path / "none.cali"
    place.write_text(SPOT.partition("__rec=ctx")[0])
    with pytest.raises(ProfileError, match=r"none\.cali: this \.cali file cannot be read: it has no records"):
        explain.open(place)


@pytest.mark.parametrize("is_loop", [False, True])
def test_deep_nesting_takes_bounded_memory(tmp_path: Path, is_loop: bool) -> None:
    """Each region is in the previous one, and has a record: their ways to the root are 4 million nodes."""
    lines = [
        f"__rec=node,id={1000 + k},attr=42,data=a,parent={999 + k if k else 43}\n" for k in range(10_000)
    ]
    lines += [f"__rec=ctx,ref={1000 + k},attr=86,data=1\n" for k in range(3000)]
    path = tmp_path / "deep.cali"
    path.write_text(SPOT + "".join(lines) + "__rec=node,id=43,attr=42,data=a,parent=1000\n" * is_loop)
    with pytest.raises(ProfileError, match="nested too deeply for a file of its size"):
        explain.open(path)


def test_verbs_read_a_file_or_state_why_not(tmp_path: Path) -> None:
    place = tmp_path / "run.cali"
    place.write_text(SPOT)
    check_verbs(place, tmp_path)


@settings(max_examples=15)
@given(content=damaged(SPOT))
def test_damaged_files_are_read_or_refused(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    check_read_or_refused(content, tmp_path_factory.mktemp("damaged") / "run.cali")
