"""Programs that find other libraries in their process, or look for MPI themselves, run as without us."""

from __future__ import annotations

import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import haloscope
from haloscope.base import paths
from support.missing import missing
from support.mpi import Mpi
from support.mpis import tools
from support.processes import run_program
from support.programs import Compiler
from support.recorder import library
from support.watched import PROGRAMS, Watched, watch

# A runtime of OpenCL that hwloc loads may break the address sanitizer by itself.
WITHOUT_OPENCL = {"HWLOC_COMPONENTS": "-opencl"}
PYTHON = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier(); MPI.COMM_WORLD.Barrier(); print('end')"


def in_script(mpi: Mpi, command: str, directory: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a script that launches two ranks, with a guess of which MPI it uses."""
    script = directory / "job.sh"
    script.write_text(f"#!/bin/sh\n{shlex.join(mpi.launch(2))} {command}\n")
    script.chmod(0o755)
    words = [Path(sys.executable).with_name("haloscope"), "run", "-o", "a.halo", "--", "./job.sh"]
    environment = mpi.environment(tools(mpi) | env)
    return run_program([*map(str, words)], env=environment, cwd=directory, status=None)


def test_mpi4py_in_a_script(any_mpi: Mpi, tmp_path: Path) -> None:
    """mpi4py looks for functions of MPI in the process before it opens a library."""
    done = in_script(any_mpi, f"{sys.executable} -c {shlex.quote(PYTHON)}", tmp_path)
    # A launcher with terminals for its ranks may forward a line before its end.
    assert (done.returncode, "".join(done.stdout.split())) == (0, "endend"), done.stderr
    with haloscope.open(tmp_path / "a.halo") as profile:
        calls = profile.table("calls").to_dicts()
    assert sum(row["calls"] for row in calls if row["call"] == "MPI_Barrier") == 4


def test_questions_by_name_have_the_answers_of_a_bare_run(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    """Also under the recorder of the MPI that is opened late."""
    asks = compiler(any_mpi, PROGRAMS / "asks_for_mpi.c", ["-Wl,--as-needed", "-ldl"])
    weakly = compiler(any_mpi, PROGRAMS / "asks_weakly.c", ["-shared", "-fPIC", "-Wl,--as-needed"])
    command = [asks, any_mpi.library, weakly]
    bare = run_program(command, env=any_mpi.environment())
    watched = run_program(command, env=any_mpi.environment({"LD_PRELOAD": str(library(any_mpi))}))
    assert "default MPI_Init 0" in bare.stdout
    assert "default MPI_Init 1" in bare.stdout
    assert (watched.stdout, watched.stderr) == (bare.stdout, bare.stderr)


@pytest.mark.parametrize("start", ["python", "script"])
def test_preloaded_tools_see_the_calls_of_a_bare_run(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path, start: str
) -> None:
    counter = compiler(any_mpi, PROGRAMS / "preloaded_counter.c", ["-shared", "-fPIC", "-ldl"])
    env = {"LD_PRELOAD": str(counter)}
    if start == "script":
        done = in_script(any_mpi, f"{sys.executable} -c {shlex.quote(PYTHON)}", tmp_path, **env)
    else:
        done = watch(any_mpi, 2, [sys.executable, "-c", PYTHON], tmp_path, env=env).done
    assert done.returncode == 0
    assert done.stdout.count("barriers 2\n") == 2, done.stdout


def test_functions_that_have_names_of_fortran_remain_those_of_the_library(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    """As in Rmpi: its own mpi_comm_rank, in a library that is opened for its user alone."""
    own = compiler.text(
        any_mpi,
        "own.c",
        """
        #include <mpi.h>
        void *mpi_comm_rank(void *number) { return (char *)number + 1; }
        double MPI_BARRIER(double *number) { MPI_Barrier(MPI_COMM_WORLD); return *number - 0.25; }
        void *functions[2] = {(void *)mpi_comm_rank, (void *)MPI_BARRIER};
        """,
        ["-shared", "-fPIC"],
    )
    text = """
        #include <dlfcn.h>
        #include <mpi.h>
        #include <stdio.h>
        int main(int argc, char **argv) {
          MPI_Init(&argc, &argv);
          void **functions = dlsym(dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), "functions");
          long rank = (long)((void *(*)(void *))functions[0])((void *)6);
          double number = 3.5;
          printf("%ld %g\\n", rank, ((double (*)(double *))functions[1])(&number));
          MPI_Finalize();
          return 0;
        }
    """
    executable = compiler.text(any_mpi, "opens.c", text, ["-ldl"])
    watched = watch(any_mpi, 2, [executable, own], tmp_path)
    assert "".join(watched.done.stdout.split()) == "73.25" * 2
    assert watched.region("<program>")["colls_total"] == 2


# "own": the program has default options of its own. Other runtimes may be anywhere in the list of libraries.
@pytest.mark.parametrize(
    ("kind", "options"), [("address", ""), ("address", "own"), ("thread", ""), ("undefined", "")]
)
def test_programs_with_sanitizers(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path, kind: str, options: str
) -> None:
    text = """
        #include <mpi.h>
        #include <haloscope/region.h>
        int main(int argc, char **argv) {
          MPI_Init(&argc, &argv);
          HALOSCOPE_REGION_BEGIN("marked");
          MPI_Barrier(MPI_COMM_WORLD);
          HALOSCOPE_REGION_END("marked");
          MPI_Finalize();
          return 0;
        }
    """
    if options:
        text += 'const char *__asan_default_options(void) { return "detect_leaks=0"; }\n'
    executable = compiler.text(any_mpi, "sane.c", text, [f"-fsanitize={kind}"])
    env = WITHOUT_OPENCL | {"LD_PRELOAD": ""}  # the runtime must be first
    if not options:
        env |= {"ASAN_OPTIONS": "detect_leaks=0"}
    bare = any_mpi.run(2, [executable], env=env, status=None)
    if bare.returncode:
        missing(f"the {kind} sanitizer does not run with {any_mpi.name}: {bare.stderr[-200:]}")
    watched = watch(any_mpi, 2, [executable], tmp_path, env=env)
    assert watched.region("marked")["colls_total"] == 2
    assert "anitizer" not in watched.done.stderr


def test_names_of_regions_are_read_to_their_end(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    """Names at each offset in a word, before a page that may not be read."""
    text = """
        #define _GNU_SOURCE
        #include <haloscope/region.h>
        #include <mpi.h>
        #include <string.h>
        #include <sys/mman.h>
        int main(int argc, char **argv) {
          const char *whole = "a name of thirty characters, 30";
          char *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
          mprotect(page + 4096, 4096, PROT_NONE);
          MPI_Init(&argc, &argv);
          for (int again = 0; again < 2; again++)
            for (size_t length = 1; length <= strlen(whole); length++) {
              for (size_t before = 0; before < 9; before++) {
                char *name = page + 4096 - length - 1 - before;
                memcpy(name, whole, length);
                name[length] = 0;
                HALOSCOPE_REGION_BEGIN(name);
                HALOSCOPE_REGION_END(name);
              }
            }
          MPI_Finalize();
          return 0;
        }
    """
    watched = watch(any_mpi, 1, [compiler.text(any_mpi, "ends_of_pages.c", text)], tmp_path)
    whole = "a name of thirty characters, 30"
    instances = {row["path"]: row["instances"] for row in watched.rows("regions")}
    assert instances == {"<program>": 1} | {whole[:end]: 18 for end in range(1, len(whole) + 1)}
    assert (watched.info["unmatched_begins"], watched.info["unmatched_ends"]) == ("0", "0")


@pytest.mark.parametrize("import_first", [False, True])
def test_regions_around_the_import_of_mpi(any_mpi: Mpi, tmp_path: Path, import_first: bool) -> None:
    text = f"""
