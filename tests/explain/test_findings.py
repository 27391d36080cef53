"""Rules of `findings`, on profiles that can be added up by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import t

import haloscope
from haloscope import ProfileError
from haloscope.explain import Profile
from haloscope.explain.findings import RULES, Finding, MachineMeasurements
from haloscope.profile.shown import SHOWN
from support.command import Command
from support.mpi import CHECKOUT
from support.profiles import Draft, draft, path_rows, process_rows

Read = Callable[[Draft], Profile]


def run(
    computing: list[dict[str, float]],
    waiting: list[float] | None = None,
    *,
    hosts: tuple[str, ...] = (),
    **tables: list[dict[str, Any]],
) -> Draft:
    """A run of 10 s: each rank's computation by region, and its waiting in an Allreduce in `reduce`."""
    names = list(dict.fromkeys(name for regions in computing for name in [*regions, "reduce"]))
    rows = []
    for rank, regions in enumerate(computing):
        wait = waiting[rank] if waiting else 0.0
        # The rest of the time is in calls that do not wait.
        rest = 10.0 - sum(regions.values()) - wait
        rows.append({"path": 0, "rank": rank, "instances": 1, "time": 10.0, "io_time": rest})
        rows += [
            {"path": 1 + names.index(name), "rank": rank, "instances": 10, "time": time}
            for name, time in regions.items()
        ]
        path = 1 + names.index("reduce")
        rows.append({"path": path, "rank": rank, "time": wait, "coll_time": wait, "wait_time": wait})
    return draft(
        {"ranks": len(computing)},
        paths=path_rows(*names),
        processes=process_rows(*(hosts or ("alpha",) * len(computing))),
        ranks=rows,
        **tables,
    )


def rules_of(found: list[Finding]) -> list[str]:
    return [finding.rule for finding in found]


def test_equal_work_is_no_finding(read: Read) -> None:
    even = run([{"assemble": 6.0, "solve": 3.0}] * 4, [1.0] * 4)
    assert haloscope.findings(read(even)) == []


def test_unequal_work_is_found_where_it_is(read: Read) -> None:
    """Rank 2 assembles for 6 s, the others for 2 s and wait for 4 s. The mean is 3 s."""
    uneven = run(
        [{"assemble": 6.0 if rank == 2 else 2.0, "solve": 3.0} for rank in range(4)], [4.0, 4.0, 0.0, 4.0]
    )
    (finding,) = haloscope.findings(read(uneven))
    assert (finding.rule, finding.region, finding.ranks) == ("imbalance", "assemble", (2,))
    assert finding.gain == pytest.approx(3.0)
    assert finding.gain_low < 3.0
    assert finding.gain_high == pytest.approx(4.0)  # as short as on the other ranks
    assert finding.share == pytest.approx(0.3)
    assert finding.evidence[0].values["compute_time"] == pytest.approx(6.0)


def test_evidence_is_in_the_tables(read: Read) -> None:
    profile = read(run([{"assemble": 6.0, "solve": 2.0}, {"assemble": 2.0, "solve": 2.0}], [0.0, 4.0]))
    for finding in haloscope.findings(profile):
        for evidence in finding.evidence:
            rows = profile.table(evidence.table, exclusive=True)
            for column, value in evidence.rows.items():
                rows = rows.filter(pl.col(column).is_in(value if isinstance(value, list) else [value]))
            assert len(rows)
            assert rows["compute_time"][0] == pytest.approx(evidence.values["compute_time"])


def test_imbalance_without_waiting_is_no_finding(read: Read) -> None:
    """Rank 0 computes longer, but rank 1 does not wait: it spends the time in MPI calls that do not wait."""
    assert haloscope.findings(read(run([{"a": 6.0}, {"a": 2.0}]))) == []


def test_turns_count_if_ranks_wait_between(read: Read) -> None:
    """Both compute for the same time in total; each waits for 2 s for the other."""
    computing = [{"first": 4.0, "second": 2.0}, {"first": 2.0, "second": 4.0}]
    found = haloscope.findings(read(run(computing, [2.0, 2.0])))
    assert rules_of(found) == ["imbalance", "imbalance"]
    assert sum(finding.gain for finding in found) == pytest.approx(2.0)
    assert haloscope.findings(read(run(computing, [0.1, 0.1]))) == []


