"""The tables, against sums that are easy to check by hand."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import haloscope
from haloscope import ProfileError, UsageError, explain
from haloscope.explain import Profile
from support.processes import run_program
from support.profiles import INFO, Draft, columns_of, draft, path_rows, process_rows
from support.sample import halo_profile

Read = Callable[[Draft], Profile]

INSTANCE = [
    f"{x}_instance_{end}"
    for x in ("sends", "recvs", "dest_ranks", "src_ranks", "bytes_sent", "bytes_recv", "colls")
    for end in ("min", "max")
]
# These names are a contract: users' scripts read them.
REGIONS = [
    *"region path ranks instances".split(" "),
    *"sends_min sends_max sends_total recvs_min recvs_max recvs_total".split(" "),
    *"dest_ranks_min dest_ranks_mean dest_ranks_max".split(" "),
    *"src_ranks_min src_ranks_mean src_ranks_max".split(" "),
    *"bytes_sent_min bytes_sent_max bytes_sent_total".split(" "),
    *"bytes_recv_min bytes_recv_max bytes_recv_total".split(" "),
    *"largest_message mean_message sends_offnode_total bytes_offnode_total".split(" "),
    *"colls_max colls_total coll_bytes_total rma_ops_total rma_bytes_total".split(" "),
    *"time_mean time_min time_max cpu_time_mean p2p_time_mean coll_time_mean rma_time_mean".split(" "),
    *"io_ops_total io_bytes_total io_time_mean mpi_time_mean wait_time_mean".split(" "),
    *"compute_time_mean skew_time_mean polls_total poll_time_mean".split(" "),
    *"device_copies_total device_copy_bytes_total device_copy_time_mean staged_bytes_total".split(" "),
    *"omp_regions_total omp_parallel_time_mean omp_team_time_mean omp_thread_time_mean".split(" "),
    *"omp_mpi_time_mean omp_barrier_time_mean omp_imbalance_time_mean omp_threads_max".split(" "),
    *INSTANCE,
]
COLUMNS = {
    "regions": REGIONS,
    "ranks": [
        *"region rank host program instances sends recvs dest_ranks src_ranks bytes_sent".split(" "),
        *"bytes_recv largest_message mean_message sends_offnode bytes_offnode colls".split(" "),
        *"coll_bytes rma_ops rma_bytes time cpu_time p2p_time coll_time rma_time io_ops".split(" "),
        *"io_bytes io_time mpi_time wait_time compute_time skew_time polls poll_time".split(" "),
        *"device_copies device_copy_bytes device_copy_time staged_bytes".split(" "),
        *"omp_regions omp_parallel_time omp_team_time omp_thread_time".split(" "),
        *"omp_mpi_time omp_barrier_time omp_imbalance_time omp_threads".split(" "),
        *INSTANCE,
    ],
    "calls": "region call memory calls bytes time_total time_max".split(" "),
    "sizes": "region kind memory bytes messages time_total".split(" "),
    "partners": "region rank partner same_node sends bytes_sent recvs bytes_recv time".split(" "),
    "collectives": "region operation comm_size bytes calls time_total time_max".split(" "),
    "communicators": "name size ranks calls bytes".split(" "),
    "series": "region rank instance start duration wait".split(" "),
    "clocks": "rank host machine offset_begin offset_end shift moved moved_max".split(" "),
    "binding": "rank host pid cpus numa_nodes sockets cpu_time preemptions memory_max".split(" "),
    "info": ["key", "value"],
}
STRINGS = {
    *("region", "path", "host", "program", "call", "kind", "operation", "name", "key", "value"),
    *("cpus", "numa_nodes", "sockets", "memory"),
}


def by(frame: pl.DataFrame, *keys: str) -> dict[Any, dict[str, Any]]:
    """The rows of a frame by the values of `keys`."""
    rows = {tuple(row[key] for key in keys): row for row in frame.to_dicts()}
    assert len(rows) == len(frame)
    return {key[0] if len(keys) == 1 else key: row for key, row in rows.items()}


@pytest.mark.parametrize("table", COLUMNS)
def test_columns_and_types_are_those_of_the_contract(read: Read, nested: Draft, table: str) -> None:
    frame = read(nested).table(table)
    assert frame.columns == COLUMNS[table]
    for name, kind in frame.schema.items():
        if name in STRINGS:
            assert kind == pl.String
        elif name == "same_node":
            assert kind == pl.Boolean
        elif re.search("time|_mean|^mean|start|duration|wait|offset|shift|moved_max", name):
            assert kind == pl.Float64, name
        else:
            assert kind == pl.Int64, name


def test_a_quantity_that_older_files_lack_is_unknown(read: Read) -> None:
    rows = [{"path": 0, "rank": rank} for rank in (0, 1)]
    old = draft(paths=path_rows(), ranks=rows)
    assert "polls" not in old.tables["ranks"]
    assert read(old).table("ranks")["polls"].to_list() == [None, None]
    assert read(old).table("regions")["polls_total"].to_list() == [None]
    assert "memory" not in columns_of("calls", [{}])
    calls = read(draft(paths=path_rows(), calls=[{"path": 0, "call": "MPI_Send", "calls": 1}])).table("calls")
    assert calls["memory"].to_list() == [None]
    sizes = read(draft(paths=path_rows(), sizes=[{"path": 0, "kind": "p2p", "bytes": 8, "bytes_upper": 8}]))
    assert sizes.table("sizes")["memory"].to_list() == [None]
    new = draft(paths=path_rows(), ranks=rows)
    new.tables["ranks"] = {**new.tables["ranks"], "polls": np.array([3, 4])}
    assert read(new).table("regions")["polls_total"].to_list() == [7]


def test_the_reference_names_every_column() -> None:
    page = Path(__file__).parents[2] / "docs/reference/tables.md"
    reference = page.read_text("utf-8")
    sections = dict(re.findall(r"^## `(\w+)`.*?\n(.*?)(?=^## |\Z)", reference, re.MULTILINE | re.DOTALL))
    for table, columns in COLUMNS.items():
        named = set(re.findall(r"`(\w+)`", sections[table]))
        assert not set(columns) - named - set(INSTANCE), table
        if table in ("regions", "ranks"):
            assert "`X_instance_min`" in sections[table]


def test_regions_come_depth_first_with_their_paths(read: Read) -> None:
    # The recorder's order is that in which ranks entered them.
    names = ("a", "b", "a/x", "b/y", "a/x/deep", "a/y")
    rows = [{"path": path, "rank": 0} for path in (6, 5, 4, 3, 2, 1, 0)]
    frame = read(draft(paths=path_rows(*names), ranks=rows)).table("regions")
    paths = ["<program>", "a", "a/x", "a/x/deep", "a/y", "b", "b/y"]
    assert frame["path"].to_list() == paths
    assert frame["region"].to_list() == [path.split("/")[-1] for path in paths]


def test_inclusive_values_include_inner_regions(read: Read, nested: Draft) -> None:
    regions = by(read(nested).table("regions"), "path")
    program, solve = regions["<program>"], regions["solve"]
    assert (solve["sends_total"], solve["bytes_sent_total"]) == (5, 4100)
    assert (program["sends_total"], program["bytes_sent_total"]) == (6, 4107)
    assert (program["sends_min"], program["sends_max"]) == (1, 5)
    assert program["recvs_total"] == 4
    assert program["rma_ops_total"] == 2
    assert (solve["largest_message"], regions["halo"]["largest_message"]) == (1500, 7)
    assert solve["mean_message"] == pytest.approx(820.0)
    assert solve["p2p_time_mean"] == pytest.approx((2.5 + 1.0) / 2)
    assert solve["mpi_time_mean"] == pytest.approx((0.5 + 0.25 + 1.0 + 2.0 + 1.0) / 2)
    assert solve["time_mean"] == pytest.approx(7.0)
    assert solve["compute_time_mean"] == pytest.approx(7.0 - 4.75 / 2)


def test_exclusive_values_exclude_inner_regions(read: Read, nested: Draft) -> None:
    regions = by(read(nested).table("regions", exclusive=True), "path")
    solve = regions["solve"]
    assert (solve["sends_total"], solve["bytes_sent_total"]) == (1, 100)
    assert regions["<program>"]["sends_total"] == 0
    assert solve["largest_message"] == 100
    assert (solve["time_max"], solve["time_min"]) == (5.0, 4.0)
    assert regions["<program>"]["time_max"] == pytest.approx(12.0 - 6.0 - 1.0)
    halo = regions["solve/halo"]  # with nothing inside
    assert (halo["time_max"], halo["time_min"]) == (3.0, 2.0)
    assert halo["compute_time_mean"] == pytest.approx((3.0 - 2.0 + 2.0 - 1.0) / 2)
    assert solve["mpi_time_mean"] == pytest.approx((0.5 + 0.25 + 1.0) / 2)
    assert solve["compute_time_mean"] == pytest.approx((5.0 - 1.75 + 4.0) / 2)


def test_distinct_partners_and_instances_are_taken_as_recorded(read: Read, nested: Draft) -> None:
    profile = read(nested)
    inclusive = by(profile.table("ranks"), "region", "rank")["solve", 0]
    exclusive = by(profile.table("ranks", exclusive=True), "region", "rank")["solve", 0]
    assert (inclusive["dest_ranks"], exclusive["dest_ranks"]) == (2, 1)
    assert (inclusive["sends_instance_min"], exclusive["sends_instance_min"]) == (2, 0)
    assert (inclusive["sends_instance_max"], exclusive["sends_instance_max"]) == (3, 1)
    assert inclusive["instances"] == exclusive["instances"] == 2


def test_extremes_over_instances_pass_over_ranks_that_finished_none(read: Read, nested: Draft) -> None:
    profile = read(nested)
    assert by(profile.table("ranks"), "region", "rank")["solve", 1]["sends_instance_min"] is None
    solve = by(profile.table("regions"), "path")["solve"]
    assert (solve["sends_instance_min"], solve["sends_instance_max"]) == (2, 3)
    assert solve["ranks"] == 2
    assert solve["instances"] == 2


def test_reductions_are_over_the_ranks_that_entered(read: Read, nested: Draft) -> None:
    halo = by(read(nested).table("regions"), "path")["halo"]
    assert halo["ranks"] == 1
    assert (halo["sends_min"], halo["dest_ranks_mean"], halo["time_mean"]) == (1, 1.0, 1.0)


def test_unknown_values_are_null(read: Read, nested: Draft) -> None:
    regions = by(read(nested).table("regions"), "path")
    assert regions["halo"]["skew_time_mean"] is None
    assert regions["solve"]["skew_time_mean"] == pytest.approx(0.125)
    assert by(read(nested).table("ranks"), "region", "rank")["halo", 1]["mean_message"] == 7.0
    assert by(read(nested).table("ranks"), "region", "rank")["solve", 1]["mean_message"] is None


def test_traffic_between_hosts_is_separate(read: Read, nested: Draft) -> None:
    profile = read(nested)
    regions = by(profile.table("regions"), "path")
    assert (regions["solve"]["sends_offnode_total"], regions["solve"]["bytes_offnode_total"]) == (4, 4000)
    assert regions["<program>"]["bytes_offnode_total"] == 4000
    assert regions["halo"]["sends_offnode_total"] == 0
    exclusive = by(profile.table("regions", exclusive=True), "path")
    assert exclusive["solve"]["sends_offnode_total"] == 0
    partners = by(profile.table("partners", exclusive=True), "region", "rank", "partner")
    assert partners["solve", 0, 0]["same_node"] is True
    assert partners["solve/halo", 0, 1]["same_node"] is False
    assert partners["halo", 1, None]["same_node"] is None


def test_on_one_host_nothing_leaves_it(read: Read, nested: Draft) -> None:
    nested.tables["processes"] = {**nested.tables["processes"], "host": ["alpha", "alpha"]}
    profile = read(nested)
    assert profile.table("regions")["bytes_offnode_total"].to_list() == [0, 0, 0, 0]
    assert profile.table("partners")["same_node"].drop_nulls().all()


def test_tables_of_traffic_are_inclusive_too(read: Read, nested: Draft) -> None:
    profile = read(nested)
    calls = by(profile.table("calls"), "region", "call")
    assert calls["solve", "MPI_Send"]["calls"] == 5
    assert calls["solve", "MPI_Send"]["time_total"] == 2.5
    assert calls["solve", "MPI_Send"]["time_max"] == 0.75
    assert calls["<program>", "MPI_Recv"]["bytes"] == 4000
    exclusive = by(profile.table("calls", exclusive=True), "region", "call")
    assert exclusive["solve", "MPI_Send"]["calls"] == 1
    assert ("<program>", "MPI_Send") not in exclusive
    sizes = by(profile.table("sizes"), "region", "kind", "bytes")
    assert sizes["solve", "p2p", 100]["messages"] == 2
    assert sizes["solve/halo", "p2p", 100]["messages"] == 1
    partners = by(profile.table("partners"), "region", "rank", "partner")
    assert partners["<program>", 0, 1]["bytes_sent"] == 4000
    collectives = by(profile.table("collectives"), "region")
    assert collectives["<program>"]["calls"] == 3


def test_the_longest_call_of_a_collective_is_that_of_one_region(read: Read) -> None:
    same = {"operation": "Allreduce", "comm_size": 2, "bytes": 8, "calls": 1}
    times = [(1, 0.5), (2, 0.75), (2, 0.25)]
    rows = [{**same, "path": path, "time_total": t, "time_max": t} for path, t in times]
    written = draft(paths=path_rows("solve", "solve/halo"), collectives=rows)
    collectives = by(read(written).table("collectives"), "region")
    longest = {region: row["time_max"] for region, row in collectives.items()}
    assert longest == {"<program>": 0.75, "solve": 0.75, "halo": 0.75}
    assert collectives["solve"]["time_total"] == 1.5


def test_the_costliest_call_of_a_region_comes_first(read: Read, nested: Draft) -> None:
    frame = read(nested).table("calls", region="solve/halo")
    assert frame["call"].to_list() == ["MPI_Recv", "MPI_Send"]


def test_a_region_is_chosen_by_its_name_or_its_path(read: Read, nested: Draft) -> None:
    profile = read(nested)
    both = profile.table("regions", region="halo")
    assert both["path"].to_list() == ["solve/halo", "halo"]
    one = profile.table("regions", region="solve/halo")
    assert one["path"].to_list() == ["solve/halo"]
    whole = by(profile.table("regions"), "path")
    for chosen in ("solve", "<program>"):
        assert profile.table("regions", region=chosen).to_dicts() == [whole[chosen]]
        rows = profile.table("partners").filter(pl.col("region") == chosen)
        assert profile.table("partners", region=chosen).equals(rows)
    exclusive = profile.table("regions", region="solve", exclusive=True)
    assert exclusive["time_max"].to_list() == [5.0]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"name": "regions", "region": "solv"}, "solv.*solve"),
        ({"name": "sends"}, "no table 'sends'.*regions"),
        ({"name": "info", "region": "solve"}, "not by region"),
    ],
)
def test_a_question_without_answer_is_a_usage_error(
    read: Read, nested: Draft, question: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        read(nested).table(**question)


def test_a_range_of_sizes_is_marked(read: Read, nested: Draft) -> None:
    nested.tables["sizes"]["bytes_upper"][-1] = 4095
    sizes = read(nested).table("sizes")
    assert sizes.columns == [*COLUMNS["sizes"], "bytes_upper"]
    assert sizes.filter(bytes=1500)["bytes_upper"].to_list() == [4095] * 3
    assert sizes.filter(bytes=100)["bytes_upper"].to_list() == [100] * 3


def test_recorded_values_are_columns_of_the_series(read: Read, nested: Draft) -> None:
    rows = [{"path": 2, "rank": 0, "instance": i, "start": float(i), "duration": 0.5} for i in range(2)]
    nested.tables |= draft(
        series=rows,
        values=[
            {"path": 2, "rank": 0, "instance": 1, "name": "residual", "value": 0.25},
            {"path": 2, "rank": 0, "instance": 1, "name": "rank", "value": 3.0},
            {"path": 2, "rank": 0, "instance": 2, "name": "residual", "value": 0.125},
        ],
    ).tables | {name: nested.tables[name] for name in ("paths", "processes", "ranks")}
    frame = read(nested).table("series", region="solve/halo")
    assert frame["residual"].to_list() == [None, 0.25, 0.125]
    assert frame["rank"].to_list() == [0, 0, 0]
    assert frame["rank_value"].to_list() == [None, 3.0, None]
    assert frame["start"].to_list() == [0.0, 1.0, None]
    assert frame["region"].unique().to_list() == ["solve/halo"]


def test_info_adds_up_what_the_processes_saw(read: Read) -> None:
    processes = process_rows("beta", "alpha", "beta")
    for row in processes:
        row |= {"unmatched_begins": 2, "dropped": row["rank"], "finalized": row["rank"] % 2}
    rows = [{"call": "MPI_Sendrecv_more", "calls": 3}, {"call": "MPI_Sendrecv_more", "calls": 4}]
    written = draft(
        {"partial": True, "missing_ranks": [1]}, paths=path_rows(), processes=processes, unaccounted=rows
    )
    told = by(read(written).table("info"), "key")
    assert told["hosts"]["value"] == '["beta", "alpha"]'
    assert told["unmatched_begins"]["value"] == "6"
    assert told["unmatched_ends"]["value"] == "0"
    assert told["dropped"]["value"] == "3"
    assert told["unaccounted"]["value"] == '{"MPI_Sendrecv_more": 7}'
    assert told["missing_ranks"]["value"] == "[1]"
    assert told["unfinished_ranks"]["value"] == "[0, 2]"
    assert told["partial"]["value"] == "true"
    assert told["program"]["value"] == INFO["program"]


@pytest.mark.parametrize(
    ("key", "value"),
    [("ranks", "four"), ("ranks", -1), ("partial", 0), ("missing_ranks", [None]), ("program", 3)],
)
def test_information_of_another_type_is_damage(read: Read, key: str, value: object) -> None:
    with pytest.raises(ProfileError, match=key):
        read(draft({key: value}, paths=path_rows())).table("info")


def test_a_profile_of_a_run_that_recorded_nothing_has_empty_tables(read: Read) -> None:
    profile = read(draft({"ranks": None}, paths=path_rows()))
    for table, columns in COLUMNS.items():
        assert profile.table(table).columns == columns
    assert by(profile.table("info"), "key")["ranks"]["value"] is None


def test_an_ensemble_stacks_runs_with_their_metadata(tmp_path: Path, nested: Draft) -> None:
    for ranks in (2, 4):
        nested.info |= {"ranks": ranks}
        nested.write(tmp_path / f"run-{ranks}.halo")
    draft(paths=path_rows("other")).write(tmp_path / "run-9.halo")
    ensemble = haloscope.open_all(f"{tmp_path}/run-*.halo")
    assert ensemble.runs["run_ranks"].to_list() == [2, 4, 2]
    frame = ensemble.table("regions", region="solve")
    assert frame["run_ranks"].to_list() == [2, 4]
    assert frame["profile"].to_list() == [str(tmp_path / f"run-{n}.halo") for n in (2, 4)]
    assert frame["run_hosts"].to_list() == [2, 2]
    assert frame["sends_total"].to_list() == [5, 5]
    assert frame.columns[-len(REGIONS) :] == REGIONS
    with pytest.raises(UsageError, match="no region"):
        ensemble.table("regions", region="nowhere")
    with pytest.raises(ProfileError, match="no profile matches"):
        haloscope.open_all(f"{tmp_path}/none-*.halo")


def test_balances_of_a_larger_run(tmp_path: Path) -> None:
    """All sent messages are received, and three ways to compute a total agree."""
    path = halo_profile((3, 2, 2), regions=2, ranks_a_host=4).write(tmp_path / "run.halo")
    with haloscope.open(path) as profile:
        regions, ranks = profile.table("regions"), profile.table("ranks")
        partners = profile.table("partners")
        exclusive = profile.table("regions", exclusive=True)
    assert regions["bytes_sent_total"].equals(regions["bytes_recv_total"].alias("bytes_sent_total"))
    for table, column in ((ranks, "bytes_sent"), (partners, "bytes_sent")):
        sums = dict(table.group_by("region").agg(pl.col(column).sum()).rows())
        for row in regions.filter(pl.col("bytes_sent_total") > 0).to_dicts():
            name = row["path"] if row["path"] in sums else row["region"]
            assert sums[name] == row["bytes_sent_total"]
    whole = by(regions, "path")["<program>"]
    assert exclusive["bytes_sent_total"].sum() == whole["bytes_sent_total"]
    away = partners.filter(~pl.col("same_node")).group_by("region").agg(pl.col("sends").sum())
    assert dict(away.rows())["<program>"] == whole["sends_offnode_total"] > 0


def test_importing_haloscope_does_not_import_polars() -> None:
    code = "import sys, haloscope, haloscope.explain; print({'polars', 'plotly'} & set(sys.modules))"
    assert run_program([sys.executable, "-c", code]).stdout == "set()\n"


def test_every_exported_name_exists() -> None:
    for name in dir(explain):
        assert getattr(explain, name) is not None
