"""The guides, executed: the `sh` blocks of a section run in order, an `output` block is what the last prints.

A section starts in an empty directory with the blocks that are before the first heading of its page. A block
of source code begins with a comment that names its file.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.missing import missing
from support.mpi import CHECKOUT, Mpi
from support.mpis import tools

DOCS = CHECKOUT / "docs"
BLOCK = re.compile(r"^```(sh|output)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#:]+)(?:#[^)]*)?\)")
SOURCE = re.compile(r"^```(?:c|cpp|fortran)\n((?:/\*|//|!) (\S+).*?)^```$", re.MULTILINE | re.DOTALL)
DIVIDER = "---- end of block ----\n"
BY_SECTION = ("how-to/README", "how-to/launchers", "how-to/hide/README")
WHOLE = ("tutorial/README", "tutorial/faster", "tutorial/solver")
# Sections that measure, run a program often, or show what other tests of `make test` cover.
LONG = frozenset(
    {
        "Bring ranks that talk to one node",
        "Finite volumes, in C++, with overlap",
        "From a directory of runs to the figures of a paper",
        "Keep a program's communication as it is",
        "Make a program's collectives faster",
        "Make halo exchange faster without changing the program",
        "Measure a machine",
        "Measure collectives",
        "Measure halo exchanges",
        "Run a campaign",
        "See what a change changed",
        "Tell the program from the machine",
        "Try a program on a slower network",
        *WHOLE,
    }
)


@dataclass(frozen=True)
class Part:
    """A section of a page, or a whole page, with the commands that it begins with."""

    title: str
    text: str

    @property
    def blocks(self) -> list[tuple[str, str]]:
        return BLOCK.findall(self.text)

    @property
    def script(self) -> str:
        """All shell blocks as one script, as a block may use what an earlier one set."""
        shell = [text for kind, text in self.blocks if kind == "sh"]
        return "set -e\n" + "".join(f"{text}printf -- '{DIVIDER[:-1]}\\n'\n" for text in shell)


def sections(page: str) -> list[Part]:
    head, *rest = re.split(r"^## ", (DOCS / f"{page}.md").read_text(), flags=re.MULTILINE)
    parts = [Part(text.partition("\n")[0], head + text) for text in rest if "\n```sh\n" in text]
    assert len(parts) > 1, page
    return parts


PARTS = [
    *(part for page in BY_SECTION for part in sections(page)),
    *(Part(page, (DOCS / f"{page}.md").read_text()) for page in WHOLE),
]


def need_scotch(mpi: Mpi) -> None:
    if not (shutil.which("scotch_gmap") or shutil.which("gmap")):
        missing("Scotch is not installed: apt-get install scotch")


def need_fortran(mpi: Mpi) -> None:
    if mpi.mpifort is None or not shutil.which("gfortran"):
        missing(f"{mpi.name} has no Fortran compiler: apt-get install gfortran")


NEEDS: Mapping[str, Callable[[Mpi], None]] = {
    "Bring ranks that talk to one node": need_scotch,
    "A halo exchange, in Fortran, with halo": need_fortran,
}


def test_sections_are_named_as_in_the_guides() -> None:
    assert {*LONG, *NEEDS} <= {part.title for part in PARTS}


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(part, id=part.title, marks=[pytest.mark.long] if part.title in LONG else [])
        for part in PARTS
    ],
)
def test_guide(part: Part, any_mpi: Mpi, haloscope: Path, tmp_path: Path) -> None:
    if part.title in NEEDS:
        NEEDS[part.title](any_mpi)
    for text, name in SOURCE.findall(part.text):
        (tmp_path / name).write_text(text)
    environment = tools(any_mpi)
    environment["PATH"] = f"{haloscope.parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        ["bash", "-c", part.script],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    printed = done.stdout.split(DIVIDER)
    shell = [text for kind, text in part.blocks if kind == "sh"]
    if done.returncode:
        failed = shell[len(printed) - 1]  # each block that ends well prints a divider
        pytest.fail(f"status {done.returncode} of\n{failed}\n{done.stderr}\n{printed[-1]}", pytrace=False)
    assert len(printed) == len(shell) + 1
    ran = -1
    for kind, text in part.blocks:
        ran += kind == "sh"
        if kind == "output":
            assert printed[ran] == text


def test_links_lead_somewhere() -> None:
    pages = [*CHECKOUT.glob("*.md"), *DOCS.rglob("*.md")]
    links = [(page, target) for page in pages for target in LINK.findall(page.read_text())]
    assert len(links) > 100
    assert [(str(page), target) for page, target in links if not (page.parent / target).exists()] == []
