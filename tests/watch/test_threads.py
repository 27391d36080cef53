"""Threads that communicate at the same time: sums stay exact, regions are each thread's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import haloscope
from support.mpi import Mpi
from support.programs import Compiler
from support.watched import Traffic, Watched, program, watch

THREADS, ROUNDS, RANKS = 4, 200, 2


@pytest.fixture(scope="module")
def threads(mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    command = [program(compiler, mpi, "threads.c", ["-pthread"])]
    return watch(mpi, RANKS, command, tmp_path_factory.mktemp("threads"))


def exchanged(messages: int, count: int) -> Traffic:
    """Each rank sends the other this many messages of `count` bytes."""
    total = messages * RANKS
    return Traffic(total, total * count, total, total * count, 1, 1)


def test_each_thread_has_its_region(threads: Watched) -> None:
    for thread in range(THREADS):
        region = f"thread {thread}"
        assert threads.traffic(region) == exchanged(ROUNDS, 4 * (thread + 1))
        row = threads.region(region)
        assert (row["instances"], row["sends_instance_min"], row["sends_instance_max"]) == (ROUNDS, 1, 1)


def test_threads_in_one_region_add_up(threads: Watched) -> None:
    assert threads.traffic("shared") == exchanged(THREADS * ROUNDS, 40)
    row = threads.region("shared")
    assert row["instances"] == THREADS * ROUNDS
    assert (row["colls_total"], row["coll_bytes_total"]) == (RANKS * THREADS * 4, RANKS * THREADS * 16)
    assert (row["colls_instance_min"], row["colls_instance_max"]) == (0, 1)


def test_receives_count_in_the_thread_that_completes(threads: Watched) -> None:
    assert threads.traffic("handed over") == Traffic(0, 0, RANKS * ROUNDS, 4 * RANKS * ROUNDS, 0, 1)


def test_whole_program(threads: Watched) -> None:
    whole = threads.traffic("<program>")
    assert whole.sends == whole.recvs == RANKS * ROUNDS * (2 * THREADS + 1)
    assert whole.bytes_sent == whole.bytes_recv
    assert (threads.info["unmatched_begins"], threads.info["dropped"]) == ("0", "0")


def test_the_duration_of_a_rank_is_not_a_sum_over_its_threads(threads: Watched) -> None:
    """The time of the region is: all threads are in it at the same time."""
    with haloscope.open(threads.path) as profile:
        durations = profile.frame("processes", ["duration"])["duration"].to_list()
    times = [row["time"] for row in threads.select("ranks", False, region="<program>")]
    assert all(0 < duration < time for duration, time in zip(durations, times, strict=True))


def test_the_main_thread_has_a_table_of_its_own(threads: Watched) -> None:
    """It hands its receives over to a thread, and enters no region."""
    with haloscope.open(threads.path) as profile:
        main = profile.frame("main_thread", ["path", "rank", "sends", "bytes_sent", "recvs"]).sort("rank")
    assert main.rows() == [(0, rank, ROUNDS, 4 * ROUNDS, 0) for rank in range(RANKS)]


def run_short_threads(mpi: Mpi, compiler: Compiler, directory: Path, *words: str, **options: Any) -> Watched:
    command = [str(program(compiler, mpi, "short_threads.c", ["-pthread"])), *words]
    return watch(mpi, 1, command, directory, **options)


@pytest.mark.parametrize(("options", "count"), [((), 1000), (("--trace",), 100)])
def test_threads_that_end_need_no_memory(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path, options: tuple[str, ...], count: int
) -> None:
    """A thread that begins continues the records of one that has ended."""
    few = {"HALOSCOPE_MEMORY": "1"}  # MiB: 20 threads at once
    done = run_short_threads(any_mpi, compiler, tmp_path, str(count), options=options, env=few)
    task = done.region("task")
    assert (task["instances"], task["sends_total"], task["sends_instance_max"]) == (count, 10 * count, 10)
    assert (done.info["dropped"], done.info.get("unmatched_begins")) == ("0", "0")
    with haloscope.open(done.path) as profile:
        assert profile.frame("main_thread", ["path", "sends"]).rows() == [(0, 0)]


@pytest.mark.parametrize("options", [(), ("--trace",)])
def test_calls_of_threads_without_memory_are_dropped(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path, options: tuple[str, ...]
) -> None:
    """All dropped calls are counted, and a switch of recording holds for all threads."""
    few = {"HALOSCOPE_MEMORY": "1", "HALOSCOPE_TRACE_MEMORY": "1"}
    done = run_short_threads(any_mpi, compiler, tmp_path, "60", "together", options=options, env=few)
    sent, dropped = done.region("<program>")["sends_total"], int(done.info["dropped"])
    # A thread may have memory for itself but not for the records of its calls. Of one call these are its
    # function, sizes and partners.
    assert 0 < sent <= 600
    assert 600 - sent <= dropped <= 60 * 21 * 6
    if not options:  # else memory of the trace comes back while threads begin
        # Those that have no records do not know the switch: MPI_Pcontrol and what follows is dropped, too.
        lost = 60 - sent // 10
        assert lost > 0
        assert sent % 10 == 0
        assert dropped >= lost * 21


def test_threads_that_are_cancelled_or_only_poll(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    """A thread may be cancelled where its first records are made; the last call of one may have no time."""
    text = """
        #include <haloscope/region.h>
        #include <mpi.h>
        #include <pthread.h>
        static void *cancelled(void *none) {
          pthread_cancel(pthread_self());
          HALOSCOPE_REGION_BEGIN("task");
          HALOSCOPE_REGION_END("task");
          for (;;) pthread_testcancel();
          return none;
        }
        static void *polls(void *none) {
          int found;
          for (int i = 0; i < 3; i++) MPI_Iprobe(0, 1, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
          return none;
        }
        int main(int argc, char **argv) {
          int level;
          pthread_t threads[40];
          MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
          for (int i = 0; i < 40; i++) pthread_create(&threads[i], NULL, cancelled, NULL);
          for (int i = 0; i < 40; i++) pthread_join(threads[i], NULL);
          for (int i = 0; i < 40; i++) {
            pthread_create(&threads[0], NULL, polls, NULL);
            pthread_join(threads[0], NULL);
          }
          MPI_Finalize();
          return 0;
        }
    """
    program = compiler.text(any_mpi, "cancelled.c", text, ["-pthread"])
    watched = watch(any_mpi, 1, [program], tmp_path, options=["--trace"])
    assert watched.region("task")["instances"] == 40
    assert watched.calls("MPI_Iprobe", "<program>") == 120
    assert 0 < float(watched.info["duration"]) < 86_400
    untraced = watch(any_mpi, 1, [program], tmp_path)
    assert 0 < float(untraced.info["duration"]) < 86_400
