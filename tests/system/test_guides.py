"""The guides, executed: the `sh` blocks of a page run in order, an `output` block is the output of one.

Times, shares and widths of tables are masked. A tutorial shows standard error, too. A page starts in an empty
directory. If a how-to uses `./app`, the block of the first page of the how-to makes it. A block of source
code begins with a comment that names its file.
"""

from __future__ import annotations

import os
import platform
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
# A time or a share: a number with its unit. An interval: two numbers in brackets.
AMOUNT = re.compile(r"[-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)? ?(?:ns|µs|ms|s|min|h|%)(?!\w)|\[[-+−\d., ]+\]")
# How-tos that measure, run a program often, or show what other tests of `make test` cover.
LONG = frozenset(
    {
        "how-to/campaign",
        "how-to/ci",
        "how-to/faster-collectives",
        "how-to/hide/advection",
        "how-to/measure-collectives",
        "how-to/measure-halo",
        "how-to/measure-machine",
        "how-to/noise",
        "how-to/placement",
        "how-to/scaling",
        "how-to/shared-memory",
        "how-to/slower-network",
        "how-to/two-versions",
    }
)


@dataclass(frozen=True)
class Guide:
    """A page with commands."""

    name: str
    text: str

    @property
    def blocks(self) -> list[tuple[str, str]]:
        return BLOCK.findall(self.text)

    @property
    def script(self) -> str:
        """All shell blocks as one script, as a block may use what an earlier one set."""
        shell = [text for kind, text in self.blocks if kind == "sh"]
        head = "set -e\nexec 2>&1\n" if self.is_tutorial else f"set -e\n{self._app}"
        return head + "".join(f"{text}printf -- '{DIVIDER[:-1]}\\n'\n" for text in shell)

    @property
    def is_tutorial(self) -> bool:
        return self.name.startswith("tutorial/")

    @property
    def _app(self) -> str:
        if not self.name.startswith("how-to/") or self.name == "how-to/README" or "./app" not in self.text:
            return ""
        return "".join(text for _, text in BLOCK.findall((DOCS / "how-to/README.md").read_text()))


GUIDES = [
    Guide(page.relative_to(DOCS).with_suffix("").as_posix(), page.read_text())
    for folder in ("start", "tutorial", "how-to")
    for page in sorted((DOCS / folder).rglob("*.md"))
    if "\n```sh\n" in page.read_text()
]


def need_scotch(mpi: Mpi) -> None:
    if not (shutil.which("scotch_gmap") or shutil.which("gmap")):
        missing("Scotch is not installed: apt-get install scotch")


def need_fortran(mpi: Mpi) -> None:
    if mpi.mpifort is None or not shutil.which("gfortran"):
        missing(f"{mpi.name} has no Fortran compiler: apt-get install gfortran")


NEEDS: Mapping[str, Callable[[Mpi], None]] = {
    "how-to/placement": need_scotch,
    "how-to/hide/decay": need_fortran,
}


def test_guides_are_found_by_their_names() -> None:
    assert {*LONG, *NEEDS} <= {guide.name for guide in GUIDES}


@pytest.mark.parametrize(
    "guide",
    [
        pytest.param(
            guide, id=guide.name, marks=[pytest.mark.long] if guide.is_tutorial or guide.name in LONG else []
        )
        for guide in GUIDES
    ],
)
def test_guide(guide: Guide, any_mpi: Mpi, haloscope: Path, tmp_path: Path) -> None:
    if guide.name in NEEDS:
        NEEDS[guide.name](any_mpi)
    environment = tools(any_mpi)
    environment["PATH"] = f"{haloscope.parent}{os.pathsep}{environment['PATH']}"
    wrong = run(guide, tmp_path, environment)
    if wrong is not None:
        pytest.fail(wrong, pytrace=False)


def run(guide: Guide, folder: Path, environment: Mapping[str, str]) -> str | None:
    """Return a failure of a guide, None without one."""
    for text, name in SOURCE.findall(guide.text):
        (folder / name).write_text(text)
    done = subprocess.run(
        ["bash", "-c", guide.script],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    printed = done.stdout.split(DIVIDER)
    shell = [text for kind, text in guide.blocks if kind == "sh"]
    if done.returncode:
        failed = shell[len(printed) - 1]  # each block that ends well prints a divider
        return f"status {done.returncode} of\n{failed}\n{done.stderr}\n{printed[-1]}"
    assert len(printed) == len(shell) + 1
    ran = -1
    for kind, text in guide.blocks:
        ran += kind == "sh"
        if kind == "output" and masked(printed[ran], folder) != masked(text, folder):
            return f"other output:\n{shell[ran]}\n{printed[ran]}"
    return None


def masked(text: str, folder: Path) -> str:
    """Return a text without times, widths of columns, and names of this machine."""
    here = text.replace(f"{folder}/", "").replace(platform.node(), "vm")
    return " ".join(AMOUNT.sub("~", here.replace("─", " ")).split())


def test_links_lead_somewhere() -> None:
    pages = [*CHECKOUT.glob("*.md"), *DOCS.rglob("*.md")]
    links = [(page, target) for page in pages for target in LINK.findall(page.read_text())]
    assert len(links) > 100
    assert [(str(page), target) for page, target in links if not (page.parent / target).exists()] == []
