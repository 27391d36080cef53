"""OTF2 archives as profiles: written by our export and by EZTrace, whole and damaged."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

import haloscope
from haloscope import HaloscopeError, ProfileError, explain
from haloscope.explain import Profile
from haloscope.explain.export import TracedProfile
from haloscope.explain.export.otf2 import _Definitions, write_otf2
from haloscope.profile.trace import Trace
from support.missing import missing
from support.mpi import CHECKOUT, find
from support.otf2_tools import need_otf2_library
from support.programs import Compiler
from support.traces import Script, cg_trace, halo_trace

pytestmark = pytest.mark.slow  # builds the writer


@pytest.fixture(scope="module", autouse=True)
def _otf2() -> None:
    need_otf2_library()


def opened(trace: Trace, place: Path) -> Profile:
    write_otf2(TracedProfile(trace), place)
    return explain.open(place)


def messages(frame: pl.DataFrame) -> pl.DataFrame:
    """Return completed messages within the world, and their bytes, by rank and partner."""
    return (
        frame.filter(pl.col("partner") >= 0)
        .group_by(pl.col("rank").cast(pl.Int64), pl.col("partner").cast(pl.Int64))
        .agg(pl.len().cast(pl.Int64).alias("messages"), pl.col("bytes").sum())
        .sort("rank", "partner")
    )


@pytest.mark.parametrize("trace", [halo_trace(4, 3), cg_trace(6, 2)], ids=["halo", "cg"])
def test_tables_are_those_of_the_trace(trace: Trace, tmp_path: Path) -> None:
    profile = opened(trace, tmp_path / "run-otf2")
    partners = profile.table("partners", region="<program>")
    for frame, count, size in ((trace.sends, "sends", "bytes_sent"), (trace.receives, "recvs", "bytes_recv")):
        found = partners.filter(pl.col(count) > 0).select("rank", "partner", count, size)
        assert found.sort("rank", "partner").rows() == messages(frame).rows()
    whole = profile.table("regions").row(0, named=True)
    assert whole["ranks"] == trace.processes.height
    assert whole["sends_total"] == trace.sends.filter(pl.col("partner") >= 0).height
    assert whole["colls_total"] == trace.collectives.height
    assert whole["largest_message"] == (trace.sends["bytes"].max() or 0)
    calls = trace.calls.with_columns((pl.col("end") - pl.col("begin")).alias("time"))
    expected = calls.group_by(pl.col("call").cast(pl.String)).agg(pl.len(), pl.col("time").sum()).sort("call")
    inside = profile.table("calls", region="<program>").sort("call")
    outside = ("MPI_Init", "MPI_Init_thread", "MPI_Finalize")
    expected = expected.filter(~pl.col("call").is_in(outside))
    assert inside["call"].to_list() == expected["call"].to_list()
    assert inside["calls"].to_list() == expected["len"].to_list()
    assert inside["time_total"].to_list() == pytest.approx([time * 1e-9 for time in expected["time"]])
    assert profile.hosts.names == trace.processes["host"].unique(maintain_order=True).to_list()


@pytest.mark.parametrize("trace", [halo_trace(4, 3), cg_trace(6, 2)], ids=["halo", "cg"])
def test_the_trace_comes_back(trace: Trace, tmp_path: Path) -> None:
    profile = opened(trace, tmp_path / "run-otf2")
    assert profile.has_trace
    found = profile.trace()
    begins = pl.concat([trace.calls["begin"], trace.regions["begin"]])
    first = begins.min()
    for name in ("calls", "regions"):
        mine, theirs = getattr(trace, name), getattr(found, name)
        moved = mine.with_columns(pl.col("begin", "end") - first)
        keys = ["rank", "thread", "begin", "end"]
        assert theirs.select(keys).rows() == moved.select(keys).rows(), name
    assert found.calls["call"].cast(pl.String).to_list() == trace.calls["call"].cast(pl.String).to_list()
    columns = ["rank", "started", "completed", "partner", "tag", "bytes"]
    for name in ("sends", "receives"):
        mine, theirs = getattr(trace, name), getattr(found, name)
        assert sorted(theirs.select(columns).rows()) == sorted(mine.select(columns).rows()), name
    columns = ["rank", "started", "completed", "number", "root", "bytes_sent", "bytes_received"]
    assert found.collectives.select(columns).rows() == trace.collectives.select(columns).rows()
    assert found.communicators["ranks"][0].to_list() == list(range(trace.processes.height))


def test_tables_agree_with_each_other(tmp_path: Path) -> None:
    profile = opened(cg_trace(6, 4), tmp_path / "run-otf2")
    ranks, calls = profile.table("ranks", exclusive=True), profile.table("calls", exclusive=True)
    assert ranks["mpi_time"].sum() == pytest.approx(calls["time_total"].sum())
    slices = profile.table("slices")
    whole = profile.table("ranks", region="<program>").sort("rank")
    for name in ("sends", "bytes_sent", "recvs", "colls"):
        assert (
            slices.group_by("rank").agg(pl.col(name).sum()).sort("rank")[name].to_list()
            == whole[name].to_list()
        )
    sums = slices.group_by("rank").agg(pl.col("p2p_time").sum()).sort("rank")
    assert sums["p2p_time"].to_list() == pytest.approx(whole["p2p_time"].to_list())
    # Own times of regions add up to the rank's time.
    own = ranks.group_by("rank").agg(pl.col("time").sum()).sort("rank")
    assert own["time"].to_list() == pytest.approx(whole["time"].to_list())
    sizes = profile.table("sizes", region="<program>")
    assert sizes.filter(pl.col("kind") == "p2p")["messages"].sum() == whole["sends"].sum()
    assert profile.table("collectives", region="<program>")["calls"].sum() == whole["colls"].sum()


def test_regions_inside_and_outside_of_the_recorded_part(tmp_path: Path) -> None:
    script = Script(1)
    main, odd = script.path("main"), script.path('a, "b"\n/c\\', 1)
    inner = script.path("inner", odd)
    script.region(0, 0, 1000, main)
    script.region(0, 300, 700, odd)
    script.region(0, 400, 500, inner)
    script.region(0, 600, 650, inner)
    script.call(0, "MPI_Init", 50, 100, main)
    script.call(0, "MPI_Barrier", 420, 440, inner)
    script.call(0, "MPI_Finalize", 900, 950, main)
    profile = opened(script.trace(), tmp_path / "run-otf2")
    rows = profile.table("ranks").select("region", "instances", "time", "mpi_time").rows()
    names = ["<program>", "main", 'a, "b"\n/c\\', "inner"]
    assert [row[0] for row in rows] == names
    assert [row[1] for row in rows] == [1, 1, 1, 2]
    assert [row[2] for row in rows] == pytest.approx([800e-9, 800e-9, 400e-9, 150e-9])
    assert [row[3] for row in rows] == pytest.approx([20e-9] * 4)


def test_partners_are_world_ranks(tmp_path: Path) -> None:
    script = Script(4)
    pair = script.communicator([3, 1], "pair")
    script.send(script.call(3, "MPI_Send", 10, 20), 1, 64, communicator=pair)
    script.receive(script.call(1, "MPI_Recv", 10, 30), 3, 64, communicator=pair)
    profile = opened(script.trace(), tmp_path / "run-otf2")
    rows = profile.table("partners").select("rank", "partner", "sends", "recvs", "bytes_sent").rows()
    assert sorted(rows) == [(1, 3, 0, 1, 0), (3, 1, 1, 0, 64)]
    assert profile.table("communicators").select("name", "size", "ranks", "calls").rows() == [
        ("pair", 2, 2, 2)
    ]


def test_the_file_or_its_directory_and_every_verb(tmp_path: Path) -> None:
    profile = opened(halo_trace(4, 2), tmp_path / "run-otf2")
    again = haloscope.open(tmp_path / "run-otf2" / "traces.otf2")
    assert again.table("ranks").equals(profile.table("ranks"))
    assert explain.summary(profile)
    explain.report(tmp_path / "run-otf2", tmp_path / "page.html")
    haloscope.export(tmp_path / "run-otf2", "csv", tmp_path / "tables")
    for name in explain.TABLES:
        profile.table(name)
    assert profile.table("waits").height
    assert [profile.lacks(name) is None for name in ("waits", "partners", "sites")] == [True, True, False]


def damaged(place: Path, to: Path) -> Path:
    shutil.copytree(place, to)
    return to


def test_damaged_archives_are_read_or_refused(tmp_path: Path) -> None:
    write_otf2(TracedProfile(cg_trace(3, 30)), tmp_path / "whole")
    files = sorted(path.relative_to(tmp_path / "whole") for path in (tmp_path / "whole").rglob("*.*"))
    names = [name for name in files if (tmp_path / "whole" / name).is_file()]
    assert {name.suffix for name in names} >= {".otf2", ".def", ".evt"}
    for number, name in enumerate(names):
        for kind in ("cut", "gone", "noise"):
            place = damaged(tmp_path / "whole", tmp_path / f"{number}-{kind}")
            content = (place / name).read_bytes()
            if kind == "gone":
                (place / name).unlink()
            else:
                half = len(content) // 2
                (place / name).write_bytes(content[:half] + (b"\xff" * 40 if kind == "noise" else b""))
            with suppress(HaloscopeError):  # errors of this class are printed as one line
                profile = explain.open(place)
                assert [profile.table(table) for table in explain.TABLES]
                if name.suffix == ".evt":
                    assert "damaged" in profile.info["source"]


def test_an_archive_of_a_rank_that_was_lost_says_so(tmp_path: Path) -> None:
    write_otf2(TracedProfile(halo_trace(3, 5)), tmp_path / "run")
    (tmp_path / "run" / "traces" / "1.evt").unlink()
    profile = explain.open(tmp_path / "run")
    assert "that is damaged (location 1: " in profile.info["source"]
    assert profile.table("ranks", region="<program>")["rank"].to_list() == [0, 2]


def write_without(kind: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write an archive without the definitions of one kind."""
    say = _Definitions._define

    def without(self: _Definitions, what: str, *rest: object) -> None:
        if what != kind:
            say(self, what, *rest)

    monkeypatch.setattr(_Definitions, "_define", without)
    write_otf2(TracedProfile(halo_trace(3, 5)), place)


