"""The algorithms of Open MPI and of MPICH, as each library lists them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from haloscope.base.toolchain import Toolchain
from haloscope.base.tools import read_answer
from haloscope.predict.mpi_library import (
    COLLECTIVES,
    DEFAULT,
    Algorithm,
    AlgorithmSelection,
    Description,
    OtherLibrary,
)

_ENUMERATOR = re.compile(r"mca:coll:tuned:param:coll_tuned_(\w+)_algorithm:enumerator:value:(\d+):(.+)")
_PARAMETER = re.compile(r"mca:coll:tuned:param:(coll_tuned_\w+):value:")
# The library has a segment size per collective, and does not state which algorithms use it. These ignore it.
# # Algorithms that are not listed here are measured with every requested segment size.
_WHOLE = re.compile(
    r"linear|basic_linear|.*recursive.*|.*bruck.*|neighbor|two_proc|pairwise|ring"
    r"|rabenseifner|nonoverlapping|scatter_allgather.*|sparbit|butterfly|non-overlapping|default"
    r"|redscat_allgather|binomial_noseg|.*direct.*|swing.*"
)
_UNCUT = frozenset({"alltoall", "barrier", "scatter"})
# Settings that a running program cannot change.
_BEFORE = (
    ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1"),
    ("OMPI_MCA_coll_tuned_priority", "100"),  # before han and others, which ignore these variables
)


@dataclass(frozen=True)
class OpenMpi(OtherLibrary):
    """Open MPI 4 and 5, whose parameters are set by `OMPI_MCA_…`."""

    major: int = 4
    offered: Mapping[str, tuple[Algorithm, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, description: Description, tools: Toolchain, launcher: tuple[str, ...]) -> OpenMpi:
        """Return the library with the algorithms that the `ompi_info` next to its compiler lists."""
        found = re.search(r"v?((\d+)\.[\w.]+)", description.version)
        version, major = (found[1], int(found[2])) if found else ("", 4)
        return cls(
            f"Open MPI {version}".strip(), tools, launcher, major, list_openmpi_algorithms(_ompi_info(tools))
        )

    def algorithms(self, collective: str) -> tuple[Algorithm, ...]:
        return (Algorithm(collective), *self.offered.get(collective, ()))

    def select(self, algorithm: Algorithm) -> AlgorithmSelection | None:
        if algorithm.settings and algorithm.number is None:
            return None  # not in the library's list
        launched = tuple(pair for pair in algorithm.settings if pair in _BEFORE)
        controls = [
            f"{name.removeprefix('OMPI_MCA_')}={value}"
            for name, value in algorithm.settings
            if (name, value) not in _BEFORE
        ]
        # A communicator's algorithms are chosen when it is made.
        words = ("--settings", ",".join(controls), "--communicator", "new") if controls else ()
        return AlgorithmSelection(launched, words)

    def _options(self, ranks: int, environment: Mapping[str, str], mapping: str | None) -> list[str]:
        # Launchers before version 5 pass only listed variables to ranks on other nodes.
        names = [name for name in environment if name.startswith(("OMPI_", "HALOSCOPE_"))]
        crowded = ranks > len(os.sched_getaffinity(0)) and not self.launcher
        binding = "none" if crowded else "core"  # two ranks cannot be bound to one core
        mapped = ["--map-by", mapping, "--bind-to", binding] if mapping else []
        passed = [word for name in names for word in ("-x", name)]
        return ["-n", str(ranks), *mapped, *passed]


def list_openmpi_algorithms(text: str) -> dict[str, tuple[Algorithm, ...]]:
    """Return the algorithms in what `ompi_info --param coll tuned --level 9 --parsable` prints."""
    parameters = {match[1] for match in map(_PARAMETER.match, text.splitlines()) if match}
    found: dict[str, list[Algorithm]] = {}
    for match in map(_ENUMERATOR.match, text.splitlines()):
        if match and int(match[2]) and match[1] in COLLECTIVES:
            algorithm = _make_tuned(match[1], int(match[2]), match[3].strip(), parameters)
            found.setdefault(match[1], []).append(algorithm)
    return {collective: tuple(algorithms) for collective, algorithms in found.items()}


def _make_tuned(collective: str, number: int, name: str, parameters: set[str]) -> Algorithm:
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
        # One algorithm of Open MPI has this name, which here means the library's own choice.
        f"{DEFAULT}_{number}" if name == DEFAULT else name,
        number,
        settings,
        (f"OMPI_MCA_{segment}",) if segments else (),
        (f"OMPI_MCA_{fanout}",) if fanout in parameters else (),
    )


def _ompi_info(tools: Toolchain) -> str:
    """Return the output of `ompi_info`; empty if it is missing, so that only the default is known."""
    own = tools.compiler.parent / "ompi_info"
    command = str(own) if own.is_file() else shutil.which("ompi_info")
    if command is None:
        return ""
    return read_answer(command, "--param", "coll", "tuned", "--level", "9", "--parsable") or ""


_CHOICE = re.compile(r"(\w+)\s+- (?:Force|Internal)")
_BOUND = re.compile(r"^(\w+)\s+- (?:Force|Internal)", re.MULTILINE)
_FANOUT = re.compile(r"MPIR_CVAR_([A-Z_]+?)_(TREE|RECEXCH|DISSEM|BRUCKS|[A-Z]+_MULTIPLYING)_KVAL")
_HIERARCHICAL = "smp"
_FALLBACK = "MPIR_CVAR_COLLECTIVE_FALLBACK"
_SEGMENT = re.compile(r"MPIR_CVAR_([A-Z_]+?)_(?:([A-Z]+)_)?PIPELINE_CHUNK_SIZE")


@dataclass(frozen=True)
class Mpich(OtherLibrary):
    """MPICH 4 and later, and libraries that are based on it and have its `MPIR_CVAR_…`."""

    offered: Mapping[str, tuple[Algorithm, ...]] = field(default_factory=dict)
    numbers: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """The numbers of the named values of control variables."""

    @classmethod
    def of(cls, description: Description, tools: Toolchain, launcher: tuple[str, ...]) -> Mpich:
        """Return the library with the algorithms that its control variables name."""
        found = re.search(r"Version:?\s*([\w.]+)", description.version)
        words = description.file.read_bytes() if description.file and description.file.is_file() else b""
        name = f"MPICH {found[1] if found else ''}".strip()
        offered = list_mpich_algorithms(description.variables, words)
        return cls(name, tools, launcher, offered, number_mpich_algorithms(description.variables, words))

    def algorithms(self, collective: str) -> tuple[Algorithm, ...]:
        return (Algorithm(collective), *self.offered.get(collective, ()))

    def select(self, algorithm: Algorithm) -> AlgorithmSelection | None:
        if algorithm.name == _HIERARCHICAL:
            return None  # for allreduce, only a launch with it ends
        controls = []
        for name, value in algorithm.settings:
            number = int(value) if value.isdecimal() else self.numbers.get((name, value))
            if number is None:
                return None
            controls.append(f"{name}={number}")
        return AlgorithmSelection((), ("--settings", ",".join(controls)) if controls else ())

    def _options(self, ranks: int, _environment: Mapping[str, str], mapping: str | None) -> list[str]:
        mapped = ["-bind-to", "core", "-map-by", mapping] if mapping else []
        return ["-n", str(ranks), *mapped]


def list_mpich_algorithms(
    variables: Mapping[str, str], library: bytes = b""
) -> dict[str, tuple[Algorithm, ...]]:
    """Return the algorithms of all collectives; `library` is the content of the library's file.

    Versions before 4.1 join the lines of a description, so that names are attached to the previous word. The
    names of functions in the library's file show where they begin.
    """
    found = {}
    for collective in COLLECTIVES:
        variable = _name_variable(collective)
        names = [name for name in _number_algorithms(collective, variables, library) if name != "auto"]
        algorithms = [_make_mpich(collective, name, variable, variables) for name in names]
        # If there are `k_brucks` and `brucks`, only the former has a fan-out.
        plain = {name[2:] for name in names if name.startswith("k_")}
        if algorithms:
            found[collective] = tuple(
                replace(algorithm, fanout_variables=()) if algorithm.name in plain else algorithm
                for algorithm in algorithms
            )
    return found


def number_mpich_algorithms(variables: Mapping[str, str], library: bytes = b"") -> dict[tuple[str, str], int]:
    """Return the number of each algorithm by its variable and name. Descriptions list them from 0."""
    found = {
        (_name_variable(collective), name): number
        for collective in COLLECTIVES
        for name, number in _number_algorithms(collective, variables, library).items()
    }
    return {**found, (_FALLBACK, "error"): 0}


def _name_variable(collective: str) -> str:
    return f"MPIR_CVAR_{collective.upper()}_INTRA_ALGORITHM"


def _number_algorithms(collective: str, variables: Mapping[str, str], library: bytes) -> dict[str, int]:
    """Return the names of a collective's algorithms, each with its index in the description."""
    text = variables.get(_name_variable(collective), "")
    if "\n" in text:
        return {name: index for index, name in enumerate(_BOUND.findall(text))}
    stem = rf"MPIR_{collective.capitalize()}_(?:intra|allcomm)_(\w+)\0".encode()
    functions = {name.decode() for name in re.findall(stem, library)} | {"auto"}
    found: dict[str, int] = {}
    for index, word in enumerate(_CHOICE.findall(text)):
        # `Treenb`, `algorithmring`, and first `algorithmauto`.
        endings = (word[at:] for at in range(len(word)))
        known = next((ending for ending in endings if ending in functions), None)
        if known:
            found.setdefault(known, index)
    return found


def _make_mpich(collective: str, name: str, variable: str, variables: Mapping[str, str]) -> Algorithm:
    settings = [(variable, name)]
    # Otherwise the device may choose its own algorithm, and unsuitable cases fall back silently.
    device = f"MPIR_CVAR_{collective.upper()}_DEVICE_COLLECTIVE"
    if device in variables:
        settings.append((device, "0"))
    if _FALLBACK in variables:
        settings.append((_FALLBACK, "error"))

    def of(pattern: re.Pattern[str]) -> tuple[str, ...]:
        matches = (match for match in map(pattern.fullmatch, variables) if match)
        own = (match for match in matches if match[1] == collective.upper())
        return tuple(match[0] for match in own if (match[2] or "").lower() in name)

    return Algorithm(collective, name, None, tuple(settings), of(_SEGMENT), of(_FANOUT))
