"""Lines of source at addresses equal those of addr2line, for every place of debug information."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from haloscope import explain
from support.missing import missing
from support.processes import run_program
from support.profiles import columns_of, draft, path_rows

pytestmark = pytest.mark.slow  # compiles programs, and asks binutils about them
PROGRAMS = Path(__file__).with_name("programs")
LONGEST = max(len(file.read_text().splitlines()) for file in PROGRAMS.glob("nested.*"))
TOOLS = {"cpp": "g++", "f90": "gfortran"}
# The name of a function, its file or None, and its line or 0.
Function = tuple[str, str | None, int]
Functions = dict[int, list[Function]]


@dataclass(frozen=True)
class Module:
    """A file with calls of MPI, its build-id, and the return addresses of the calls."""

    path: Path | str
    addresses: Sequence[int] = (1,)
    build: str = ""


@dataclass(frozen=True)
class Answer:
    """A profile's data of a module: the functions at addresses, innermost first, and a remark."""

    functions: Functions
    remark: str


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`compiled("cpp", "-no-pie")` is an optimised program with debug information."""
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
    listing = run_program(["objdump", "-d", "-j", ".text", "--no-show-raw-insn", program]).stdout.splitlines()
    return [
        int(after.split(":")[0], 16)
        for before, after in pairwise(listing)
        if re.search(r"\tcall", before) and re.match(r"\s+[0-9a-f]+:", after)
    ]


LookUp = Callable[..., list[Answer]]


@pytest.fixture
def look_up(tmp_path: Path) -> LookUp:
    """`look_up(modules)` records calls from addresses in modules, and returns a profile's data of them.

    `ended` is the end of the run, in seconds since 1970; by default in the future.
    """

    def keep(*modules: Module, ended: float = 4e9) -> list[Answer]:
        keys = [f"{number:08x}" for number in range(len(modules))]
        named = [
            {"module": key, "file": str(module.path), "build": module.build, "is_program": 1}
            for key, module in zip(keys, modules, strict=True)
        ]
        sites = [
            {"stack": f"{key}+{address:x}", "call": "MPI_Send", "calls": 1, "ranks": 1}
            for key, module in zip(keys, modules, strict=True)
            for address in module.addresses
        ]
        made = draft({"start": ended, "duration": 0.0}, paths=path_rows(), modules=named, sites=sites)
        made.tables |= {"symbols": columns_of("symbols", [])}
        path = made.write(tmp_path / "looked-up.halo")
        remarks = explain.keep_symbols(path)
        with explain.open(path) as profile:
            rows = profile.frame("symbols").sort("module", "offset", "depth")
        found: dict[str, Functions] = {key: {} for key in keys}
        for row in rows.iter_rows(named=True):
            function = (row["function"], row["file"] or None, row["line"])
            found[row["module"]].setdefault(row["offset"], []).append(function)
        return [
            Answer(found[key], remark_on(module, remarks)) for key, module in zip(keys, modules, strict=True)
        ]

    return keep


def remark_on(module: Module, remarks: Sequence[str]) -> str:
    begin = f"{module.path}: "
    return next((line.removeprefix(begin) for line in remarks if line.startswith(begin)), "")


def build_of(program: Path) -> str:
    """The build-id of a program."""
    notes = run_program(["readelf", "-n", program]).stdout
    (build,) = re.findall(r"Build ID: ([0-9a-f]+)", notes)
    return str(build)


def told_by_binutils(program: Path, addresses: Sequence[int]) -> Functions:
    command = ["addr2line", "-a", "-i", "-f", "-C", "-e", str(program), *(hex(a - 1) for a in addresses)]
    lines = iter(run_program(command).stdout.splitlines())
    told: Functions = {}
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
    compiled: Callable[..., Path], look_up: LookUp, language: str, options: tuple[str, ...]
) -> None:
    program = compiled(language, *options)
    addresses = calls_in(program)
    (answer,) = look_up(Module(program, addresses))
    assert answer.remark == ""
    told = told_by_binutils(program, addresses)
    assert {at: in_program(answer.functions.get(at, ())) for at in addresses} == {
        at: in_program(told[at]) for at in addresses
    }
    assert sum(len(in_program(functions)) for functions in told.values()) > 3
    named = [at for at in addresses if len(answer.functions.get(at, ())) == 1 and language == "cpp"]
    assert named or language != "cpp"
    assert {at: answer.functions[at][0][0] for at in named} == {at: told[at][0][0] for at in named}


@pytest.mark.parametrize(
    "options", [("-gdwarf-5",), ("-gdwarf-4",), ("-gdwarf-5", "-Wl,--compress-debug-sections=zlib")], ids=str
)
def test_the_line_table_is_read_if_the_rest_is_split(
    compiled: Callable[..., Path], look_up: LookUp, options: tuple[str, ...]
) -> None:
    whole, split = compiled("cpp", *options), compiled("cpp", *options, "-gsplit-dwarf")
    addresses = calls_in(split)
    assert addresses == calls_in(whole)
    (answer,) = look_up(Module(split, addresses))
    lines = {at: in_program(answer.functions.get(at, ())) for at in addresses}
    innermost = {at: in_program(told[:1]) for at, told in told_by_binutils(whole, addresses).items()}
    assert lines == innermost
    assert sum(map(len, lines.values())) > 3


def test_inlined_functions(compiled: Callable[..., Path], look_up: LookUp) -> None:
    program = compiled("cpp")
    (answer,) = look_up(Module(program, calls_in(program)))
    known = answer.functions.values()
    chains = {tuple((name, line) for name, _, line in found) for found in known}
    give = ("deep::Box<double>::give(int)", 10)
    assert (give, ("deep::Box<double>::twice(int)", 12)) in chains
    assert (give, ("outer(deep::Box<double>&, int)", 20), ("in_c", 25)) in chains
    assert (("outer(deep::Box<double>&, int)", 21), ("in_c", 25)) in chains
    assert (("hidden(deep::Box<double>&)", 28),) in chains


def test_names_of_fortran_are_those_of_the_source(compiled: Callable[..., Path], look_up: LookUp) -> None:
    program = compiled("f90")
    (answer,) = look_up(Module(program, calls_in(program)))
    known = answer.functions.values()
    names = {name for found in known for name, _, line in found if line}
    assert {"talking::exchange", "outside", "main"} <= names
    assert not any(name.endswith("_") for name in names)


def test_without_debug_information_there_are_exported_functions(
    compiled: Callable[..., Path], look_up: LookUp, tmp_path: Path
) -> None:
    program = compiled("cpp", "-rdynamic")
    addresses = calls_in(program)
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, program], check=True)
    whole, answer = look_up(Module(program, addresses), Module(stripped, addresses))
    full = whole.functions
    assert "compile with -g" in answer.remark
    for at, ((name, file, line),) in answer.functions.items():
        assert (file, line) == (None, 0)
        assert name == full[at][-1][0]
    names = {found[0][0] for found in answer.functions.values()}
    assert {"in_c", "main"} <= names
    # It is not exported, so it is unknown. The name of a neighbour would be wrong.
    assert not any(found[-1][0].startswith("hidden") for found in answer.functions.values())
    assert any(at not in answer.functions for at, found in full.items() if found[-1][0].startswith("hidden"))


@pytest.mark.parametrize("folder", [".", ".debug"])
def test_debug_information_in_a_separate_file(
    compiled: Callable[..., Path], look_up: LookUp, tmp_path: Path, folder: str
) -> None:
    program = compiled("cpp")
    addresses = calls_in(program)
    split = separate(program, tmp_path, folder)
    whole, answer = look_up(Module(program, addresses), Module(split, addresses))
    assert answer == whole
    assert answer.functions
    # A file of another build is ignored.
    debug = tmp_path / folder / "program.debug"
    debug.write_bytes(debug.read_bytes() + b" ")
    (other,) = look_up(Module(split, addresses))
    assert "compile with -g" in other.remark
    assert all(file is None for found in other.functions.values() for _, file, _ in found)


def separate(program: Path, place: Path, folder: str) -> Path:
    """A program whose debug information is in a subfolder of its folder."""
    (place / folder).mkdir(exist_ok=True)
    debug, split = place / folder / "program.debug", place / "program"
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", program, split], check=True)
    return split


def test_debug_information_by_build_identity(
    compiled: Callable[..., Path], look_up: LookUp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compiled("cpp", "-Wl,--build-id")
    addresses, build = calls_in(program), build_of(program)
    kept = tmp_path / build
    kept.mkdir()
    subprocess.run(["objcopy", "--only-keep-debug", program, kept / "debuginfo"], check=True)
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path))
    gone = Module(tmp_path / "gone", addresses, build)
    whole, answer = look_up(Module(program, addresses, build), gone)
    assert answer == whole
    assert answer.functions


def test_missing_files_are_reported(compiled: Callable[..., Path], look_up: LookUp, tmp_path: Path) -> None:
    program = compiled("cpp", "-Wl,--build-id")
    text = tmp_path / "text"
    text.write_text("no program")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    remarks = {
        Module(tmp_path / "gone"): "does not exist any more",
        Module(program, (1,), "0123456789abcdef"): "was replaced by a different build since the run",
        Module(text): "cannot be read",
        Module(pipe): "cannot be read",
        Module("linux-vdso.so.1"): "is not a file",
        Module("./program"): "does not exist any more",
    }
    answers = look_up(*remarks)
    assert [answer.remark for answer in answers] == [*remarks.values()]
    (changed,) = look_up(Module(program), ended=1.0)
    assert changed.remark == "was changed since the run"
    assert all(not answer.functions for answer in (*answers, changed))


def test_malicious_files(compiled: Callable[..., Path], look_up: LookUp, tmp_path: Path) -> None:
    """A malicious file does not prevent answers for other files."""
    program = compiled("cpp")
    content, addresses = program.read_bytes(), calls_in(program)
    chance = random.Random(1)
    modules = []
    for number in range(60):
        harmed = bytearray(content[: chance.choice([64, 1000, len(content)])])
        for _ in range(chance.choice([1, 10, 300])):
            place = chance.choice([chance.randrange(64), chance.randrange(len(harmed))])
            harmed[min(place, len(harmed) - 1)] = chance.randrange(256)
        file = tmp_path / f"harmed-{number}"
        file.write_bytes(harmed)
        modules.append(Module(file, addresses))
    right = Module(program, addresses)
    answers = look_up(*modules, right)
    (alone,) = look_up(right)
    assert answers[-1] == alone
    assert alone.functions


# Python runs this module when it starts.
DEADLY = """
import os, signal, sys

def or_die(event, values):
    if event == "open" and str(values[0]).endswith("/deadly"):
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(or_die)
"""


def test_a_reader_that_dies_loses_one_file(
    compiled: Callable[..., Path], look_up: LookUp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compiled("cpp")
    addresses = calls_in(program)
    for name in ("first", "deadly", "last"):
        shutil.copy(program, tmp_path / name)
    (tmp_path / "sitecustomize.py").write_text(DEADLY)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    first, dead, last = look_up(*(Module(tmp_path / name, addresses) for name in ("first", "deadly", "last")))
    assert first == last
    assert first.functions
    assert dead.functions == {}
    assert dead.remark == "has debug information that cannot be read"