def test_a_slow_host_is_no_imbalance(read: Read) -> None:
    slow = [{"a": 2.0, "b": 1.0}] * 2 + [{"a": 4.0, "b": 2.0}] * 2
    hosts = ("alpha", "alpha", "beta", "beta")
    (finding,) = haloscope.findings(read(run(slow, [3.0, 3.0, 0.0, 0.0], hosts=hosts)))
    assert (finding.rule, finding.ranks) == ("slow_place", (2, 3))
    assert "host beta" in finding.sentence
    assert "2.00 times" in finding.sentence
    assert finding.gain == pytest.approx(3.0)  # at the speed of the others it computes for 3 s less
    # Evenly distributed work, less the usual difference of equal work: 15 % of the mean, for one of two.
    assert finding.gain_low == pytest.approx(1.5 - 0.15 * 4.5 / 2**0.5, abs=0.01)


@pytest.mark.parametrize(("more", "others", "is_told"), [(0.1, 1, False), (0.25, 1, False), (0.6, 1, True)])
def test_small_differences_are_no_finding(read: Read, more: float, others: int, is_told: bool) -> None:
    """One of two ranks is 5, 11 and 23 % above the mean."""
    computing = [{"assemble": 5.0 * (1 + more)}] + [{"assemble": 5.0}] * others
    found = haloscope.findings(read(run(computing, [0.0] + [5.0 * more] * others)))
    assert rules_of(found) == ["imbalance"] * is_told


@pytest.mark.parametrize(("more", "spread", "is_told"), [(0.15, 0.0, True), (0.15, 0.06, False)])
def test_the_usual_difference_is_estimated_from_many_ranks(
    read: Read, more: float, spread: float, is_told: bool
) -> None:
    """One of 16 ranks computes 15 % longer; the others are equal, or differ by 6 %."""
    times = [5.0 * (1 + spread * (-1) ** rank) for rank in range(15)] + [5.0 * (1 + more)]
    waits = [max(times) - time for time in times]
    found = haloscope.findings(read(run([{"assemble": time} for time in times], waits)))
    assert rules_of(found) == ["imbalance"] * is_told


@pytest.mark.parametrize("is_steady", [True, False])
def test_a_rank_that_is_slow_for_a_while_only(read: Read, is_steady: bool) -> None:
    """A rank computes for 3 s more: 0.3 s in each of ten slices, or 3 s in one slice."""
    more = [0.3] * 10 if is_steady else [0.0] * 4 + [3.0] + [0.0] * 5
    slices = []
    for rank in (0, 1):
        for number, excess in enumerate(more):
            waited = 0.0 if rank == 0 else excess
            slices.append(
                {
                    "rank": rank,
                    "slice": number,
                    "start": float(number),
                    "duration": 0.5 + excess,
                    "coll_time": waited,
                    "wait_time": waited,
                }
            )
    uneven = run([{"assemble": 8.0}, {"assemble": 5.0}], [0.0, 3.0], slices=slices)
    assert rules_of(haloscope.findings(read(uneven))) == ["imbalance"] * is_steady


def _absent(computing: list[float], off_cpu: list[float], for_core: list[float]) -> Draft:
    """A run in one slice whose ranks had no CPU for `off_cpu` s, `for_core` s of these for want of a core."""
    waiting = [max(computing) - mine for mine in computing]
    slices = [
        {
            "rank": rank,
            "slice": 0,
            "duration": 10.0,
            # The rest of the time is in calls that do not wait, as in `run`.
            "io_time": 10 - computing[rank] - waiting[rank],
            "coll_time": waiting[rank],
        }
        for rank in range(len(computing))
    ]
    made = run([{"assemble": mine} for mine in computing], waiting, slices=slices)
    return _without_a_cpu(
        made,
        *(
            [10 - a + b if b else 0.0 for a, b in zip(computing, lost, strict=True)]
            for lost in (off_cpu, for_core)
        ),
    )


def _without_a_cpu(made: Draft, off_cpu: list[float], for_core: list[float]) -> Draft:
    made.tables["slices"] = {**made.tables["slices"], "off_cpu_time": off_cpu, "core_wait_time": for_core}
    return made


