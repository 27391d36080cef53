"""The function, file and line at an address of a module."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING

from haloscope.profile.sites.symboliser import Function, Request, ask

if TYPE_CHECKING:
    from haloscope.profile.store.profile_data import ProfileData

Address = tuple[str, int]
Functions = Mapping[Address, tuple[Function, ...]]


@dataclass(frozen=True)
class Module:
    """An executable or a library of the program, at the time of the run."""

    path: str
    build: str
    is_program: bool

    @property
    def name(self) -> str:
        return PurePath(self.path).name or self.path


@dataclass(frozen=True)
class Symbols:
    """The functions at return addresses; `remarks` on modules with unknown ones."""

    functions: Functions = field(default_factory=dict)
    remarks: Mapping[str, str] = field(default_factory=dict)


def modules_of(profile: ProfileData) -> dict[str, Module]:
    """Return the modules in the profile's stacks, by their key."""
    rows = profile.frame("modules", ["module", "file", "build", "is_program"]).iter_rows()
    # The system marks an executable that was deleted while it ran, behind its name.
    return {
        key: Module(path.removesuffix(" (deleted)"), build, bool(is_program))
        for key, path, build, is_program in rows
    }


def read_kept_symbols(profile: ProfileData) -> Functions:
    """Return the symbols that were resolved when the profile was made."""
    rows = profile.frame("symbols", ["module", "offset", "depth", "function", "file", "line"])
    found: dict[Address, list[Function]] = defaultdict(list)
    for module, offset, _, function, file, line in rows.sort("module", "offset", "depth").iter_rows():
        found[module, offset].append((function, file or None, line))
    return {address: tuple(functions) for address, functions in found.items()}


def resolve_addresses(
    modules: Mapping[str, Module], addresses: Iterable[Address], ended: float | None
) -> Symbols:
    """Return the symbols of return addresses from the modules' files.

    `ended` is the end of the program, in seconds since 1970.
    """
    offsets: dict[str, set[int]] = defaultdict(set)
    for module, offset in addresses:
        if module in modules:
            offsets[module].add(offset)
    # A call that never returns may be the last instruction of its function; its return address is then in the
    # next function. So the byte before is looked up.
    requests = [
        Request(modules[key].path, modules[key].build, ended, [offset - 1 for offset in sorted(found)])
        for key, found in offsets.items()
    ]
    functions: dict[Address, tuple[Function, ...]] = {}
    remarks = {}
    for key, answer in zip(offsets, ask(requests), strict=True):
        functions |= {(key, address + 1): tuple(found) for address, found in answer.functions.items()}
        if answer.remark:
            remarks[key] = answer.remark
    return Symbols(functions, remarks)
