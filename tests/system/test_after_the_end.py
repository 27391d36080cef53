"""After a program has ended, nothing of ours changes its status, and what is printed fits the terminal."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from haloscope import OutputError
from haloscope.base.preloading import Outcome
from support.mpi import Mpi
from support.programs import Compiler

PROGRAM = """
#include <mpi.h>
#include <haloscope/region.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  HALOSCOPE_REGION_BEGIN("Lösung");
  MPI_Barrier(MPI_COMM_WORLD);
  HALOSCOPE_REGION_END("Lösung");
  MPI_Finalize();
  return 3;
}
"""


@pytest.mark.parametrize(
    "error",
    [OutputError("a.halo: no space"), OSError(28, "no space"), RuntimeError("a\nb"), KeyboardInterrupt()],
)
def test_what_fails_is_one_remark(error: BaseException) -> None:
    outcome = Outcome(3 << 8)
    with outcome.noting():
        raise error
    (remark,) = outcome.remarks
    assert "\n" not in remark
    assert outcome.exit_status == 3


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_terminal_of_few_characters(
    any_mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path: Path, encoding: str
) -> None:
    program = compiler.text(any_mpi, "program.c", PROGRAM)
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": encoding}
    profile = tmp_path / "a.halo"

    def command(*words: str | bytes | Path) -> subprocess.CompletedProcess[bytes]:
        environment = any_mpi.environment(plain)
        return subprocess.run([haloscope, *words], env=environment, capture_output=True, check=False)

    done = command("run", "-o", profile, "--", *any_mpi.launch(1), program)
    assert done.returncode == 3
    assert profile.is_file()
    shown = command("show", profile)
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert ("Lösung".encode(encoding, "backslashreplace")) in shown.stdout
    chosen = command("show", profile, "--region", "Lösung".encode())
    assert (chosen.returncode, chosen.stderr) == (0, b"")
    assert b"Traceback" not in done.stderr