def test_an_archive_without_locations_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_without("location", tmp_path / "run", monkeypatch)
    with pytest.raises(ProfileError, match="it defines no locations"):
        explain.open(tmp_path / "run")


# The definitions that are left out, and the message about that.
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("string", "an OTF2 archive"),
        ("region", "an OTF2 archive"),
        ("communicator", "(60 sends and receives are left out: their partner is no rank that it defines)"),
        ("group", "(60 sends and receives are left out: their partner is no rank that it defines)"),
        ("process", "an OTF2 archive"),
        ("node", "an OTF2 archive"),
    ],
)
def test_missing_definitions_are_no_harm(
    kind: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_without(kind, tmp_path / "run", monkeypatch)
    profile = explain.open(tmp_path / "run")
    assert said in profile.info["source"]
    assert [profile.table(table) for table in explain.TABLES]
    whole = profile.table("regions").row(0, named=True)
    assert whole["sends_total"] == whole["recvs_total"] == (0 if "left out" in said else 30)
    assert len(profile.table("regions")) >= 3
    exported = haloscope.export(tmp_path / "run", "perfetto", tmp_path / "run.perfetto")
    assert exported.stat().st_size > 0


def test_no_archive_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "none.otf2").write_bytes(b"\x03BOTF2 and nothing more")
    with pytest.raises(ProfileError, match=r"none\.otf2: this OTF2 archive cannot be read"):
        explain.open(tmp_path / "none.otf2")
    (tmp_path / "two").mkdir()
    for name in ("a", "b"):
        shutil.copy(tmp_path / "none.otf2", tmp_path / "two" / f"{name}.otf2")
    with pytest.raises(ProfileError, match=r"several OTF2 archives: a\.otf2, b\.otf2"):
        explain.open(tmp_path / "two")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ProfileError, match="is not a file"):
        explain.open(tmp_path / "empty")


