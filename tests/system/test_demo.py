"""`haloscope demo`: a finding, a page, and commands that work when they are copied."""

from __future__ import annotations

import json
from pathlib import Path

from support.mpi import CHECKOUT, Mpi
from support.mpis import tools
from support.printed import unprinted
from support.processes import run_program


def test_the_demo_ends_with_a_finding_a_page_and_commands(
    haloscope: Path, any_mpi: Mpi, tmp_path: Path
) -> None:
    environment = tools(any_mpi)

    def shell(command: str) -> str:
        done = run_program(["sh", "-c", command], env=environment, cwd=tmp_path)
        return f"{done.stderr}\n{done.stdout}"

    printed = shell(f"{haloscope} demo")
    for page in ("README.md", "docs/start/first-profile.md"):
        shown = (CHECKOUT / page).read_text().partition("$ haloscope demo")[2].partition("```")[0]
        lines = [line for line in shown.splitlines()[1:] if not line.startswith("finding: ")]
        assert unprinted("text", "\n".join(lines), printed, tmp_path) == ""
    # Rank 0 has 64 blocks, rank 1 has 8. Which rule names that, if any, depends on the times.
    found = json.loads(shell(f"{haloscope} findings haloscope-demo.halo --json"))
    assert ("finding: " in printed) == bool(found)
    assert f"page: {tmp_path / 'haloscope-demo.html'}" in printed.splitlines()
    assert (tmp_path / "haloscope-demo.html").is_file()
    assert (tmp_path / "haloscope-demo.halo").is_file()
    first, second, last = printed.partition("Next:\n")[2].splitlines()
    assert ("   look: haloscope show haloscope-demo.halo --table " in shell(first)) == bool(found)
    assert "stencil" in shell(second)
    program = shell(f"{haloscope} where amr").splitlines()[-1]
    words = "--npx 2 --num_refine 0 --num_tsteps 1 --stages_per_ts 1"
    assert "amr: 2 ranks" in shell(last.replace("./your-program", f"{program} {words}"))