@pytest.mark.parametrize(
    ("computing", "off_cpu", "for_core", "rules"),
    [
        ([8.0, 5.0], [3.0, 0.0], [2.5, 0.0], ["no_core"]),  # the work is equal
        ([8.0, 5.0], [3.0, 0.0], [0.5, 0.0], ["asleep"]),
        ([8.0, 5.0], [8.0, 0.0], [0.0, 0.0], ["asleep"]),  # nobody waits for rank 1, which has more work
        ([8.0, 5.0, 5.0, 8.0], [3.0, 0.0, 0.0, 3.0], [3.0, 0.0, 0.0, 0.0], ["no_core"]),
        ([8.0, 5.0], [0.0, 3.0], [0.0, 3.0], ["imbalance"]),  # rank 1 would have waited for longer
        ([8.0, 3.0], [2.0, 0.0], [2.0, 0.0], ["imbalance", "no_core"]),  # both
        ([8.0, 8.0], [3.0, 3.0], [3.0, 3.0], []),  # nobody waits
        ([8.0, 7.0], [4.0, 3.0], [4.0, 3.0], ["no_core"]),
        ([8.0, 5.0], [0.0, 0.0], [0.0, 0.0], ["imbalance"]),
    ],
)
def test_ranks_without_a_cpu_have_no_more_work(
    read: Read, computing: list[float], off_cpu: list[float], for_core: list[float], rules: list[str]
) -> None:
    found = haloscope.findings(read(_absent(computing, off_cpu, for_core)))
    assert sorted(rules_of(found)) == rules
    assert all(finding.ranks[0] == 0 for finding in found)
    longest = max(computing)
    waits = sum(longest - mine for mine in computing) / (len(computing) - 1)
    assert sum(finding.gain for finding in found) <= waits * 1.01


@pytest.mark.parametrize(("lost", "rules"), [(6.0, ["no_core"]), (3.0, ["imbalance"])])
def test_other_calls_without_a_core_are_not_outside_mpi(read: Read, lost: float, rules: list[str]) -> None:
    """Rank 0 computes for 7 s, and creates communicators for 3 s, for which its slices have no time."""
    made = run([{"assemble": 7.0}, {"assemble": 4.0}], [0.0, 3.0], slices=[{"rank": 0, "duration": 10.0}])
    rows = made.tables["ranks"]
    made.tables["ranks"] = {**rows, "other_time": rows["io_time"], "io_time": rows["other_time"]}
    found = haloscope.findings(read(_without_a_cpu(made, [lost], [lost])))
    assert rules_of(found) == rules


@pytest.mark.parametrize(("cpu_time", "region"), [(5.0, "assemble"), (7.0, None), (float("nan"), None)])
def test_the_region_without_a_cpu_is_named(read: Read, cpu_time: float, region: str | None) -> None:
    """Rank 0 has no CPU for 3 of 8 s. It is in a region if the region lasts longer than its CPU time."""
    made = _absent([8.0, 5.0], [3.0, 0.0], [0.0, 0.0])
    ranks = made.tables["ranks"]
    made.tables["ranks"] = {**ranks, "cpu_time": [cpu_time if time == 8 else time for time in ranks["time"]]}
    (finding,) = haloscope.findings(read(made))
    assert (finding.rule, finding.region) == ("asleep", region)
    assert ("most of it in region assemble" in finding.sentence) == (region is not None)


@pytest.mark.parametrize(("time", "is_told"), [(0.04, False), (4.0, True)])
def test_one_usual_interruption_is_no_finding(read: Read, time: float, is_told: bool) -> None:
    """Rank 0 had no core for half of the run, in which rank 1 waited for it."""
    rows = [
        {"path": 0, "rank": 0, "instances": 1, "time": time},
        {"path": 0, "rank": 1, "instances": 1, "time": time, "coll_time": time / 2, "wait_time": time / 2},
    ]
    slices = [{"rank": rank, "duration": time, "coll_time": rank * time / 2} for rank in range(2)]
    made = draft({"ranks": 2}, paths=path_rows(), processes=process_rows("a", "a"), ranks=rows, slices=slices)
    found = haloscope.findings(read(_without_a_cpu(made, [time / 2, 0.0], [time / 2, 0.0])))
    assert rules_of(found) == ["no_core"] * is_told


