"""The guides, executed: `sh` blocks run in order, an `output` block is what the last printed.

A block of source code begins with a comment that names its file: it is there when the others run.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from support.mpi import CHECKOUT, Mpi
from support.mpis import tools

DOCS = CHECKOUT / "docs"
BLOCK = re.compile(r"^```(sh|output)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#:]+)(?:#[^)]*)?\)")
SOURCE = re.compile(r"^```(?:c|cpp|fortran)\n((?:/\*|//|!) (\S+).*?)^```$", re.MULTILINE | re.DOTALL)
DIVIDER = "---- end of block ----\n"


def blocks(guide: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(guide.read_text())


def script(guide: Path) -> str:
    """All shell blocks as one script, since a block may use what an earlier one set."""
    shell = [text for kind, text in blocks(guide) if kind == "sh"]
    return "set -e\n" + "".join(f"{text}printf -- '{DIVIDER[:-1]}\\n'\n" for text in shell)


def failure(guide: Path, status: int, printed: list[str], told: str) -> str:
    """The block that failed, and what it said: what others printed would bury that."""
    number = len(printed) - 1  # each block that ends well prints a divider
    block = [text for kind, text in blocks(guide) if kind == "sh"][number]
    end = "\n".join(printed[-1].splitlines()[-30:])
    return (
        f"{guide}: sh block {number + 1} ended with status {status}:\n{block}"
        f"---- standard error, of all blocks\n{told}---- its standard output\n{end}"
    )


def check_guide(guide: Path, mpi: Mpi, haloscope: Path, directory: Path) -> None:
    for text, name in SOURCE.findall(guide.read_text()):
        (directory / name).write_text(text)
    environment = tools(mpi)
    environment["PATH"] = f"{haloscope.parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script(guide)],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    printed = done.stdout.split(DIVIDER)
    if done.returncode:
        pytest.fail(failure(guide, done.returncode, printed, done.stderr), pytrace=False)
    ran = -1
    for kind, text in blocks(guide):
        ran += kind == "sh"
        if kind == "output":
            assert printed[ran] == text


@pytest.mark.slow
@pytest.mark.timeout(900)  # with the build of a recorder, on a machine that may be busy
@pytest.mark.parametrize(
    "name", ["tutorial/README", "tutorial/faster", "tutorial/solver", "how-to/README", "how-to/launchers"]
)
def test_guide(name: str, any_mpi: Mpi, haloscope: Path, tmp_path: Path) -> None:
    check_guide(DOCS / f"{name}.md", any_mpi, haloscope, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-system"], indirect=True)
def test_programs_that_hide_communication(mpi: Mpi, haloscope: Path, tmp_path: Path) -> None:
    """A guide, too; not on MPIs from wheels, which have no Fortran."""
    check_guide(DOCS / "how-to/hide/README.md", mpi, haloscope, tmp_path)
    assert {"heat.c", "advection.cpp", "decay.f90"} <= {path.name for path in tmp_path.iterdir()}


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


def test_a_block_that_fails_is_told_by_itself(tmp_path: Path) -> None:
    guide = tmp_path / "guide.md"
    guide.write_text("".join(f"```sh\n{text}\n```\n" for text in ("seq 90", "seq 40; rm none")))
    words = ["bash", "-c", script(guide)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    told = failure(guide, done.returncode, done.stdout.split(DIVIDER), done.stderr).splitlines()
    assert told[0] == f"{guide}: sh block 2 ended with status 1:"
    assert told[1] == "seq 40; rm none"
    assert "none" in told[3]
    assert told[-31:] == ["---- its standard output", *map(str, range(11, 41))]
