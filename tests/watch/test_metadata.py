"""What a profile knows of its run: texts of the program, the environment, and where ranks could run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import haloscope
from support.missing import missing
from support.mpi import CHECKOUT, REMEDY, Mpi, find
from support.profiles import draft, path_rows, process_rows
from support.programs import Compiler
from support.watched import Watched, program, watch

# A recorder of the time before there was metadata: its note and its table of version 1.
OLD_RECORDER = r"""
#include <stdint.h>
static void mark(const char *name, int communication) { (void)name, (void)communication; }
static void number(const char *name, double value) { (void)name, (void)value; }
struct table { uint32_t version, reserved; void *begin, *end, *value, *behind; };
const struct table old_table __attribute__((visibility("hidden"))) = {1, 0, mark, mark, number, (void *)8};
__asm__(".pushsection .note.haloscope,\"a\",%note\n.balign 4\n.long 10\n.long 4\n.long 1\n"
        ".asciz \"Haloscope\"\n.balign 4\n1: .long old_table - 1b\n.popsection\n");
"""
USER = """
#include <haloscope/region.h>
#include <stdio.h>
int main(void) {
  HALOSCOPE_REGION_BEGIN("a");
  HALOSCOPE_METADATA("case", "wing");
  HALOSCOPE_REGION_END("a");
  return puts("end") < 0;
}
"""


def said(watched: Watched) -> dict[str, str]:
    with haloscope.open(watched.path) as profile:
        return dict(profile.info["metadata"])


def test_what_the_program_says_is_in_info(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    command: list[str | Path] = [program(compiler, mpi, "metadata.c"), "--password", "hunter2"]
    environment = {"HALOSCOPE_META_SEED": "42", "OMP_NUM_THREADS": "3", "HALOSCOPE_META_": "no"}
    watched = watch(mpi, 2, command, tmp_path, env=environment)
    information = watched.info
    assert (information["case"], information["step"], information["who"], information["seed"]) == (
        '"wing"',
        '"last"',
        '"first"',
        '"42"',
    )
    assert (information["alone"], information["token"]) == ('"007"', '"***"')
    assert (information["program"], information["metadata.program"]) == ("metadata", '"mine"')
    assert information["metadata_differs"] == '["who"]'
    assert information["environment.OMP_NUM_THREADS"] == '"3"'
    assert information["job.launcher"].startswith(('"mpi', '"hydra', '"prterun'))
    assert information["command"].endswith("metadata --password ***")
    assert "hunter2" not in watched.path.read_bytes().decode("latin-1")
    assert float(information["mpi_standard"]) >= 3


# What a scheduler says of its job, by the table `info` and by variable.
JOBS = {
    "slurm": {
        "job_id": "SLURM_JOB_ID",
        "job_name": "SLURM_JOB_NAME",
        "partition": "SLURM_JOB_PARTITION",
        "account": "SLURM_JOB_ACCOUNT",
        "nodes": "SLURM_JOB_NODELIST",
        "step": "SLURM_STEP_ID",
        "array_task": "SLURM_ARRAY_TASK_ID",
    },
    "pbs": {"job_id": "PBS_JOBID", "job_name": "PBS_JOBNAME", "partition": "PBS_QUEUE"},
    "lsf": {"job_id": "LSB_JOBID", "job_name": "LSB_JOBNAME", "partition": "LSB_QUEUE"},
    "flux": {"job_id": "FLUX_JOB_ID"},
}


@pytest.mark.parametrize("scheduler", JOBS)
def test_the_job_and_listed_variables_are_in_info(compiler: Compiler, tmp_path: Path, scheduler: str) -> None:
    # Open MPI would ask Flux for more.
    mpi = find("mpich-system") or find("mpich-wheel") or missing(REMEDY["mpich-wheel"])
    variables = {key: f"{key} of 7" for key in JOBS[scheduler]}
    listed = {"OMP_PLACES": "cores", "UCX_TLS": "sm", "HALOSCOPE_SLICE": "0.1"}
    others = {"DATABASE_TOKEN": "hunter2", "MY_HOME": "hunter3", "OMP_PASSWORD": "hunter4"}
    # Without a launcher, which would take itself for a part of the job.
    profile = tmp_path / "job.halo"
    words: list[str | Path] = [
        Path(sys.executable).with_name("haloscope"),
        "run",
        "--quiet",
        "-o",
        profile,
        "--",
    ]
    subprocess.run(
        [*words, program(compiler, mpi, "during.c")],
        env=mpi.environment(
            {JOBS[scheduler][key]: text for key, text in variables.items()} | listed | others
        ),
        check=True,
    )
    with haloscope.open(profile) as opened:
        info, found = opened.info, opened.info["job"]
    assert found == {"scheduler": scheduler, **variables}
    assert {name: info["environment"].get(name) for name in listed} == listed
    assert info["environment"].get("OMP_PASSWORD", "***") == "***"
    assert not set(info["environment"]) & {"DATABASE_TOKEN", "MY_HOME"}
    assert "hunter" not in profile.read_bytes().decode("latin-1")


def test_what_was_said_survives_the_process(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    watched = watch(any_mpi, 2, [program(compiler, any_mpi, "metadata.c"), "kill"], tmp_path, status=None)
    assert watched.info["partial"] == "true"
    assert said(watched)["step"] == "last"


def test_fortran_says_it_too(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    source = Path(__file__).parent / "programs" / "metadata.f90"
    module = CHECKOUT / "include" / "haloscope" / "haloscope.f90"
    text = module.read_text() + source.read_text()
    watched = watch(any_mpi, 1, [compiler.text(any_mpi, "both.f90", text)], tmp_path)
    assert said(watched) == {"case": "wing", "early": "wing"}


def test_python_says_it_too(any_mpi: Mpi, tmp_path: Path) -> None:
    script = tmp_path / "says.py"
    script.write_text(
        "import haloscope\nhaloscope.metadata('early', 1)\n"
        "from mpi4py import MPI\nhaloscope.metadata('case', 'wing')\n"
    )
    watched = watch(any_mpi, 1, [sys.executable, script], tmp_path)
    assert said(watched) == {"case": "wing", "early": "1"}


def test_a_newer_header_meets_an_older_recorder(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    old = compiler.text(any_mpi, "old.c", OLD_RECORDER, ["-shared", "-fPIC"])
    user = compiler.text(any_mpi, "user.c", USER)
    assert any_mpi.run(1, [user], env={"LD_PRELOAD": str(old)}).stdout == "end\n"


def test_where_each_rank_could_run(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    command: list[str | Path] = ["taskset", "-c", str(cpu), program(compiler, any_mpi, "metadata.c")]
    watched = watch(any_mpi, 3, command, tmp_path)
    rows = watched.rows("binding")
    assert [row["rank"] for row in rows] == [0, 1, 2]
    assert {row["cpus"] for row in rows} == {str(cpu)}
    assert all(re.fullmatch(r"\d+", row[name]) for row in rows for name in ("numa_nodes", "sockets"))
    assert watched.info["binding"] == "1 CPU per rank, shared with others"


def test_a_program_that_says_too_much(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    text = """
#include <haloscope/region.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
  char *value = calloc(100001, 1), key[32];
  int i;
  memset(value, 'x', 100000);
  MPI_Init(&argc, &argv);
  for (i = 0; i < 1000; i++) {
    sprintf(key, "key %d", i);
    HALOSCOPE_METADATA(key, value);
  }
  MPI_Finalize();
  return 0;
}
"""
    watched = watch(any_mpi, 2, [compiler.text(any_mpi, "much.c", text)], tmp_path)
    kept = said(watched)
    assert {len(value) for value in kept.values()} == {4096}
    assert sum(len(key) + len(value) for key, value in kept.items()) <= 65536
    assert int(watched.info["dropped"]) == 2 * (1000 - len(kept))


def test_a_text_that_is_set_again_takes_no_more_memory(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    text = """
#include <haloscope/region.h>
#include <mpi.h>
#include <stdio.h>
static void count(int from, int to) {
  char value[64];
  int i;
  for (i = from; i < to; i++) {
    sprintf(value, "%*d", i % 50, i);
    HALOSCOPE_METADATA("step", value);
  }
}
int main(int argc, char **argv) {
  count(0, 10000);
  MPI_Init(&argc, &argv);
  count(10000, 20000);
  HALOSCOPE_METADATA("case", "wing");
  MPI_Finalize();
  return 0;
}
"""
    watched = watch(any_mpi, 1, [compiler.text(any_mpi, "again.c", text)], tmp_path)
    kept = said(watched)
    assert (kept["step"].strip(), kept["case"], watched.info["dropped"]) == ("19999", "wing", "0")


NO_LISTS = ("a", "1-", "3-1", "1,1", "0-99999", "1,,2", "-1", "\u0661")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["0-3,8", "9-13"], "5 CPUs per rank, none shared"),
        (["0-3", "3"], "1 to 4 CPUs per rank, shared with others"),
        (["0", "1"], "1 CPU per rank, none shared"),
        *(
            (["0-1", text], "0 to 2 CPUs per rank, none shared")
            for text in "a 1- 3-1 1,1 0-99999 1,,2 -1 \u0661".split()
        ),
    ],
)
def test_lists_of_cpus(tmp_path: Path, texts: list[str], expected: str) -> None:
    made = draft(paths=path_rows("r"), processes=process_rows("alpha", "alpha"))
    made.tables["processes"] = {**made.tables["processes"], "cpus": texts}
    with haloscope.open(made.write(tmp_path / "made.halo")) as profile:
        info = dict(profile.table("info").iter_rows())
    assert info["binding"] == expected