def test_time_without_a_cpu_in_mpi_is_no_absence(read: Read) -> None:
    """A rank that sleeps while it waits in MPI is awaited by nobody."""
    slices = [
        {"rank": 0, "slice": 0, "duration": 10.0, "p2p_time": 2.0},
        {"rank": 1, "slice": 0, "duration": 10.0, "p2p_time": 2.0, "coll_time": 3.0},
    ]
    made = run([{"assemble": 8.0}, {"assemble": 5.0}], [0.0, 3.0], slices=slices)
    (finding,) = haloscope.findings(read(_without_a_cpu(made, [0.0, 5.0], [0.0, 0.0])))
    assert (finding.rule, finding.ranks) == ("imbalance", (0,))


def _repeats(tmp_path: Path, extras: Sequence[float]) -> list[Path]:
    """Write a run per number of `extras`: rank 1 of two computes longer than 5 s by this share."""
    written = []
    for number, extra in enumerate(extras):
        times = [5.0, 5.0 * (1 + extra)]
        waits = [max(times) - time for time in times]
        one = run([{"assemble": time} for time in times], waits)
        written.append(one.write(tmp_path / f"again-{number}.halo"))
    return written


@pytest.mark.parametrize(
    ("extras", "is_told"),
    [
        ([0.2], False),
        ([0.2, 0.2], False),
        ([0.2, 0.19, 0.2, 0.21, 0.2], True),
        # A different process is slow in each run.
        ([0.2, -0.1, 0.15, -0.2, 0.1], False),
        ([0.6, -0.1, 0.15, -0.2, 0.1], False),
        ([0.6], True),
    ],
)
def test_repetitions_distinguish_more_work_from_a_slow_process(
    tmp_path: Path, extras: list[float], is_told: bool
) -> None:
    """One of two ranks seems to have 20 % more work in the first run."""
    first, *again = _repeats(tmp_path, extras)
    found = haloscope.findings(first, repeats=again)
    assert rules_of(found) == ["imbalance"] * is_told
    for finding in found:
        assert finding.ranks == (1,)
        assert ("4 repeated runs agree" in finding.sentence) == (len(again) == 4)


@pytest.mark.parametrize("again", [2, 3, 4, 5, 8, 9])
def test_the_least_gain_is_the_low_end_of_students_interval(tmp_path: Path, again: int) -> None:
    """Rank 1 of two computes for about 3 s more than rank 0, so for 1.5 s more than the mean."""
    quantile = float(t.ppf(0.975, again - 1))
    noise = np.random.default_rng(again).normal(size=again)
    noise *= 0.2 * again**0.5 / quantile / noise.std(ddof=1)
    first, *others = _repeats(tmp_path, [0.6, *(0.6 + noise - noise.mean()).tolist()])
    (finding,) = haloscope.findings(first, repeats=others)
    assert finding.gain == pytest.approx(1.5)
    assert finding.gain_low == pytest.approx(1.5 - 2.5 * 0.2)


def test_repetitions_of_a_slow_host(tmp_path: Path) -> None:
    """A host is 10 % slower in all regions: a single run cannot show that, but four repetitions do."""
    paths = []
    for number in range(5):
        slow = 1.1 + 0.002 * (-1) ** number
        computing = [{"a": 4.0, "b": 2.0}] * 2 + [{"a": 4.0 * slow, "b": 2.0 * slow}] * 2
        hosts = ("alpha", "alpha", "beta", "beta")
        waits = [6 * (slow - 1)] * 2 + [0.0] * 2
        paths.append(run(computing, waits, hosts=hosts).write(tmp_path / f"{number}.halo"))
    assert haloscope.findings(paths[0]) == []
    (finding,) = haloscope.findings(paths[0], repeats=paths[1:])
    assert (finding.rule, finding.ranks) == ("slow_place", (2, 3))


