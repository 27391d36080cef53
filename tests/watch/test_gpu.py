"""Buffers of GPUs, with a runtime that has none: memory, copies, and addresses that are used again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import haloscope
from support.mpi import Mpi
from support.profiles import draft, path_rows, process_rows
from support.programs import Compiler
from support.watched import PROGRAMS, STRICT, Watched, program, watch

RANKS = 4
RUNTIMES = {"cuda": (), "hip": ("-DWITH_HIP",), "level_zero": ("-DWITH_LEVEL_ZERO",)}
LIBRARIES = {"cuda": "-DFAKE_CUDA", "hip": "-DFAKE_HIP=6", "level_zero": "-DFAKE_LEVEL_ZERO"}


def runtime_of(compiler: Compiler, mpi: Mpi, library: str) -> str:
    """The runtime: a file that the loader finds by its path."""
    return str(compiler(mpi, PROGRAMS / "fake_gpu.c", ["-shared", "-fPIC", library]))


def built(compiler: Compiler, mpi: Mpi, runtime: str, library: str = "") -> Path:
    flags = [*RUNTIMES[runtime], runtime_of(compiler, mpi, library or LIBRARIES[runtime])]
    return program(compiler, mpi, "device_buffers.c", flags)


@pytest.fixture(scope="module", params=RUNTIMES)
def run(
    request: pytest.FixtureRequest, any_mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory
) -> Watched:
    directory = tmp_path_factory.mktemp("gpu")
    return watch(any_mpi, RANKS, [built(compiler, any_mpi, request.param)], directory)


def sizes(run: Watched, region: str) -> dict[tuple[str | None, int], int]:
    """Messages by memory and size, without rows that have a time only."""
    rows = run.select("sizes", region=region)
    return {(row["memory"], row["bytes"]): row["messages"] for row in rows if row["messages"]}


def calls(run: Watched, region: str) -> dict[tuple[str, str | None], int]:
    rows = run.select("calls", region=region)
    return {(row["call"].removeprefix("MPI_"), row["memory"]): row["calls"] for row in rows}


def test_messages_that_are_alike_but_for_their_memory(run: Watched) -> None:
    assert sizes(run, "messages") == {
        ("host", 40): 6 * RANKS,
        ("device", 40): 4 * RANKS,
        ("managed", 40): 5 * RANKS,
        ("device", 12000): 2 * RANKS,
    }
    assert calls(run, "messages") == {
        ("Irecv", "host"): 6 * RANKS,
        ("Irecv", "device"): 6 * RANKS,
        ("Irecv", "managed"): 5 * RANKS,
        ("Isend", "host"): 6 * RANKS,
        ("Isend", "device"): 6 * RANKS,
        ("Isend", "managed"): 5 * RANKS,
        ("Waitall", None): 17 * RANKS,
    }


def test_blocking_calls_and_what_they_receive(run: Watched) -> None:
    assert sizes(run, "blocking") == {("device", 28): 3 * RANKS // 2, ("host", 36): RANKS}
    timed = {(row["memory"], row["bytes"]) for row in run.select("sizes", region="blocking")}
    assert timed == {("device", 28), ("managed", 28), ("host", 36), ("device", 36)}
    assert calls(run, "blocking") == {
        ("Send", "device"): 3 * RANKS // 2,
        ("Recv", "managed"): 3 * RANKS // 2,
        ("Sendrecv", "host"): RANKS,
    }


def test_persistent_requests_keep_their_memory(run: Watched) -> None:
    assert sizes(run, "persistent") == {("device", 44): 3 * RANKS}
    found = calls(run, "persistent")
    assert found["Send_init", "device"] == found["Recv_init", "host"] == RANKS
    assert found["Startall", None] == 3 * RANKS


def test_collectives_go_by_what_is_sent(run: Watched) -> None:
    assert sizes(run, "collectives") == {
        ("device", 20): RANKS,
        ("host", 4): RANKS,
        ("managed", 24): RANKS,
        ("device", 32 * RANKS): 1,
        ("host", 0): RANKS - 1,
        ("device", 12 * RANKS): RANKS,
        ("managed", 16): RANKS,
        (None, 0): RANKS,
    }
    found = calls(run, "collectives")
    assert found["Allreduce", "device"] == found["Allreduce", "host"] == RANKS
    assert found["Scatter", "device"] == 1
    assert found["Scatter", "host"] == RANKS - 1
    assert found["Barrier", None] == RANKS


def test_derived_types_say_where_their_bytes_are(run: Watched) -> None:
    assert sizes(run, "derived") == {("device", 80): 2 * RANKS}


def test_an_address_that_is_used_again_is_asked_for_again(run: Watched) -> None:
    assert sizes(run, "again") == {
        ("device", 52): 6 * RANKS,
        ("managed", 52): 9 * RANKS,
        ("host", 52): 3 * RANKS,
    }


def test_more_allocations_than_are_remembered(run: Watched) -> None:
    assert sizes(run, "many") == {("device", 8): 24 * RANKS, ("managed", 8): 24 * RANKS}


def test_a_buffer_that_is_known_costs_no_whole_question(run: Watched, request: pytest.FixtureRequest) -> None:
    word, asked, checked = run.done.stdout.split()
    assert word == "asked"
    if request.node.callspec.params["run"] == "level_zero":  # it has no smaller question
        assert (int(asked), int(checked)) == (1000, 0)
    else:
        assert int(asked) <= 2
        assert int(checked) <= 1002


@pytest.mark.parametrize("library", ["-DFAKE_HIP=5"])
def test_older_numbers_of_kinds(any_mpi: Mpi, compiler: Compiler, tmp_path: Path, library: str) -> None:
    found = watch(any_mpi, 2, [built(compiler, any_mpi, "hip", library)], tmp_path)
    assert sizes(found, "blocking") == {("device", 28): 3, ("host", 36): 2}


def _by_region(rows: Sequence[dict[str, Any]], value: str) -> Counter[str]:
    sums: Counter[str] = Counter()
    for row in rows:
        sums[row["region"]] += row[value]
    return sums


def test_kinds_add_up_to_the_totals(run: Watched) -> None:
    regions = {row["region"]: row for row in run.rows("regions", True)}
    p2p = [row for row in run.rows("sizes", True) if row["kind"] == "p2p"]
    coll = [row for row in run.rows("sizes", True) if row["kind"] == "coll"]
    assert {name: n for name, n in _by_region(p2p, "messages").items() if n} == {
        name: row["sends_total"] for name, row in regions.items() if row["sends_total"]
    }
    assert {name: n for name, n in _by_region(coll, "messages").items() if n} == {
        name: row["colls_total"] for name, row in regions.items() if row["colls_total"]
    }
    sent = Counter({row["region"]: 0 for row in p2p})
    for row in p2p:
        sent[row["region"]] += row["messages"] * row["bytes"]
    assert {name: n for name, n in sent.items() if n} == {
        name: row["bytes_sent_total"] for name, row in regions.items() if row["bytes_sent_total"]
    }
    assert {row["memory"] for row in run.rows("calls")} == {"host", "device", "managed", None}


@pytest.mark.parametrize("run", ["cuda", "hip"], indirect=True, scope="module")
def test_copies_that_mpi_then_sends(run: Watched) -> None:
    staged, copied = run.region("staged"), run.region("copied")
    assert staged["device_copies_total"] == 10 * RANKS
    assert staged["device_copy_bytes_total"] == 4000 * RANKS
    assert staged["staged_bytes_total"] == 2000 * RANKS
    assert (copied["device_copies_total"], copied["device_copy_bytes_total"]) == (RANKS, 800 * RANKS)
    assert copied["staged_bytes_total"] == 0
    assert run.region("messages")["device_copies_total"] == 0


@pytest.mark.parametrize("kind", ["staged", "kept", "direct"])
def test_copies_to_where_messages_begin_are_staged(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path, kind: str
) -> None:
    staging = program(compiler, any_mpi, "staging.c", [runtime_of(compiler, any_mpi, LIBRARIES["cuda"])])
    row = watch(any_mpi, 2, [staging, kind], tmp_path).region("exchange")
    copies = 0 if kind == "direct" else 2 * 3
    assert row["device_copies_total"] == copies
    assert row["staged_bytes_total"] == (copies * 2**20 if kind == "staged" else 0)


@pytest.mark.parametrize("staged", [0, 2**26, 2**27])
def test_staged_data_are_a_finding(tmp_path: Path, staged: int) -> None:
    """Each of two ranks takes 3 of 10 s for copies of 2**27 bytes, of which MPI sends a part."""
    rows = [
        {"path": path, "rank": rank, "instances": 1, "time": time}
        for rank in range(2)
        for path, time in ((0, 6.0), (1, 4.0))
    ]
    made = draft(
        {"ranks": 2}, paths=path_rows("exchange"), processes=process_rows("alpha", "alpha"), ranks=rows
    )
    copied = {
        "device_copy_time": [0, 3] * 2,
        "device_copy_bytes": [0, 2**27] * 2,
        "staged_bytes": [0, staged] * 2,
    }
    made.tables["ranks"] = {**made.tables["ranks"], **copied}
    findings = haloscope.findings(made.write(tmp_path / "made.halo"))
    findings = [finding for finding in findings if finding.rule == "host_staging"]
    assert len(findings) == (staged > 0)
    for finding in findings:
        assert finding.region == "exchange"
        assert f"{2 * staged / 1e6:.0f} MB of GPU data are copied to the host before MPI sends them" in (
            finding.sentence
        )
        assert finding.evidence[0].values == {"staged_bytes_total": 2 * staged}
        # The time of those copies whose data MPI sends.
        gain = 3 * staged / 2**27
        assert (finding.gain, finding.gain_high, finding.gain_low) == pytest.approx((gain, gain, gain / 2))


@pytest.mark.parametrize("interface", ["-DMPIF_H", "-DUSE_MPI", "-DF08"])
def test_buffers_of_fortran(mpi: Mpi, compiler: Compiler, tmp_path: Path, interface: str) -> None:
    flags = ["-cpp", "-ffree-line-length-none", "-fallow-argument-mismatch", "-w", interface]
    runtime = runtime_of(compiler, mpi, LIBRARIES["cuda"])
    found = watch(mpi, 2, [compiler(mpi, PROGRAMS / "device_buffers.f90", [*flags, runtime])], tmp_path)
    named = {key: count for key, count in calls(found, "<program>").items() if key[0][:5] != "Comm_"}
    assert named == {
        ("Irecv", "managed"): 3 * 2,
        ("Isend", "device"): 3 * 2,
        ("Waitall", None): 3 * 2,
        ("Sendrecv", "host"): 2,
        ("Allreduce", "device"): 2,
        ("Bcast", "managed"): 2,
    }
    assert sizes(found, "<program>") == {
        ("device", 40): 3 * 2,
        ("host", 40): 2,
        ("device", 20): 2,
        ("managed", 24): 2,
    }


def test_without_a_runtime_all_is_the_hosts(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    found = watch(any_mpi, 2, [program(compiler, any_mpi, "twin.c", STRICT)], tmp_path)
    assert {row["memory"] for row in found.rows("sizes") if row["kind"] == "p2p"} == {"host"}
    assert found.region("<program>")["device_copies_total"] == 0
    assert "host_staging" not in {finding.rule for finding in haloscope.findings(found.path)}
