"""The guides, executed: the `sh` blocks of a page run in order, and the printed blocks are their output.

An `output` block is the whole output of the `sh` block above it. Each line of a `text` block is in this
output, and each line that a `console` block shows is in that of the page (support/printed.py: times are
masked). A block without a comparison has a reason above it. Standard error is shown, too.

Of the pages in SHOWN, the first `console` block runs, and prints its own text.

A page starts in an empty directory. If it uses `./app`, the block of the first page of the how-to makes it. A
block of source code begins with a comment that names its file.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.missing import missing
from support.mpi import CHECKOUT, Mpi
from support.mpis import tools
from support.printed import commands_output, unprinted
from support.processes import run_program
from support.programs import mpifort

DOCS = CHECKOUT / "docs"
FOLDERS = ("start", "tutorial", "how-to")
# <!-- not compared: REASON -->, and the block.
NOT_COMPARED = re.compile(r"^<!-- not compared: [^\n]+ -->\n```.*?^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(sh|output|text|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#:]+)(?:#[^)]*)?\)")
SOURCE = re.compile(r"^```(?:c|cpp|fortran)\n((?:/\*|//|!) (\S+).*?)^```$", re.MULTILINE | re.DOTALL)
DIVIDER = "---- end of block ----\n"
# How-tos that measure, run a program often, or show what other tests of `make test` cover.
LONG = frozenset(
    """
        how-to/campaign how-to/ci how-to/faster-collectives how-to/hide/advection how-to/measure-collectives
        how-to/measure-halo how-to/measure-machine how-to/noise how-to/placement how-to/scaling
        how-to/shared-memory how-to/slower-network how-to/two-versions
    """.split()
)
# Pages elsewhere whose first block is a command with its output; True: in test-long.
SHOWN = {
    "cite": False,
    "reference/study": False,
    "reference/show": False,
    "reference/bench": True,
    "reference/bench-halo": True,
    "reference/bench-p2p": True,
}


@dataclass(frozen=True)
class Guide:
    """A page with commands."""

    name: str
    text: str

    @property
    def blocks(self) -> list[tuple[str, str]]:
        return BLOCK.findall(NOT_COMPARED.sub("", self.text))

    @property
    def script(self) -> str:
        """All shell blocks as one script, as a block may use what an earlier one set."""
        shell = [text for kind, text in self.blocks if kind == "sh"]
        head = f"set -e\n{self._app}exec 2>&1\n"
        return head + "".join(f"{text}printf -- '{DIVIDER[:-1]}\\n'\n" for text in shell)

    @property
    def is_tutorial(self) -> bool:
        return self.name.startswith("tutorial/")

    @property
    def _app(self) -> str:
        if self.is_tutorial or self.name == "how-to/README" or "./app" not in self.text:
            return ""
        return "".join(text for _, text in BLOCK.findall((DOCS / "how-to/README.md").read_text()))


GUIDES = [
    Guide(page.relative_to(DOCS).with_suffix("").as_posix(), page.read_text())
    for folder in FOLDERS
    for page in sorted((DOCS / folder).rglob("*.md"))
    if "\n```sh\n" in page.read_text()
]


def need_scotch(mpi: Mpi) -> None:
    if not (shutil.which("scotch_gmap") or shutil.which("gmap")):
        missing("Scotch is not installed: apt-get install scotch")


NEEDS: Mapping[str, Callable[[Mpi], object]] = {"how-to/placement": need_scotch, "how-to/hide/decay": mpifort}


def test_guides_are_found_by_their_names() -> None:
    assert {*LONG, *NEEDS} <= {guide.name for guide in GUIDES}


def test_an_output_without_a_command_that_runs_has_a_reason() -> None:
    demo = {"README", "start/first-profile"}  # tests/system/test_demo.py
    ran = {guide.name for guide in GUIDES}
    pages = {page.relative_to(DOCS).with_suffix("").as_posix(): page for page in DOCS.rglob("*.md")}
    shown = [
        (name, commands_output(text) if kind == "console" else text)
        for name, page in (pages | {"README": CHECKOUT / "README.md"}).items()
        if name not in ran
        for kind, text in Guide(name, page.read_text()).blocks[name in SHOWN :]
        if kind != "sh"
    ]
    assert {name for name, text in shown if text} == demo


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if long else []) for name, long in SHOWN.items()]
)
def test_the_first_block_of_a_page(name: str, any_mpi: Mpi, haloscope: Path, tmp_path: Path) -> None:
    guide = Guide(name, (DOCS / f"{name}.md").read_text())
    kind, console = guide.blocks[0]
    assert kind == "console"
    commands = "".join(line[2:] for line in console.splitlines(keepends=True) if line.startswith("$ "))
    app = "".join(text for _, text in BLOCK.findall((DOCS / "how-to/README.md").read_text()))
    record = "haloscope run --quiet -o app.halo -- mpiexec -n 2 ./app > /dev/null\n"
    script = f"set -e\n{app + record if 'app.halo' in commands else ''}{commands}"
    shutil.copy(CHECKOUT / "CITATION.cff", tmp_path)
    environment = tools(any_mpi)
    environment["PATH"] = f"{haloscope.parent}{os.pathsep}{environment['PATH']}"
    printed = run_program(["bash", "-c", script], env=environment, cwd=tmp_path).stdout
    assert unprinted(kind, console, printed, tmp_path) == ""


@pytest.mark.parametrize(
    "guide",
    [
        pytest.param(
            guide, id=guide.name, marks=[pytest.mark.long] if guide.is_tutorial or guide.name in LONG else []
        )
        for guide in GUIDES
    ],
)
def test_guide(
    guide: Guide, any_mpi: Mpi, haloscope: Path, tmp_path: Path, script: Callable[..., Any]
) -> None:
    if guide.name in NEEDS:
        NEEDS[guide.name](any_mpi)
    environment = tools(any_mpi)
    environment["PATH"] = f"{haloscope.parent}{os.pathsep}{environment['PATH']}"
    # Tutorials show what takes time: other programs must not.
    before = script("common", "benchmarks").undisturbed() if guide.is_tutorial else []
    wrong = run(guide, tmp_path, environment, before)
    if wrong is not None:
        pytest.fail(wrong, pytrace=False)


def run(guide: Guide, folder: Path, environment: Mapping[str, str], before: Sequence[str] = ()) -> str | None:
    """Return a failure of a guide, None without one. `before`: the words before the shell."""
    for text, name in SOURCE.findall(guide.text):
        (folder / name).write_text(text)
    done = run_program([*before, "bash", "-c", guide.script], env=environment, cwd=folder, status=None)
    printed = done.stdout.split(DIVIDER)
    shell = [text for kind, text in guide.blocks if kind == "sh"]
    if done.returncode:
        failed = shell[len(printed) - 1]  # each block that ends well prints a divider
        return f"status {done.returncode} of\n{failed}\n{done.stderr}\n{printed[-1]}"
    assert len(printed) == len(shell) + 1
    ran = -1
    for kind, text in guide.blocks:
        ran += kind == "sh"
        output = "".join(printed) if kind == "console" else printed[ran]
        if kind != "sh" and (absent := unprinted(kind, text, output, folder)):
            return f"not printed:\n{absent}\nbut by\n{shell[ran]}\n{output}"
    return None


def test_links_lead_somewhere() -> None:
    pages = [*CHECKOUT.glob("*.md"), *DOCS.rglob("*.md")]
    links = [(page, target) for page in pages for target in LINK.findall(page.read_text())]
    assert len(links) > 100
    assert [(str(page), target) for page, target in links if not (page.parent / target).exists()] == []