def test_repetitions_are_runs_of_one_program(command: Command, tmp_path: Path) -> None:
    first, *_ = _repeats(tmp_path, [0.2])
    run([{"assemble": 5.0}] * 3).write(tmp_path / "three.halo")
    other = run([{"assemble": 5.0}] * 2)
    other.info["program"] = "other"
    other.write(tmp_path / "other.halo")
    (tmp_path / "text.halo").write_text("no profile")
    for name, words in (
        ("three.halo", "has different ranks than"),
        ("other.halo", "has a different program than"),
        ("text.halo", "is not a Haloscope profile"),
    ):
        done = command("findings", first, first, tmp_path / name, status=None)
        assert done.returncode in (1, 2)
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_sweep_knows_a_faster_algorithm(read: Read) -> None:
    calls = {"path": 2, "operation": "Bcast", "comm_size": 2, "bytes": 4096, "calls": 2000}
    slow = run([{"a": 8.0}] * 2, [2.0] * 2, collectives=[{**calls, "time_total": 4.0}])
    known = {"operation": ["bcast"], "comm_size": [2], "bytes": [4096], "algorithm": ["binomial"]}
    times = pl.DataFrame({**known, "time": [2e-3], "best_time": [0.5e-3]})
    (finding,) = haloscope.findings(read(slow), MachineMeasurements(collectives=times))
    assert finding.rule == "slow_algorithm"
    assert finding.gain == pytest.approx(1.5)
    # The run may use rules that already make it as fast.
    quick = run([{"a": 8.0}] * 2, [0.5] * 2, collectives=[{**calls, "time_total": 1.0}])
    assert haloscope.findings(read(quick), MachineMeasurements(collectives=times)) == []


@settings(max_examples=25)
@example(times=[(1.0, 1.0, 0.0, 0.0), (1.0, 5e-324, 0.0, 0.0)])
@given(
    times=st.lists(
        st.tuples(st.floats(0, 4), st.floats(0, 4), st.floats(0, 2), st.floats(0, 2)), min_size=1, max_size=6
    )
)
def test_gains_add_up_to_less_than_the_run(times: list[tuple[float, ...]], tmp_path_factory: Any) -> None:
    """No time is in two findings, and low, expected and high gain are in this order."""
    computing = [{"a": a, "b": b} for a, b, _, _ in times]
    written = run(computing, [wait for _, _, wait, _ in times])
    path = written.write(tmp_path_factory.mktemp("any") / "run.halo")
    found = haloscope.findings(path)
    assert sum(finding.gain for finding in found) <= 10.0 + 1e-9
    for finding in found:
        assert 0 <= finding.gain_low <= finding.gain <= finding.gain_high + 1e-12
        assert finding.share == pytest.approx(finding.gain / 10.0)


def test_estimates_of_frequent_calls_gain_no_more_than_there_was(read: Read) -> None:
    """Ranks compute for 2 and 6 s of 10. Their calls, of which some were timed, seem to take 14 and 10 s."""
    rows = [
        row
        for rank, (computing, seeming) in enumerate([(2.0, 14.0), (6.0, 10.0)])
        for row in (
            {"path": 0, "rank": rank, "instances": 1, "time": 10.0},
            {"path": 1, "rank": rank, "instances": 1, "time": computing},
            {"path": 2, "rank": rank, "instances": 1, "time": 10.0 - computing, "p2p_time": seeming}
            | {"wait_time": seeming, "sends": 1000, "recvs": 1000, "dest_ranks_exclusive": 1},
        )
    ]
    written = draft(
        {"ranks": 2},
        paths=path_rows("a", "halo"),
        processes=process_rows("alpha", "alpha"),
        ranks=rows,
        sizes=[{"path": 2, "kind": "p2p", "bytes": 8, "bytes_upper": 8, "messages": 2000}],
        calls=[{"path": 2, "call": "MPI_Waitall", "calls": 20, "time_total": 24.0}],
    )
    found = haloscope.findings(read(written))
    assert sorted(rules_of(found)) == ["imbalance", "small_messages"]
    assert 5.5 < sum(finding.gain for finding in found) <= 6.0  # a rank is in MPI for 6 s on average


@pytest.mark.parametrize(
    "written", [draft(paths=path_rows()), run([{"a": 10.0}])], ids=["nothing", "one rank"]
)
def test_a_run_without_findings(read: Read, written: Draft) -> None:
    assert haloscope.findings(read(written)) == []


def test_damage_is_one_line(command: Command, tmp_path: Path) -> None:
    broken = tmp_path / "broken.halo"
    broken.write_bytes(run([{"a": 6.0}, {"a": 2.0}], [0.0, 4.0]).bytes()[:-30])
    done = command("findings", broken, status=1)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1


def test_damaged_profile_raises(tmp_path: Path) -> None:
    broken = tmp_path / "broken.halo"
    broken.write_bytes(b"no profile")
    with pytest.raises(ProfileError):
        haloscope.findings(broken)


