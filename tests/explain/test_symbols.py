"""Lines of source at addresses: as addr2line has them, wherever debug information is, and none made up."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from haloscope.explain.sites import _symboliser
from haloscope.explain.sites._elf import read_elf
from haloscope.explain.sites._symboliser import Answer, Function, Request, ask
from support.missing import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PROGRAMS = Path(__file__).with_name("programs")
LONGEST = max(len(file.read_text().splitlines()) for file in PROGRAMS.glob("nested.*"))
TOOLS = {"cpp": "g++", "f90": "gfortran"}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`compiled("cpp", "-no-pie")` is a program with debug information, as optimised as programs are."""
    made: dict[tuple[str, ...], Path] = {}

    def compile_once(language: str, *options: str) -> Path:
        key = (language, *options)
        if key not in made:
            for tool in (TOOLS[language], "objdump", "addr2line", "objcopy", "strip"):
                if shutil.which(tool) is None:
                    missing(f"no {tool}: apt-get install binutils g++ gfortran")
            made[key] = tmp_path_factory.mktemp("program") / "program"
            source = PROGRAMS / f"nested.{language}"
            command = [TOOLS[language], "-g", "-O2", *options, str(source), "-o", str(made[key])]
            subprocess.run(command, check=True, cwd=made[key].parent)
        return made[key]

    return compile_once


def calls_in(program: Path) -> list[int]:
    """The return addresses of all calls in a program."""
    listing = subprocess.run(
        ["objdump", "-d", "-j", ".text", "--no-show-raw-insn", program],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return [
        int(after.split(":")[0], 16)
        for before, after in pairwise(listing)
        if re.search(r"\tcall", before) and re.match(r"\s+[0-9a-f]+:", after)
    ]


def looked_up(program: Path, addresses: Sequence[int], build: str | None = None) -> Answer:
    """What is said of return addresses, as that of the instruction before."""
    elf = read_elf(program)
    known = build if build is not None else elf.build if elf is not None else ""
    (answer,) = ask([Request(str(program), known, None, [address - 1 for address in addresses])])
    return Answer({address + 1: found for address, found in answer.functions.items()}, answer.remark)


def told_by_binutils(program: Path, addresses: Sequence[int]) -> dict[int, list[Function]]:
    command = ["addr2line", "-a", "-i", "-f", "-C", "-e", str(program), *(hex(a - 1) for a in addresses)]
    lines = iter(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines())
    told: dict[int, list[Function]] = {}
    for line in lines:
        if re.fullmatch(r"0x[0-9a-f]+", line):
            at = int(line, 16) + 1
            told[at] = []
        else:
            file, _, number = re.sub(r" \(discriminator \d+\)", "", next(lines)).rpartition(":")
            told[at].append((line, file, int(number) if number.isdecimal() else 0))
    return told


def in_program(functions: Sequence[Function]) -> list[tuple[str, int]]:
    """Files and lines of the program itself.

    Of headers, addr2line takes some for the program's file, on lines that this has not.
    """
    known = [(Path(file), line) for _, file, line in functions if file is not None and line]
    return [(file.name, line) for file, line in known if file.parent == PROGRAMS and line <= LONGEST]


@pytest.mark.parametrize(
    ("language", "options"),
    [
        ("cpp", ()),
        ("cpp", ("-no-pie",)),
        ("cpp", ("-gdwarf-4",)),
        ("cpp", ("-O0",)),
        ("f90", ()),
        ("f90", ("-no-pie",)),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else value,
)
def test_lines_are_those_of_addr2line(
    compiled: Callable[..., Path], language: str, options: tuple[str, ...]
) -> None:
    program = compiled(language, *options)
    addresses = calls_in(program)
    answer = looked_up(program, addresses)
    assert answer.remark == ""
    told = told_by_binutils(program, addresses)
    assert {at: in_program(answer.functions.get(at, ())) for at in addresses} == {
        at: in_program(told[at]) for at in addresses
    }
    assert sum(len(in_program(functions)) for functions in told.values()) > 3
    named = [at for at in addresses if len(answer.functions.get(at, ())) == 1 and language == "cpp"]
    assert {at: answer.functions[at][0][0] for at in named} == {at: told[at][0][0] for at in named}


def test_functions_that_were_put_into_others(compiled: Callable[..., Path]) -> None:
    program = compiled("cpp")
    known = looked_up(program, calls_in(program)).functions.values()
    chains = {tuple((name, line) for name, _, line in found) for found in known}
    give = ("deep::Box<double>::give(int)", 10)
    assert (give, ("deep::Box<double>::twice(int)", 12)) in chains
    assert (give, ("outer(deep::Box<double>&, int)", 20), ("in_c", 25)) in chains
    assert (("outer(deep::Box<double>&, int)", 21), ("in_c", 25)) in chains
    assert (("hidden(deep::Box<double>&)", 28),) in chains


def test_names_of_fortran_are_those_of_the_source(compiled: Callable[..., Path]) -> None:
    program = compiled("f90")
    known = looked_up(program, calls_in(program)).functions.values()
    names = {name for found in known for name, _, line in found if line}
    assert {"talking::exchange", "outside", "main"} <= names
    assert not any(name.endswith("_") for name in names)


def test_without_debug_information_there_are_exported_functions(
    compiled: Callable[..., Path], tmp_path: Path
) -> None:
    program = compiled("cpp", "-rdynamic")
    full = looked_up(program, calls_in(program)).functions
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, program], check=True)
    answer = looked_up(stripped, calls_in(program))
    assert "compile with -g" in answer.remark
    for at, ((name, file, line),) in answer.functions.items():
        assert (file, line) == (None, 0)
        assert name == full[at][-1][0]
    names = {found[0][0] for found in answer.functions.values()}
    assert {"in_c", "main"} <= names
    # Nobody exports it, so it is unknown, and not taken for a neighbour.
    assert not any(found[-1][0].startswith("hidden") for found in answer.functions.values())
    assert any(at not in answer.functions for at, found in full.items() if found[-1][0].startswith("hidden"))


