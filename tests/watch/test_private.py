"""What a run leaves in shared places while it runs is its user's alone, whatever the umask."""

from __future__ import annotations

from pathlib import Path

from support.mpi import Mpi
from support.processes import run_program
from support.programs import Compiler
from support.watched import program


def test_records_are_the_users_alone(mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path: Path) -> None:
    during = program(compiler, mpi, "during.c")
    live, spool, listing = (tmp_path / name for name in ("live", "spool", "listing"))
    for directory in (live, spool):
        directory.mkdir()
    look = f"find '{live}' '{spool}' -mindepth 1 -printf '%y %m\\n' > '{listing}'"
    watch: list[Path | str] = [haloscope, "run", "--quiet", "--trace", "-o", tmp_path / "a.halo", "--"]
    run_program(
        ["sh", "-c", 'umask 0; exec "$@"', "sh", *watch, *mpi.launch(2), during, look],
        env=mpi.environment({"HALOSCOPE_LIVE": str(live), "HALOSCOPE_TRACE_SPOOL": str(spool)}),
    )
    found = listing.read_text().splitlines()
    # Two records and two spools; what leads from one to the other is a link, whose own mode says nothing.
    assert found.count("f 600") == 4
    assert {line for line in found if not line.startswith("l ")} == {"d 700", "f 600"}
    assert [*live.rglob("*"), *spool.rglob("*")] == []