def test_the_command_prints_what_the_function_returns(command: Command, tmp_path: Path) -> None:
    path = run([{"evil \x1b[31m": 6.0}, {"evil \x1b[31m": 2.0}], [0.0, 4.0]).write(tmp_path / "run.halo")
    rows = json.loads(command("findings", path, "--format", "json").stdout)
    assert rows == json.loads(json.dumps([one.record() for one in haloscope.findings(path)]))
    assert len(rows) == 1
    text = command("findings", path).stdout
    assert "\x1b" not in text
    assert text.startswith("1. imbalance: rank 0 computes 50.0 % longer")


def test_a_file_of_another_kind_is_refused(command: Command, tmp_path: Path) -> None:
    path = run([{"a": 6.0}, {"a": 2.0}], [0.0, 4.0]).write(tmp_path / "run.halo")
    done = command("findings", path, "--machine", path, status=2)
    assert "is a profile; findings take a machine model or a sweep" in done.stderr


@pytest.mark.parametrize(("cpus", "is_told"), [("0-2", False), ("0-1", True)])
def test_ranks_that_share_a_cpu_are_reported(
    command: Command, tmp_path: Path, cpus: str, is_told: bool
) -> None:
    rows = [{"path": 0, "rank": rank, "instances": 1, "time": 10.0} for rank in range(3)]
    made = draft(
        {"ranks": 3}, paths=path_rows(), processes=process_rows("alpha", "alpha", "alpha"), ranks=rows
    )
    made.tables["processes"] = {**made.tables["processes"], "cpus": [cpus] * 3}
    profile = made.write(tmp_path / "a.halo")
    done = command("findings", profile)
    assert ("more ranks than CPUs" in done.stdout) is is_told


@pytest.mark.parametrize(("duration", "is_short"), [(0.05, True), (10.0, False)])
def test_a_run_that_is_too_short_to_judge(
    command: Command, tmp_path: Path, duration: float, is_short: bool
) -> None:
    made = run([{"a": 10.0}])
    made.info["duration"] = duration
    printed = command("findings", made.write(tmp_path / "a.halo")).stdout
    assert printed.startswith("no findings: ")
    assert ("the run is too short to judge: 50.0 ms of at least 1 s" in printed) is is_short


def test_findings_use_a_sweep_and_a_machine_model(command: Command, tmp_path: Path) -> None:
    """A sweep in which the chain algorithm halves the time of MPI_Bcast, and a machine model."""
    calls = {"path": 2, "operation": "Bcast", "comm_size": 2, "bytes": 5000, "calls": 2000, "time_total": 4.0}
    path = run([{"a": 8.0}] * 2, [2.0] * 2, collectives=[calls]).write(tmp_path / "run.halo")
    point = {"record": "point", "collective": "bcast", "segment": 0, "fanout": 0, "ranks": 2, "nodes": 1}
    point |= {"mapping": None, "bytes": 4096, "iterations": 400, "status": "ok"}
    samples = np.random.default_rng(0).integers(1_000_000, 1_001_000, (2, 400))
    own = {**point, "algorithm": "default", "number": None, "samples_ns": (2 * samples).tolist()}
    chain = {**point, "algorithm": "chain", "number": 2, "samples_ns": samples.tolist()}
    sweep = tmp_path / "sweep.jsonl"
    sweep.write_text("".join(json.dumps(one) + "\n" for one in ({"record": "environment"}, own, chain)))
    machine = CHECKOUT / "python" / "haloscope" / "predict" / "machines" / "orfeo.yaml"
    done = command(
        "findings", path, "--machine", sweep, "--machine", machine, "--format", "json", status=None
    )
    (finding,) = json.loads(done.stdout)
    assert finding["rule"] == "slow_algorithm"
    assert finding["gain"] == pytest.approx(1.0, rel=1e-3)  # 1000 calls per rank, each 1 ms faster
    assert "with the algorithm chain" in finding["sentence"]


def test_each_rule_is_explained() -> None:
    page = (CHECKOUT / "docs" / "reference" / "findings.md").read_text()
    for rule in RULES:
        assert {*rule.tables} <= {*SHOWN}
        for name in rule.names:
            assert f"### `{name}`\n" in page
