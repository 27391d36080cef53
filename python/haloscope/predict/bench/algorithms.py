"""The algorithms of Open MPI and of MPICH, as each library lists them itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from haloscope.base.toolchain import Toolchain
from haloscope.predict.mpi_library import (
    COLLECTIVES,
    DEFAULT,
    Algorithm,
    Description,
    OtherLibrary,
    Selection,
)

_ENUMERATOR = re.compile(r"mca:coll:tuned:param:coll_tuned_(\w+)_algorithm:enumerator:value:(\d+):(.+)")
_PARAMETER = re.compile(r"mca:coll:tuned:param:(coll_tuned_\w+):value:")
# The library has a segment size for each collective, and does not say which algorithm heeds it.
# These ignore it. An algorithm that is not named here is measured with each segment size asked for.
_WHOLE = re.compile(
    r"linear|basic_linear|.*recursive.*|.*bruck.*|neighbor|two_proc|pairwise|ring"
    r"|rabenseifner|nonoverlapping|scatter_allgather.*|sparbit|butterfly|non-overlapping|default"
    r"|redscat_allgather|binomial_noseg|.*direct.*|swing.*"
)
_UNCUT = frozenset({"alltoall", "barrier", "scatter"})
# What a program that runs can't change.
_BEFORE = (
    ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1"),
    ("OMPI_MCA_coll_tuned_priority", "100"),  # before han and others, which ignore these variables
)


@dataclass(frozen=True)
class OpenMpi(OtherLibrary):
    """Open MPI 4, 5, whose parameters are set by `OMPI_MCA_…`."""

    major: int = 4
    offered: Mapping[str, tuple[Algorithm, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, said: Description, tools: Toolchain, launcher: tuple[str, ...]) -> OpenMpi:
        """Return the library with the algorithms that the `ompi_info` beside its compiler lists."""
        found = re.search(r"v?((\d+)\.[\w.]+)", said.version)
        version, major = (found[1], int(found[2])) if found else ("", 4)
        return cls(
            f"Open MPI {version}".strip(), tools, launcher, major, openmpi_algorithms(_ompi_info(tools))
        )

    def algorithms(self, collective: str) -> tuple[Algorithm, ...]:
        return (Algorithm(collective), *self.offered.get(collective, ()))

    def select(self, algorithm: Algorithm) -> Selection | None:
        if algorithm.settings and algorithm.number is None:
            return None  # not of those that it lists
        launched = tuple(pair for pair in algorithm.settings if pair in _BEFORE)
        controls = [
            f"{name.removeprefix('OMPI_MCA_')}={value}"
            for name, value in algorithm.settings
            if (name, value) not in _BEFORE
        ]
        # A communicator's algorithms are chosen when it is made.
        words = ("--settings", ",".join(controls), "--communicator", "new") if controls else ()
        return Selection(launched, words)

    def _options(self, ranks: int, environment: Mapping[str, str], mapping: str | None) -> list[str]:
        # Launchers before version 5 pass only the variables that are named to ranks on other nodes.
        names = [name for name in environment if name.startswith(("OMPI_", "HALOSCOPE_"))]
        crowded = ranks > len(os.sched_getaffinity(0)) and not self.launcher
        bound = "none" if crowded else "core"  # it refuses to bind two ranks to a core
        mapped = ["--map-by", mapping, "--bind-to", bound] if mapping else []
        passed = [word for name in names for word in ("-x", name)]
        return ["-n", str(ranks), *mapped, *passed]


def openmpi_algorithms(text: str) -> dict[str, tuple[Algorithm, ...]]:
    """Return the algorithms in what `ompi_info --param coll tuned --level 9 --parsable` prints."""
    parameters = {match[1] for match in map(_PARAMETER.match, text.splitlines()) if match}
    found: dict[str, list[Algorithm]] = {}
    for match in map(_ENUMERATOR.match, text.splitlines()):
        if match and int(match[2]) and match[1] in COLLECTIVES:
            one = _of_tuned(match[1], int(match[2]), match[3].strip(), parameters)
            found.setdefault(match[1], []).append(one)
    return {collective: tuple(ones) for collective, ones in found.items()}


def _of_tuned(collective: str, number: int, name: str, parameters: set[str]) -> Algorithm:
    stem = f"coll_tuned_{collective}_algorithm"
    settings = (*_BEFORE, (f"OMPI_MCA_{stem}", str(number)))
    segment = f"{stem}_segmentsize"
    segments = segment in parameters and (
        name == "linear_sync"
        if collective == "gather"
        else collective not in _UNCUT and not _WHOLE.fullmatch(name)
    )
    fanout = f"{stem}_chain_fanout" if name == "chain" else f"{stem}_{name}_radix"
    return Algorithm(
        collective,
        # Open MPI calls an algorithm so; here the word means the library's own choice.
        f"{DEFAULT}_{number}" if name == DEFAULT else name,
        number,
        settings,
        (f"OMPI_MCA_{segment}",) if segments else (),
        (f"OMPI_MCA_{fanout}",) if fanout in parameters else (),
    )


def _ompi_info(tools: Toolchain) -> str:
    """Return what `ompi_info` prints; nothing where there is none, and then only the default is known."""
    beside = tools.compiler.parent / "ompi_info"
    command = str(beside) if beside.is_file() else shutil.which("ompi_info")
    if command is None:
        return ""
    try:
        done = subprocess.run(
            [command, "--param", "coll", "tuned", "--level", "9", "--parsable"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


_CHOICE = re.compile(r"(\w+)\s+- (?:Force|Internal)")
_BOUND = re.compile(r"^(\w+)\s+- (?:Force|Internal)", re.MULTILINE)
_FANOUT = re.compile(r"MPIR_CVAR_([A-Z_]+?)_(TREE|RECEXCH|DISSEM|BRUCKS|[A-Z]+_MULTIPLYING)_KVAL")
_HIERARCHICAL = "smp"
_FALLBACK = "MPIR_CVAR_COLLECTIVE_FALLBACK"
_SEGMENT = re.compile(r"MPIR_CVAR_([A-Z_]+?)_(?:([A-Z]+)_)?PIPELINE_CHUNK_SIZE")


@dataclass(frozen=True)
class Mpich(OtherLibrary):
    """MPICH 4 and newer, and what is built on it and kept its `MPIR_CVAR_…`."""

    offered: Mapping[str, tuple[Algorithm, ...]] = field(default_factory=dict)
    numbers: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """The numbers of control variables' values that have names."""

    @classmethod
    def of(cls, said: Description, tools: Toolchain, launcher: tuple[str, ...]) -> Mpich:
        """Return the library with the algorithms that its control variables name."""
        found = re.search(r"Version:?\s*([\w.]+)", said.version)
        words = said.file.read_bytes() if said.file and said.file.is_file() else b""
        name = f"MPICH {found[1] if found else ''}".strip()
        offered = mpich_algorithms(said.variables, words)
        return cls(name, tools, launcher, offered, mpich_numbers(said.variables, words))

    def algorithms(self, collective: str) -> tuple[Algorithm, ...]:
        return (Algorithm(collective), *self.offered.get(collective, ()))

    def select(self, algorithm: Algorithm) -> Selection | None:
        if algorithm.name == _HIERARCHICAL:
            return None  # allreduce's never ends then; where it is launched, it is refused or works
        given = []
        for name, value in algorithm.settings:
            number = int(value) if value.isdecimal() else self.numbers.get((name, value))
            if number is None:
                return None
            given.append(f"{name}={number}")
        return Selection((), ("--settings", ",".join(given)) if given else ())

    def _options(self, ranks: int, _environment: Mapping[str, str], mapping: str | None) -> list[str]:
        mapped = ["-bind-to", "core", "-map-by", mapping] if mapping else []
        return ["-n", str(ranks), *mapped]