@pytest.mark.parametrize("folder", [".", ".debug"])
def test_debug_information_in_a_file_beside(
    compiled: Callable[..., Path], tmp_path: Path, folder: str
) -> None:
    program = compiled("cpp")
    addresses = calls_in(program)
    split = separate(program, tmp_path, folder)
    answer = looked_up(split, addresses)
    assert answer == looked_up(program, addresses)
    # One of another build is not taken.
    debug = tmp_path / folder / "program.debug"
    debug.write_bytes(debug.read_bytes() + b" ")
    other = looked_up(split, addresses)
    assert "compile with -g" in other.remark
    assert all(file is None for found in other.functions.values() for _, file, _ in found)


def separate(program: Path, place: Path, folder: str) -> Path:
    """A program whose debug information is in a folder beside it."""
    (place / folder).mkdir(exist_ok=True)
    debug, split = place / folder / "program.debug", place / "program"
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", program, split], check=True)
    return split


def test_debug_information_by_build_identity(
    compiled: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compiled("cpp", "-Wl,--build-id")
    elf = read_elf(program)
    assert elf is not None
    kept = tmp_path / elf.build
    kept.mkdir()
    subprocess.run(["objcopy", "--only-keep-debug", program, kept / "debuginfo"], check=True)
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path))
    # The program itself is gone.
    answer = looked_up(tmp_path / "gone", calls_in(program), elf.build)
    assert answer == looked_up(program, calls_in(program))


def test_what_is_not_there_is_said(compiled: Callable[..., Path], tmp_path: Path) -> None:
    program = compiled("cpp", "-Wl,--build-id")
    text = tmp_path / "text"
    text.write_text("no program")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    requests = [
        Request(str(tmp_path / "gone"), "", None, [1]),
        Request(str(program), "0123456789abcdef", None, calls_in(program)),
        Request(str(program), "", 1.0, calls_in(program)),
        Request(str(text), "", None, [1]),
        Request(str(pipe), "", None, [1]),
        Request("linux-vdso.so.1", "", None, [1]),
        Request("./program", "", None, [1]),
    ]
    answers = ask(requests)
    assert all(not answer.functions for answer in answers)
    assert [answer.remark for answer in answers] == [
        "is not there any more",
        "was replaced by another build since the run",
        "was changed since the run",
        "cannot be read",
        "cannot be read",
        "is no file",
        "is not there any more",
    ]


def test_files_that_were_made_to_harm(compiled: Callable[..., Path], tmp_path: Path) -> None:
    """Whatever a file says, there is an answer to each question, and the others are answered rightly."""
    program = compiled("cpp")
    content, addresses = program.read_bytes(), calls_in(program)
    right = looked_up(program, addresses)
    chance = random.Random(1)
    requests = []
    for number in range(60):
        harmed = bytearray(content[: chance.choice([64, 1000, len(content)])])
        for _ in range(chance.choice([1, 10, 300])):
            place = chance.choice([chance.randrange(64), chance.randrange(len(harmed))])
            harmed[min(place, len(harmed) - 1)] = chance.randrange(256)
        file = tmp_path / f"harmed-{number}"
        file.write_bytes(harmed)
        requests.append(Request(str(file), "", None, [address - 1 for address in addresses]))
    requests.append(Request(str(program), "", None, [address - 1 for address in addresses]))
    answers = ask(requests)
    assert len(answers) == len(requests)
    assert len(answers[-1].functions) == len(right.functions)


DEADLY = """
import os, signal, sys
sys.path[:] = sys.argv[1:]
from haloscope.explain.sites import _symboliser
answer = _symboliser._answer
def or_die(asked):
    if asked.path == "/deadly":
        os.kill(os.getpid(), signal.SIGKILL)
    return answer(asked)
_symboliser._answer = or_die
_symboliser.main()
"""


def test_a_reader_that_dies_takes_one_file_with_it(
    compiled: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compiled("cpp")
    monkeypatch.setattr(_symboliser, "_CHILD", DEADLY)
    good = Request(str(program), "", None, [address - 1 for address in calls_in(program)])
    first, dead, last = ask([good, Request("/deadly", "", None, [1]), good])
    assert first == last
    assert first.functions
    assert dead.remark == "has debug information that cannot be read"
