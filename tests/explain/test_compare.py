"""Two sides of runs: changes of counts are exact, changes of times are significant, and parts add up."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import haloscope
from haloscope import OutputError, ProfileError, UsageError
from haloscope.explain.comparing import COMPARED, Comparison
from haloscope.markov.statistics import faster_by_medians, faster_by_runs, means_apart
from support.command import Command
from support.profiles import draft, path_rows, process_rows
from support.repeated_runs import repeated_run

Runs = Callable[..., list[Path]]


TIMES = st.lists(st.floats(0.1, 10), min_size=2, max_size=12)


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """`runs("a", 5, slower=1.1)` writes 5 repetitions, whose names begin with "a"."""

    def write(name: str, number: int, seed: int = 0, **how: Any) -> list[Path]:
        random = np.random.default_rng([seed, sum(map(ord, name))])
        return [
            repeated_run(random, start=1000.0 * index, **how).write(tmp_path / f"{name}-{index}.halo")
            for index in range(number)
        ]

    return write


def lines(compared: Comparison, begin: str) -> list[str]:
    return [line for line in compared.describe() if line.startswith(begin)]


def test_runs_that_are_alike(runs: Runs) -> None:
    compared = haloscope.compare(runs("a", 5), runs("b", 5))
    assert lines(compared, "counts: ") == ["counts: all equal"]
    assert not compared.has_changed
    told = lines(compared, "time: ")[0]
    assert "not significantly" in told
    (claim,) = compared.times.filter(region="<program>", what="time").to_dicts()
    # Longer times are positive, as on the page.
    longer = [-claim[key] for key in ("faster", "faster_high", "faster_low")]
    assert told.endswith("takes {:+.1f} % [{:+.1f} %, {:+.1f} %]".format(*longer))
    assert lines(compared, "where: ") == []


@pytest.mark.parametrize(
    ("how", "counts"),
    [
        ({}, "All counts are equal"),
        ({"messages": 500}, "Messages grew by 25 %"),
        ({"messages": 300}, "Messages fell by 25 %"),
        ({"size": 9216}, "Bytes sent grew by 100 %"),
        ({"partner": 0}, "Counts changed in 1 region"),
    ],
)
def test_one_sentence_comes_first(runs: Runs, how: dict[str, int], counts: str) -> None:
    told = haloscope.compare(runs("a", 4, spread=0.1), runs("b", 4, spread=0.1, **how)).describe()[0]
    begin, _, end = told.partition("; ")
    assert begin == counts
    assert re.fullmatch(r"no time difference can be shown with 4 runs per side: ±\d+\.\d %", end), told


@pytest.mark.parametrize(
    ("numbers", "slower", "end"),
    [
        ((1, 1), 1.5, "one run per side cannot show a difference of time"),
        ((6, 6), 1.5, r"B takes \d+\.\d % longer \[\d+\.\d, \d+\.\d\]"),
        ((6, 6), 0.5, r"B takes \d+\.\d % less time \[\d+\.\d, \d+\.\d\]"),
        ((3, 4), 1.0, r"no time difference can be shown with 3 and 4 runs per side: ±\d+\.\d %"),
    ],
)
def test_the_first_sentence_reports_the_time(
    runs: Runs, numbers: tuple[int, int], slower: float, end: str
) -> None:
    compared = haloscope.compare(runs("a", numbers[0]), runs("b", numbers[1], slower=slower))
    assert re.fullmatch(f"All counts are equal; {end}", compared.headline), compared.headline


def test_counts_that_vary_are_no_change_in_the_first_sentence(runs: Runs) -> None:
    compared = haloscope.compare([*runs("a", 2), *runs("more", 1, messages=401)], runs("b", 3))
    assert compared.headline.startswith("Counts vary between runs of one side; ")


@pytest.mark.parametrize(("cpus", "is_told"), [("0-1", False), ("0", True), ("", False)])
def test_ranks_that_shared_a_cpu_are_a_note(tmp_path: Path, cpus: str, is_told: bool) -> None:
    sides = []
    for name in "ab":
        made = repeated_run(np.random.default_rng(0))
        made.tables["processes"] = {**made.tables["processes"], "cpus": [cpus] * 2}
        sides.append(made.write(tmp_path / f"{name}.halo"))
    remarks = haloscope.compare(*sides).remarks
    assert ("2 ranks shared 1 CPU: counts are exact, times are not" in remarks) == is_told


def test_equal_times_have_no_sign_of_a_gain(runs: Runs) -> None:
    compared = haloscope.compare(runs("a", 2, spread=0), runs("b", 2, spread=0))
    assert lines(compared, "time: ")[0].endswith("takes +0.0 % [+0.0 %, +0.0 %]")


def test_intervals_of_few_runs_are_no_long_numbers(runs: Runs) -> None:
    """Intervals of two runs that differ much are wide."""
    compared = haloscope.compare(runs("a", 2, spread=0.8), runs("b", 2, spread=0.8))
    told = lines(compared, "time: ")[0]
    assert re.search(r": takes [+-]\d+\.\d % \[-\d+\.\d %, over \+1000 %\]$", told), told


def test_more_messages_of_another_size(runs: Runs) -> None:
    compared = haloscope.compare(runs("a", 2), runs("b", 2, messages=500, size=9216))
    changed = {
        (row["table"], row["quantity"]): (row["first_count"], row["second_count"])
        for row in compared.structure.to_dicts()
        if row["table"] != "spread"
    }
    assert changed == {
        ("regions", "sends_total"): (400, 500),
        ("regions", "recvs_total"): (400, 500),
        ("regions", "bytes_sent_total"): (400 * 4608, 500 * 9216),
        ("regions", "bytes_recv_total"): (400 * 4608, 500 * 9216),
        ("regions", "largest_message"): (4608, 9216),
        ("calls", "MPI_Isend"): (400, 500),
        ("calls", "MPI_Waitall"): (400, 500),
        ("sizes", "p2p 4608 B"): (400, 0),
        ("sizes", "p2p 9216 B"): (0, 500),
    }
    assert compared.structure["region"].unique().to_list() == ["solve/halo"]
    assert not compared.structure["varies"].any()
    assert lines(compared, "counts: ")[0].startswith("counts: solve/halo: messages sent 400 → 500 (+25 %)")


def test_buffers_that_have_moved_to_a_gpu_are_a_change(runs: Runs) -> None:
    compared = haloscope.compare(runs("a", 2, on_device=0), runs("b", 2, on_device=300))
    changed = compared.structure.select("table", "quantity", "first_count", "second_count").rows()
    assert changed == [
        ("memory", "MPI_Isend of device memory", 0, 300),
        ("memory", "p2p of 4608 B of device memory", 0, 300),
    ]
    assert "MPI_Isend of device memory 0 → 300" in lines(compared, "counts: ")[0]
    # Older files do not record the kind of memory, so no change is reported.
    older = haloscope.compare(runs("c", 2), runs("d", 2, on_device=300))
    assert lines(older, "counts: ") == ["counts: all equal"]
    assert any("does not have it: memory" in line for line in older.describe())
    assert not any("memory" in line for line in haloscope.compare(runs("e", 2), runs("f", 2)).describe())


def test_other_partners_of_equal_sums(runs: Runs) -> None:
    compared = haloscope.compare(runs("a", 2), runs("b", 2, partner=0))
    assert compared.structure["table"].unique().to_list() == ["spread"]
    assert "1 gone, 1 new" in lines(compared, "counts: ")[0]
    assert compared.has_changed


def test_counts_that_vary_between_runs_are_no_change(runs: Runs) -> None:
    first = [*runs("a", 2), *runs("more", 1, messages=401)]
    compared = haloscope.compare(first, runs("b", 3))
    assert compared.structure["varies"].all()
    assert not compared.has_changed
    (told,) = lines(compared, "counts: ")
    assert "between runs of one side" in told
    assert "messages" not in told or "sends_total" in told


def found(path: Path, before: int, chance: float) -> Path:
    """Write a run whose iterations were found when `before` of 100 had passed."""
    sent = {1: 100 - before, 0: before}
    return draft(
        {"program": "app", "version": "0.1.0"},
        paths=path_rows("phase 1", "phase 1/iteration"),
        processes=process_rows("alpha", "alpha"),
        phases=[{"rank": rank, "phase": 1, "iterations": 100, "found_after": before} for rank in (0, 1)],
        ranks=[
            {"path": p, "rank": 0, "instances": 1, "time": (3 - p) * chance, "sends": sent.get(p, 0)}
            for p in range(3)
        ],
        partners=[{"path": p, "rank": 0, "partner": 1, "sends": n} for p, n in sent.items()],
        calls=[{"path": p, "call": "MPI_Send", "calls": n} for p, n in sent.items()],
    ).write(path)


def test_the_iteration_at_which_a_phase_is_found_does_not_matter(tmp_path: Path) -> None:
    sides = [
        [found(tmp_path / f"{side}{i}.halo", 10 * side + i, 1 + i / 100) for i in (1, 2)] for side in (1, 2)
    ]
    compared = haloscope.compare(*sides)
    assert lines(compared, "counts: ") == ["counts: all equal"]
    assert compared.parts["region"].unique().to_list() == ["<program>"]
    assert compared.parts["first_time"].sum() == pytest.approx(3 * 1.015 / 2)  # rank 1 entered no region


def test_a_region_that_one_side_has(tmp_path: Path, runs: Runs) -> None:
    other = draft(
        {"program": "app", "version": "0.1.0"},
        paths=path_rows("solve"),
        processes=process_rows("alpha", "alpha"),
        ranks=[
            {"path": path, "rank": rank, "instances": 1, "time": 1.0} for path in (0, 1) for rank in (0, 1)
        ],
    ).write(tmp_path / "other.halo")
    told = lines(haloscope.compare(runs("a", 1), other), "counts: ")
    assert told[0] == "counts: only A has solve/halo, output"


def test_a_slowdown_of_ten_percent_is_reported_with_its_region(runs: Runs) -> None:
    compared = haloscope.compare(runs("a", 8), runs("b", 8, slower=1.1))
    whole = compared.claims[0]
    assert whole.sure
    low, high = whole.faster[1], whole.faster[2]
    assert low is not None
    assert high is not None
    assert low < -10 < high < 0
    assert "slower than A" in lines(compared, "time: ")[0]
    assert "computing in solve" in lines(compared, "where: ")[0]


def test_parts_add_up_to_the_program(runs: Runs) -> None:
    sides = [runs("a", 3), runs("b", 4, slower=1.3, messages=7)]
    compared = haloscope.compare(*sides)
    for side, column in zip(sides, ("first_time", "second_time"), strict=True):
        programs = [haloscope.open(path).table("regions")["time_mean"][0] for path in side]
        assert compared.parts[column].sum() == pytest.approx(np.mean(programs))
        whole = compared.times.filter(pl.col("what") == "time")
        assert whole[column].to_list() == pytest.approx([np.median(programs)])
    sums = compared.parts.select(pl.col("first_time", "second_time", "change").sum()).row(0)
    assert sums[2] == pytest.approx(sums[1] - sums[0])
    known = compared.parts.filter(pl.col("change_low").is_not_null())
    assert (known["change_low"] <= known["change"] + 1e-12).all()
    assert (known["change"] <= known["change_high"] + 1e-12).all()


def test_one_run_per_side_states_what_it_cannot_show(runs: Runs) -> None:
    compared = haloscope.compare(runs("a", 1), runs("b", 1, slower=1.5))
    assert not any(claim.sure for claim in compared.claims)
    assert "significance is unknown" in compared.claims[0].text
    assert any("noise is unknown" in line for line in compared.remarks)


def test_the_frame_has_all_tables(runs: Runs) -> None:
    compared = haloscope.compare(runs("a", 2), runs("b", 2, messages=3))
    assert dict(compared.frame.schema) == COMPARED
    sizes = compared.frame["kind"].value_counts()
    tables = {"structure": compared.structure, "time": compared.times, "part": compared.parts}
    assert dict(sizes.iter_rows()) == {kind: len(table) for kind, table in tables.items()}


@given(TIMES, TIMES)
@settings(max_examples=60)
def test_a_difference_is_that_of_the_medians(own: list[float], peer: list[float]) -> None:
    row = faster_by_medians(own, peer)
    middle = np.exp(np.median(np.log(own)) - np.median(np.log(peer)))
    assert row["faster"] == pytest.approx(100 * (1 - middle))
    assert row["faster_low"] <= row["faster"] <= row["faster_high"]
    assert faster_by_medians(own, peer[:1])["faster_low"] is None
    assert faster_by_medians([0.0], peer)["faster"] is None


@given(TIMES, TIMES)
@settings(max_examples=60)
def test_sides_change_places(own: list[float], peer: list[float]) -> None:
    one, other = means_apart(own, peer), means_apart(peer, own)
    np.testing.assert_allclose(one, (-other[0], -other[2], -other[1]), atol=1e-9)
    there, back = faster_by_runs(own, peer), faster_by_runs(peer, own)
    assert (1 - there["faster"] / 100) * (1 - back["faster"] / 100) == pytest.approx(1)


@pytest.mark.parametrize("faster", [faster_by_runs, faster_by_medians])
def test_intervals_of_runs_hold_their_level(faster: Callable[..., dict[str, Any]]) -> None:
    random = np.random.default_rng(5)
    for number in (2, 3, 5, 12):
        missed = 0
        for _ in range(100):
            own, peer = np.exp(random.normal(0, 0.05, (2, number)))
            row = faster(own, peer)
            missed += not row["faster_low"] <= 0 <= row["faster_high"]
        assert missed <= 11, number  # 5 are expected, plus three standard deviations


def broken(path: Path) -> Path:
    path.write_bytes(b"\x89HALO no")
    return path


def test_files_that_cannot_be_read_are_left_out_by_name(tmp_path: Path, runs: Runs) -> None:
    lacking = tmp_path / "one.halo"
    repeated_run(np.random.default_rng(0), partial=True, missing_ranks=[1]).write(lacking)
    first, second = runs("a", 2), runs("b", 2)
    compared = haloscope.compare([*first, broken(tmp_path / "bad.halo")], [lacking, *second])
    left_out = [line for line in compared.remarks if line.startswith("left out: ")]
    assert len(left_out) == 2
    assert "bad.halo" in left_out[0]
    assert "one.halo: the run is incomplete: rank 1" in left_out[1]
    assert [len(side.runs) for side in (compared.first, compared.second)] == [2, 2]
    with pytest.raises(ProfileError, match=r"bad\.halo"):
        haloscope.compare(tmp_path / "bad.halo", first)


def test_what_cannot_be_compared(tmp_path: Path, runs: Runs) -> None:
    first = runs("a", 2)
    other = runs("other", 1, program="sweep")
    with pytest.raises(UsageError, match=r"is of sweep, but .* of app"):
        haloscope.compare([*first, *other], runs("b", 2))
    with pytest.raises(UsageError, match="has 4 ranks"):
        haloscope.compare(first, runs("four", 2, ranks=4))
    with pytest.raises(UsageError, match="compare files of the same tool"):
        haloscope.compare(first, runs("foreign", 1, source="mpiP 3.5 report"))
    with pytest.raises(UsageError, match="is given twice"):
        haloscope.compare(first, [first[0]])
    with pytest.raises(UsageError, match="one side has no files"):
        haloscope.compare(first, [])
    with pytest.raises(UsageError, match="recorded with a different 'only'"):
        haloscope.compare([*first, *runs("part", 1, only="halo")], runs("c", 1))
    with pytest.raises(OutputError, match=r"no/page\.html"):
        haloscope.compare(first, runs("d", 2), output=tmp_path / "no" / "page.html")


def test_other_programs_and_libraries_are_reported(runs: Runs) -> None:
    compared = haloscope.compare(runs("a", 2), runs("b", 2, program="new", mpi_library="MPICH 4.0.2"))
    assert any("A is app, B is new" in line for line in compared.remarks)
    assert "mpi_library: Open MPI v4.1.4 → MPICH 4.0.2" in compared.settings


def test_sides_that_did_not_alternate_are_reported(runs: Runs) -> None:
    late = runs("b", 6)[3:]
    compared = haloscope.compare(runs("a", 3), late)
    assert any("the sides alternately" in line for line in compared.remarks)
    assert not any(
        "the sides alternately" in line for line in haloscope.compare(runs("c", 3), runs("d", 3)).remarks
    )


def test_no_communication_and_one_rank(tmp_path: Path) -> None:
    paths = [
        draft(
            {"program": "alone", "ranks": 1, "version": "0.1.0"},
            paths=path_rows(),
            processes=process_rows("alpha"),
            ranks=[{"path": 0, "rank": 0, "instances": 1, "time": 1.0 + index / 10}],
        ).write(tmp_path / f"{index}.halo")
        for index in range(4)
    ]
    compared = haloscope.compare(paths[:2], paths[2:])
    assert lines(compared, "counts: ") == ["counts: all equal"]
    assert compared.parts["part"].to_list() == ["compute"]


def test_the_command(tmp_path: Path, runs: Runs, command: Command) -> None:
    first, second = runs("a", 3), runs("b", 3, messages=1)
    words = ["compare", *first, "--", *second]
    done = command(*words, "-o", tmp_path / "p.html")
    assert "counts: solve/halo: messages sent 400 → 1" in done.stdout
    assert (tmp_path / "p.html").stat().st_size > 100_000
    rows = json.loads(command(*words, "--format", "json").stdout)
    assert list(rows[0]) == list(COMPARED)
    assert {type(row["first_count"]) for row in rows if row["kind"] == "structure"} <= {int, type(None)}
    assert any(row["first_count"] == 400 for row in rows)
    done = command(*words[:2], status=2)
    assert done.stderr.count("\n") == 1
