"""The guides, executed: `sh` blocks run in order, an `output` block is what the last printed."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from support.mpi import CHECKOUT, Mpi

DOCS = CHECKOUT / "docs"
BLOCK = re.compile(r"^```(sh|output)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#:]+)(?:#[^)]*)?\)")
DIVIDER = "---- end of block ----\n"


def blocks(guide: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(guide.read_text())


def script(guide: Path) -> str:
    """All shell blocks as one script, since a block may use what an earlier one set."""
    shell = [text for kind, text in blocks(guide) if kind == "sh"]
    return "set -e\n" + "".join(f"{text}printf -- '{DIVIDER[:-1]}\\n'\n" for text in shell)


def plain_names(mpi: Mpi, directory: Path) -> str:
    """A search path on which `mpicc` is this MPI's, also where its name has a suffix."""
    directory.mkdir()
    for tool in (mpi.mpicc, mpi.mpicxx, mpi.mpiexec):
        if tool.suffix:
            (directory / tool.stem).symlink_to(tool)
    return str(directory)


@pytest.mark.slow
@pytest.mark.timeout(900)  # with the build of a recorder, on a machine that may be busy
@pytest.mark.parametrize("name", ["tutorial", "how-to"])
def test_guide(name: str, any_mpi: Mpi, haloscope: Path, tmp_path: Path) -> None:
    guide = DOCS / name / "README.md"
    environment = any_mpi.environment()
    first = [str(haloscope.parent), plain_names(any_mpi, tmp_path / "tools")]
    environment["PATH"] = os.pathsep.join([*first, environment["PATH"]])
    done = subprocess.run(
        ["bash", "-c", script(guide)],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    printed = done.stdout.split(DIVIDER)
    ran = -1
    for kind, text in blocks(guide):
        ran += kind == "sh"
        if kind == "output":
            assert printed[ran] == text


def test_tutorial_shows_what_is_published() -> None:
    # Guards the test above: without blocks it could not fail.
    shown = "".join(text for kind, text in blocks(DOCS / "tutorial/README.md") if kind == "output")
    for figure in ("15360", "1342177280", "16777216"):
        assert figure in shown


def test_links_lead_somewhere() -> None:
    pages = [*CHECKOUT.glob("*.md"), *DOCS.rglob("*.md")]
    broken = [
        f"{page.relative_to(CHECKOUT)}: {target}"
        for page in pages
        for target in LINK.findall(page.read_text())
        if not (page.parent / target).exists()
    ]
    assert broken == []
