"""MPICH: its control variables, as the library describes them through MPI_T."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from haloscope.base.toolchain import Toolchain
from haloscope.predict.bench._mpi_library import COLLECTIVES, Algorithm, Description, OtherLibrary

__all__ = ["Mpich", "offered"]

_CHOICE = re.compile(r"(\w+)\s+- (?:Force|Internal)")
_BOUND = re.compile(r"^(\w+)\s+- (?:Force|Internal)", re.MULTILINE)
_FANOUT = re.compile(r"MPIR_CVAR_([A-Z_]+?)_(TREE|RECEXCH|DISSEM|BRUCKS|[A-Z]+_MULTIPLYING)_KVAL")
_SEGMENT = re.compile(r"MPIR_CVAR_([A-Z_]+?)_(?:([A-Z]+)_)?PIPELINE_CHUNK_SIZE")


@dataclass(frozen=True)
class Mpich(OtherLibrary):
    """MPICH 4 and newer, and what is built on it and kept its `MPIR_CVAR_…`."""

    offered: Mapping[str, tuple[Algorithm, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, said: Description, tools: Toolchain, launcher: tuple[str, ...]) -> Mpich:
        """The library with the algorithms that its control variables name."""
        found = re.search(r"Version:?\s*([\w.]+)", said.version)
        words = said.file.read_bytes() if said.file and said.file.is_file() else b""
        name = f"MPICH {found[1] if found else ''}".strip()
        return cls(name, tools, launcher, offered(said.variables, words))

    def algorithms(self, collective: str) -> tuple[Algorithm, ...]:
        return (Algorithm(collective), *self.offered.get(collective, ()))

    def _options(self, ranks: int, _environment: Mapping[str, str], mapping: str | None) -> list[str]:
        mapped = ["-bind-to", "core", "-map-by", mapping] if mapping else []
        return ["-n", str(ranks), *mapped]


def offered(variables: Mapping[str, str], library: bytes = b"") -> dict[str, tuple[Algorithm, ...]]:
    """The algorithms of all collectives; `library` is the text of the library's file.

    Versions before 4.1 run the lines of a description together, so that a name follows on the word
    before it; the names of functions in the library's file tell where it begins.
    """
    found = {}
    for collective in COLLECTIVES:
        variable = f"MPIR_CVAR_{collective.upper()}_INTRA_ALGORITHM"
        stem = rf"MPIR_{collective.capitalize()}_(?:intra|allcomm)_(\w+)\0".encode()
        functions = {name.decode() for name in re.findall(stem, library)} | {"auto"}
        names = dict.fromkeys(_names(variables.get(variable, ""), functions))
        names.pop("auto", None)
        made = [_algorithm(collective, name, variable, variables) for name in names]
        # Where there is `k_brucks` beside `brucks`, the k is its.
        plain = {name[2:] for name in names if name.startswith("k_")}
        if made:
            found[collective] = tuple(
                replace(one, fanout_variables=()) if one.name in plain else one for one in made
            )
    return found


def _names(text: str, functions: Collection[str]) -> Iterator[str]:
    if "\n" in text:
        yield from _BOUND.findall(text)
        return
    for word in _CHOICE.findall(text):
        # `Treenb`, `algorithmring`, and at the begin `algorithmauto`.
        endings = (word[at:] for at in range(len(word)))
        known = next((ending for ending in endings if ending in functions), None)
        if known:
            yield known


def _algorithm(collective: str, name: str, variable: str, variables: Mapping[str, str]) -> Algorithm:
    settings = [(variable, name)]
    # Else the device may do the collective its own way, and unfit cases fall back without a word.
    device = f"MPIR_CVAR_{collective.upper()}_DEVICE_COLLECTIVE"
    if device in variables:
        settings.append((device, "0"))
    if "MPIR_CVAR_COLLECTIVE_FALLBACK" in variables:
        settings.append(("MPIR_CVAR_COLLECTIVE_FALLBACK", "error"))

    def of(pattern: re.Pattern[str]) -> tuple[str, ...]:
        matches = (match for match in map(pattern.fullmatch, variables) if match)
        mine = (match for match in matches if match[1] == collective.upper())
        return tuple(match[0] for match in mine if (match[2] or "").lower() in name)

    return Algorithm(collective, name, None, tuple(settings), of(_SEGMENT), of(_FANOUT))
