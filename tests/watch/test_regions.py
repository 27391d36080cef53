"""Regions: what belongs to which phase, instance by instance, whatever the program does wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.mpi import CHECKOUT, Mpi
from support.processes import run_program
from support.programs import Compiler
from support.watched import Traffic, Watched, program, watch

RANKS = 2


@pytest.fixture(scope="module")
def regions(mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    command = [program(compiler, mpi, "regions.c")]
    return watch(mpi, RANKS, command, tmp_path_factory.mktemp("regions"))


def to_self(*counts: int) -> Traffic:
    """On every rank a message to itself for each of these numbers of ints."""
    messages, total = RANKS * len(counts), 4 * RANKS * sum(counts)
    return Traffic(messages, total, messages, total, 1, 1)


def test_outer_region_keeps_what_comes_before_inside_and_after(regions: Watched) -> None:
    assert regions.traffic("outer") == to_self(1, 2, 4)
    assert regions.traffic("outer", exclusive=True) == to_self(1, 4)
    assert regions.traffic("outer/inner") == to_self(2)
    assert regions.traffic("outer/inner", exclusive=True) == to_self(2)


def test_recursion_makes_paths(regions: Watched) -> None:
    assert regions.traffic("level") == to_self(3, 2, 1)
    assert regions.traffic("level/level") == to_self(2, 1)
    assert regions.traffic("level/level/level") == to_self(1)
    assert regions.traffic("level", exclusive=True) == to_self(3)


def test_extremes_are_over_instances_and_ranks(regions: Watched) -> None:
    row = regions.region("varying")
    assert (row["ranks"], row["instances"]) == (2, 3)
    assert (row["sends_min"], row["sends_max"], row["sends_total"]) == (1, 8, 9)
    assert (row["sends_instance_min"], row["sends_instance_max"]) == (0, 5)
    assert (row["bytes_sent_instance_min"], row["bytes_sent_instance_max"]) == (0, 4000)
    assert (row["recvs_instance_min"], row["recvs_instance_max"]) == (0, 5)
    assert (row["dest_ranks_instance_min"], row["dest_ranks_instance_max"]) == (0, 1)
    assert (row["bytes_sent_min"], row["bytes_sent_max"]) == (320, 4000)


def test_extremes_tell_instances_with_nested_messages_from_others(regions: Watched) -> None:
    for region, own in (("only inside", 0), ("also inside", 1)):
        row, exclusive = regions.region(region), regions.region(region, exclusive=True)
        assert (row["sends_instance_min"], row["sends_instance_max"]) == (own, own + 1)
        assert exclusive["sends_instance_min"] == exclusive["sends_instance_max"] == own


def test_partners_are_distinct_in_an_instance_and_in_a_region(regions: Watched) -> None:
    whole, own = regions.region("partners"), regions.region("partners", exclusive=True)
    assert (whole["dest_ranks_max"], own["dest_ranks_max"]) == (2, 2)
    assert (whole["dest_ranks_instance_min"], whole["dest_ranks_instance_max"]) == (1, 2)
    assert (own["dest_ranks_instance_min"], own["dest_ranks_instance_max"]) == (1, 1)
    assert (whole["src_ranks_instance_min"], whole["src_ranks_instance_max"]) == (1, 2)
    assert (whole["colls_instance_min"], whole["colls_instance_max"]) == (0, 1)
    assert regions.region("<program>")["dest_ranks_instance_max"] == 2


def test_mistakes_are_reported_and_harm_nothing(regions: Watched) -> None:
    assert regions.traffic("open/left open") == to_self(1)
    assert regions.region("open/left open")["instances"] == 1
    assert regions.traffic("after") == to_self(1)
    # "left open" on each rank; "to the end" ends after MPI_Finalize
    assert regions.info["unmatched_begins"] == str(RANKS)
    assert regions.info["unmatched_ends"] == str(RANKS)


def test_names_are_any_strings(regions: Watched) -> None:
    names = {row["region"] for row in regions.rows("regions")}
    assert {"with/slash", "Übergröße \"quoted\", 'too'\\n", "", "x" * 3000} <= names
    assert {"step 0", "step 1", "step 2"} <= names
    for step in range(3):
        assert regions.traffic(f"step {step}").bytes_sent == RANKS * 4 * step
    twin = regions.region("twin")
    assert (twin["instances"], twin["sends_total"]) == (2, 2 * RANKS)


def test_switched_off_counts_nothing(regions: Watched) -> None:
    assert regions.traffic("controlled") == to_self(1, 100)
    assert all(row["region"] != "off" or not row["sends_total"] for row in regions.rows("regions"))
    assert regions.traffic("back on") == to_self(1)
    assert regions.traffic("half on") == to_self(1000)


def test_markers_outside_mpi_are_ignored(regions: Watched) -> None:
    assert all(row["region"] != "before MPI" for row in regions.rows("regions"))


def test_program_is_the_root(regions: Watched) -> None:
    (row, *rest) = regions.rows("regions")
    assert (row["region"], row["ranks"], row["instances"]) == ("<program>", RANKS, 1)
    assert row["sends_total"] >= max(other["sends_total"] for other in rest)
    assert row["time_max"] >= max(other["time_max"] for other in rest)


def test_scopes_end_with_exceptions(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    run = watch(mpi, 1, [program(compiler, mpi, "scopes.cpp", ["-std=c++17"])], tmp_path)
    assert run.traffic("outer/inner").bytes_sent == 4 + 8
    assert run.traffic("outer/inner/failing").bytes_sent == 8
    assert run.traffic("handler").bytes_sent == 12
    assert (run.info["unmatched_begins"], run.info["unmatched_ends"]) == ("0", "0")


def test_without_position_independence(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    fixed = program(compiler, any_mpi, "regions.c", ["-no-pie", "-fno-pie"])
    assert watch(any_mpi, 2, [fixed], tmp_path).traffic("outer/inner") == to_self(2)


STATIC = """
#include <haloscope/region.h>
#include <stdio.h>
int main(void) {
  HALOSCOPE_REGION_BEGIN("alone");
  HALOSCOPE_VALUE("one", 1.0);
  HALOSCOPE_REGION_END("alone");
  return puts("done") < 0;
}
"""


def test_static_programs_run_without_effect(any_mpi: Mpi, tmp_path: Path) -> None:
    static = tmp_path / "static"
    source = tmp_path / "static.c"
    source.write_text(STATIC)
    # The plain compiler: MPI's wrapper would link libmpi.
    command = ["cc", "-static", f"-I{CHECKOUT / 'include'}", str(source), "-o", str(static)]
    subprocess.run(command, check=True)
    run = watch(any_mpi, 2, [static], tmp_path)
    assert run.done.stdout == "done\ndone\n"
    assert not run.path.exists()


def test_series_has_each_instance(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    command = [program(compiler, any_mpi, "series.c")]
    run = watch(any_mpi, 2, command, tmp_path, options=["--series", "time/step", "--series", "inner"])
    rows = run.select("series", region="time/step")
    assert len(rows) == 2 * 600
    for row in rows:
        assert row["square"] == row["instance"] ** 2
        odd = row["rank"] + 0.5 if row["instance"] % 2 else None
        assert row['odd "é"'] == odd
        assert 0 <= row["wait"] <= row["duration"]
    starts = [row["start"] for row in rows if row["rank"] == 1]
    assert starts == sorted(starts)
    inner = run.select("series", region="inner")
    assert len(inner) == 2 * 600
    assert all(row["square"] is None for row in inner)
    assert not run.select("series", region="not asked for")


def test_without_series_nothing_is_kept(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    assert watch(any_mpi, 2, [program(compiler, any_mpi, "series.c")], tmp_path).rows("series") == []


def test_ten_thousand_names_are_bounded_in_memory(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    count = 10_000
    run = watch(
        any_mpi,
        1,
        [program(compiler, any_mpi, "many_names.c"), str(count)],
        tmp_path,
        env={"HALOSCOPE_MEMORY": "4"},
    )
    rows = run.rows("regions")
    assert 100 < len(rows) < count
    assert int(run.info["dropped"]) > 0
    assert int(run.done.stdout) < 6 * 1024
    # What finds no room for its region is still in the one around it.
    assert run.traffic("<program>") == Traffic(count + 1, 4 * count + 8, count + 1, 4 * count + 8, 1, 1)


def test_enough_memory_keeps_ten_thousand_names(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    run = watch(
        any_mpi,
        1,
        [program(compiler, any_mpi, "many_names.c"), "10000"],
        tmp_path,
        env={"HALOSCOPE_MEMORY": "256"},
    )
    assert len(run.rows("regions")) == 1 + 10_000 + 1
    assert run.info["dropped"] == "0"


def test_markers_need_no_library(any_mpi: Mpi, compiler: Compiler) -> None:
    executable = program(compiler, any_mpi, "regions.c")
    listed = run_program(["nm", "-D", "--undefined-only", executable]).stdout
    assert "haloscope" not in listed.lower()