import haloscope
{"from mpi4py import MPI" if import_first else ""}
with haloscope.region("whole"):
    from mpi4py import MPI
    with haloscope.region("inside"):
        MPI.COMM_WORLD.Barrier()
    MPI.Finalize()
"""
    watched = watch(any_mpi, 2, [sys.executable, "-c", text], tmp_path)
    assert watched.region("whole/inside")["colls_total"] == 2
    assert (watched.info["unmatched_begins"], watched.info["unmatched_ends"]) == ("0", "0")


def test_regions_of_several_kinds_around_mpi(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    """Haloscope's own and Caliper's are nested as the program nests them, also those begun before MPI."""
    text = """
        #include <caliper/cali.h>
        #include <haloscope/region.h>
        #include <mpi.h>
        int main(int argc, char **argv) {
          HALOSCOPE_REGION_BEGIN("own");
          cali_begin_region("other");
          HALOSCOPE_REGION_BEGIN("ended before");
          HALOSCOPE_REGION_END("ended before");
          HALOSCOPE_REGION_BEGIN("own");
          MPI_Init(&argc, &argv);
          MPI_Barrier(MPI_COMM_WORLD);
          HALOSCOPE_REGION_END("own");
          MPI_Barrier(MPI_COMM_WORLD);
          cali_end_region("other");
          MPI_Barrier(MPI_COMM_WORLD);
          MPI_Finalize();
          HALOSCOPE_REGION_END("own");
          return 0;
        }
    """
    beside = library(any_mpi).parent
    flags = [f"-I{paths.caliper_include()}", f"-L{beside}", "-lcaliper", f"-Wl,-rpath,{beside}"]
    watched: Watched = watch(any_mpi, 2, [compiler.text(any_mpi, "kinds.c", text, flags)], tmp_path)
    colls = {row["path"]: row["colls_total"] for row in watched.rows("regions", exclusive=True)}
    assert colls == {"<program>": 0, "own": 2, "own/other": 2, "own/other/own": 2}
    assert (watched.info["unmatched_begins"], watched.info["unmatched_ends"]) == ("0", "0")


def test_ranks_without_the_recorder_keep_nobody_waiting(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    """As on a node where its file is missing: the program runs on, and meets no message of ours.

    Two such launches run at the same time: a rank of one is not taken for the missing one of the other.
    """
    text = """
        #include <mpi.h>
        #include <stdio.h>
        int main(int argc, char **argv) {
          int rank, found, messages = 0;
          MPI_Comm all;
          MPI_Init(&argc, &argv);
          MPI_Comm_rank(MPI_COMM_WORLD, &rank);
          MPI_Comm_dup(MPI_COMM_WORLD, &all);
          MPI_Barrier(all);
          for (int i = 0; i < 1000; i++) {
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
            messages += found;
          }
          MPI_Barrier(all);
          MPI_Comm_free(&all);
          printf("rank %d: %d\\n", rank, messages);
          MPI_Finalize();
          return 0;
        }
    """
    executable = str(compiler.text(mpi, "meets.c", text))
    without = ["sh", "-c", f"LD_PRELOAD=/there/is/none.so exec {shlex.quote(executable)}"]

    def run(first: list[str], second: list[str]) -> Watched:
        directory = tmp_path / Path(first[0]).name
        directory.mkdir()
        return watch(mpi, 1, [*first, ":", "-n", "1", *second], directory)

    with ThreadPoolExecutor() as threads:
        runs = list(threads.map(run, (without, [executable]), ([executable], without)))
    for watched in runs:
        assert not watched.path.exists()
        assert sorted(watched.done.stdout.split("\n")) == ["", "rank 0: 0", "rank 1: 0"]
        (line,) = [line for line in watched.done.stderr.splitlines() if "not all ranks" in line]
        assert "this run is not recorded" in line
