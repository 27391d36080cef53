"""Reports of mpiP as profiles: their values, and nulls for unknown data."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings

import haloscope
from haloscope import ProfileError, explain
from haloscope.cli import haloscope as command
from support.damaged import check_read_or_refused, damaged
from support.foreign_verbs import check_verbs
from support.pages import page_data

RULE = "-" * 75


def section(title: str, *lines: str) -> str:
    return "\n".join([RULE, f"@--- {title} ".ljust(75, "-"), RULE, *lines])


HEAD = """@ mpiP
@ Command : /home/someone/heat --size "1 2" x,y
@ Version                  : 3.5.0
@ MPIP Build date          : Jan  1 2026, 10:00:00
@ Start time               : 2026 01 02 03:04:05
@ Stop time                : 2026 01 02 03:04:15
@ Timer Used               : PMPI_Wtime
@ MPIP env var             : -k 2
@ MPI Task Assignment      : 0 alpha
@ MPI Task Assignment      : 1 beta
"""
TIMES = section(
    "MPI Time (seconds)",
    "Task    AppTime    MPITime     MPI%",
    "   0         10          3    30.00",
    "   1         12        4.5    37.50",
    "   *         22        7.5    34.09",
)
SITES = section(
    "Callsites: 3",
    " ID Lev File/Address        Line Parent_Funct             MPI_Call",
    "  1   0 my halo.c             42 exchange(int, char)      Isend",
    "  1   1 main.c                 7 main",
    "  2   0 my halo.c             43 exchange(int, char)      Waitall",
    "1003   0 0x4005d1                 [unknown]                Allreduce",
)
STATISTICS = section(
    "Callsite Time statistics (all, milliseconds): 6",
    "Name              Site Rank  Count      Max     Mean      Min   App%   MPI%",
    "Isend                1    0    100       20       10        5  10.00  33.33",
    "Isend                1    1    100       20       15        5  12.50  33.33",
    "Isend                1    *    200       20     12.5        5  11.00  33.33",
    "",
    "Waitall              2    0     50       40       30        5  15.00  50.00",
    "Waitall              2    1     50       90       40        5  16.67  44.44",
    "Waitall              2    *    100       90       35        5  16.00  47.00",
    "",
    "Allreduce         1003    0     10      100       50        5   5.00  16.67",
    "Allreduce         1003    1     10      200      100        5   8.33  22.22",
    "Allreduce         1003    *     20      200       75        5   7.00  20.00",
)
SENT = section(
    "Callsite Message Sent statistics (all, sent bytes)",
    "Name              Site Rank   Count       Max      Mean       Min       Sum",
    "Isend                1    0     100      2000      1000       500     1e+05",
    "Isend                1    1     100      4000      2000       500     2e+05",
    "Isend                1    *     200      4000      1500       500     3e+05",
    "",
    "Allreduce         1003    0      10         8         8         8        80",
    "Allreduce         1003    1      10         8         8         8        80",
)
END = section("End of Report")
REPORT = f"{HEAD}\n{TIMES}\n{SITES}\n{STATISTICS}\n{SENT}\n{END}\n"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    place = tmp_path / "heat.2.1234.1.mpiP"
    place.write_text(REPORT)
    return place


def test_ranks_add_up_to_what_the_report_says(report: Path) -> None:
    ranks = explain.open(report).table("ranks").sort("rank").rows(named=True)
    assert [row["host"] for row in ranks] == ["alpha", "beta"]
    assert [row["time"] for row in ranks] == [10, 12]
    assert [row["mpi_time"] for row in ranks] == pytest.approx([3, 4.5])
    assert [row["p2p_time"] for row in ranks] == pytest.approx([2.5, 3.5])
    assert [row["coll_time"] for row in ranks] == pytest.approx([0.5, 1])
    assert [row["wait_time"] for row in ranks] == pytest.approx([2, 3])
    assert [row["sends"] for row in ranks] == [100, 100]
    assert [row["bytes_sent"] for row in ranks] == [100_000, 200_000]
    assert [row["coll_bytes"] for row in ranks] == [80, 80]
    assert [row["largest_message"] for row in ranks] == [2000, 4000]
    for unknown in ("recvs", "bytes_recv", "dest_ranks", "sends_instance_max", "skew_time"):
        assert [row[unknown] for row in ranks] == [None, None]


def test_calls_and_sites_agree(report: Path) -> None:
    profile = explain.open(report)
    calls = {row["call"]: row for row in profile.table("calls").iter_rows(named=True)}
    assert {call: row["calls"] for call, row in calls.items()} == {
        "MPI_Isend": 200,
        "MPI_Waitall": 100,
        "MPI_Allreduce": 20,
    }
    assert (calls["MPI_Isend"]["bytes"], calls["MPI_Waitall"]["bytes"]) == (300_000, None)
    assert calls["MPI_Waitall"]["time_max"] == pytest.approx(0.09)
    assert sum(row["time_total"] for row in calls.values()) == pytest.approx(7.5)
    sites = profile.table("sites").sort("calls", descending=True)
    assert sites["site"].to_list() == ["my halo.c:42", "my halo.c:43", "0x4005d1"]
    assert sites["function"].to_list() == ["exchange(int, char)"] * 2 + [None]
    assert sites["stack"][0] == "main (main.c:7);exchange(int, char) (my halo.c:42)"
    assert sites["share"].sum() == pytest.approx(1)
    sums = sites.group_by("call").agg(pl.col("time_total").sum()).rows()
    assert dict(sums) == pytest.approx({call: row["time_total"] for call, row in calls.items()})


def test_metadata_of_the_run(report: Path) -> None:
    info = dict(explain.open(report).table("info").rows())
    assert info["program"] == "heat"
    assert (info["ranks"], info["duration"], info["source"]) == ("2", "12.0", "an mpiP 3.5.0 report")
    assert info["mpip.environment"] == '"-k 2"'
    assert info["partial"] is None


def test_unknown_data_are_stated(report: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    shown = run(command, ["show", str(report), "--table", "partners"])
    assert (shown.exit_code, "nothing is known of partners from an mpiP 3.5.0 report" in shown.stderr) == (
        0,
        True,
    )
    assert run(command, ["show", str(report)]).stderr == ""
    page = run(command, ["report", str(report), "-o", str(tmp_path / "page.html")])
    assert page.exit_code == 0, page.output
    assert "read from an mpiP 3.5.0 report" in str(page_data(tmp_path / "page.html"))
    assert [line for line in explain.summary(explain.open(report)) if "34.1 % of the time" in line]


def test_with_others_in_one_table(report: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.mpiP"
    other.write_text(REPORT.replace("heat", "cool"))
    table = haloscope.open_all([report, other]).table("regions")
    assert table["program"].to_list() == ["heat", "cool"]
    assert table["mpi_time_mean"].to_list() == pytest.approx([3.75, 3.75])


@pytest.mark.parametrize(
    "text",
    [
        f"{HEAD}\n{TIMES}\n{END}",
        "\n".join([HEAD, TIMES, SITES, STATISTICS.partition("Waitall ")[0], END]),
        "\n".join([HEAD, TIMES, SITES, STATISTICS.replace(" Rank ", " Tasks ").replace("Count", "Max"), END]),
    ],
    ids=["concise", "filtered", "sums over ranks"],
)
def test_without_all_sites_time_in_mpi_is_known_as_a_whole(text: str, tmp_path: Path) -> None:
    place = tmp_path / "few.mpiP"
    place.write_text(text)
    profile = explain.open(place)
    whole = profile.table("regions").row(0, named=True)
    assert whole["mpi_time_mean"] == pytest.approx(3.75)
    assert (whole["time_mean"], whole["time_max"], whole["p2p_time_mean"]) == (11, 12, None)
    assert profile.table("ranks")["mpi_time"].to_list() == [None, None]
    assert profile.table("ranks")["time"].to_list() == [10, 12]
    assert explain.summary(profile)


def test_a_truncated_report_is_reported(tmp_path: Path) -> None:
    place = tmp_path / "cut.mpiP"
    place.write_text(REPORT.partition("Allreduce         1003    0     10")[0])
    profile = explain.open(place)
    assert profile.info["source"] == "an mpiP 3.5.0 report that was cut short"
    assert profile.table("regions")["mpi_time_mean"].to_list() == pytest.approx([3.75])


def test_history_has_the_sums_of_a_report(tmp_path: Path) -> None:
    (tmp_path / "run.mpiP").write_text(REPORT)
    row = haloscope.history(tmp_path).row(0, named=True)
    ranks = explain.open(tmp_path / "run.mpiP").table("ranks", region="<program>")
    assert (row["ranks"], row["hosts"], row["host_names"]) == (2, 2, ["alpha", "beta"])
    assert row["rank_time"] == pytest.approx(ranks["time"].sum())
    assert row["mpi_time"] == pytest.approx(ranks["mpi_time"].sum())
    assert row["host_compute"] == pytest.approx(ranks["compute_time"].to_list())


def test_a_report_without_ranks_is_an_error(tmp_path: Path) -> None:
    place = tmp_path / "none.mpiP"
    place.write_text(HEAD)
    with pytest.raises(ProfileError, match=r"none\.mpiP: this mpiP report cannot be read: it has no section"):
        explain.open(place)


def test_verbs_read_a_report_or_state_why_not(tmp_path: Path) -> None:
    place = tmp_path / "run.mpiP"
    place.write_text(REPORT)
    check_verbs(place, tmp_path)


@settings(max_examples=15)
@given(content=damaged(REPORT))
def test_damaged_reports_are_read_or_refused(
    content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    check_read_or_refused(content, tmp_path_factory.mktemp("damaged") / "run.mpiP")