def test_an_archive_of_eztrace(compiler: Compiler, tmp_path: Path) -> None:
    """Its 2.0 knows neither the receives that `MPI_Waitall` completes nor the messages of `MPI_Sendrecv`."""
    mpi = find("openmpi-system")
    if mpi is None or shutil.which("eztrace") is None:
        missing("no EZTrace for Open MPI: apt-get install eztrace libopenmpi-dev openmpi-bin")
    ring = compiler(mpi, CHECKOUT / "tests" / "explain" / "programs" / "ring.c")
    ranks, steps = 3, 20
    mpi.run(ranks, ["eztrace", "-t", "openmpi", "-o", tmp_path / "traced", ring], cwd=tmp_path)
    (anchor,) = (tmp_path / "traced").rglob("*.otf2")
    profile = explain.open(anchor)
    partners = profile.table("partners", region="<program>").sort("rank", "partner")
    in_steps = sum(800 * step for step in range(1, steps + 1))
    sent = partners.filter(pl.col("sends") > 0).select("rank", "partner", "sends", "bytes_sent").rows()
    assert sent == [(0, 1, 21, in_steps + 4), (0, 2, 1, 8), (1, 2, 20, in_steps), (2, 0, 20, in_steps)]
    received = partners.filter(pl.col("recvs") > 0).select("rank", "partner", "recvs", "bytes_recv").rows()
    assert received == [(1, 0, 1, 4), (2, 0, 1, 8)]
    calls = dict(profile.table("calls", region="<program>").select("call", "calls").rows())
    expected = dict.fromkeys(["Irecv", "Isend", "Waitall", "Allreduce", "Bcast"], ranks * steps)
    expected |= {"Send": ranks - 1, "Recv": ranks - 1, "Barrier": ranks}
    assert {call: calls[f"MPI_{call}"] for call in expected} == expected
    collectives = (
        profile.table("collectives", region="<program>").select("operation", "comm_size", "calls").rows()
    )
    assert set(collectives) == {("Allreduce", 3, 60), ("Barrier", 3, 3), ("Bcast", 1, 20), ("Bcast", 2, 40)}