def mpich_algorithms(variables: Mapping[str, str], library: bytes = b"") -> dict[str, tuple[Algorithm, ...]]:
    """Return the algorithms of all collectives; `library` is the text of the library's file.

    Versions before 4.1 run the lines of a description together, so that a name follows on the word
    before it; the names of functions in the library's file tell where it begins.
    """
    found = {}
    for collective in COLLECTIVES:
        variable = _variable(collective)
        names = [name for name in _numbered(collective, variables, library) if name != "auto"]
        made = [_of_mpich(collective, name, variable, variables) for name in names]
        # Where there is `k_brucks` beside `brucks`, the k is its.
        plain = {name[2:] for name in names if name.startswith("k_")}
        if made:
            found[collective] = tuple(
                replace(one, fanout_variables=()) if one.name in plain else one for one in made
            )
    return found


def mpich_numbers(variables: Mapping[str, str], library: bytes = b"") -> dict[tuple[str, str], int]:
    """Return the number of each algorithm by its variable and name: descriptions list them from 0 on."""
    found = {
        (_variable(collective), name): number
        for collective in COLLECTIVES
        for name, number in _numbered(collective, variables, library).items()
    }
    return {**found, (_FALLBACK, "error"): 0}


def _variable(collective: str) -> str:
    return f"MPIR_CVAR_{collective.upper()}_INTRA_ALGORITHM"


def _numbered(collective: str, variables: Mapping[str, str], library: bytes) -> dict[str, int]:
    """Return the names of a collective's algorithms, each with its place in the description."""
    text = variables.get(_variable(collective), "")
    if "\n" in text:
        return {name: place for place, name in enumerate(_BOUND.findall(text))}
    stem = rf"MPIR_{collective.capitalize()}_(?:intra|allcomm)_(\w+)\0".encode()
    functions = {name.decode() for name in re.findall(stem, library)} | {"auto"}
    found: dict[str, int] = {}
    for place, word in enumerate(_CHOICE.findall(text)):
        # `Treenb`, `algorithmring`, and at the begin `algorithmauto`.
        endings = (word[at:] for at in range(len(word)))
        known = next((ending for ending in endings if ending in functions), None)
        if known:
            found.setdefault(known, place)
    return found


def _of_mpich(collective: str, name: str, variable: str, variables: Mapping[str, str]) -> Algorithm:
    settings = [(variable, name)]
    # Else the device may do the collective its own way, and unfit cases fall back without a word.
    device = f"MPIR_CVAR_{collective.upper()}_DEVICE_COLLECTIVE"
    if device in variables:
        settings.append((device, "0"))
    if _FALLBACK in variables:
        settings.append((_FALLBACK, "error"))

    def of(pattern: re.Pattern[str]) -> tuple[str, ...]:
        matches = (match for match in map(pattern.fullmatch, variables) if match)
        mine = (match for match in matches if match[1] == collective.upper())
        return tuple(match[0] for match in mine if (match[2] or "").lower() in name)

    return Algorithm(collective, name, None, tuple(settings), of(_SEGMENT), of(_FANOUT))
