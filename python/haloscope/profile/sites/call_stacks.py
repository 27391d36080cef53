"""Stacks from the recorder as source locations, and the location that is the site."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath

from haloscope.profile.shown.readable import strip_arguments
from haloscope.profile.sites.symboliser import Request, ask
from haloscope.profile.sites.symbols import Address, Module, Symbols
from haloscope.profile.sites.system_libraries import is_c_library, is_library, is_library_source

# Frames with file, line and function: Python's, and those of tools without addresses.
_NAMED = re.compile(r"(?:python|source)\t")
_PROFILING = re.compile(r"^PMPI_")
# Functions that start a program or a thread. musl's short names count in musl only.
_START = re.compile(r"_start(_c)?|(__)?(libc|generic)_start_\w+|start_thread|(__)?clone\d?")
_MUSL_THREAD = re.compile(r"start(_c11)?")


@dataclass(frozen=True)
class SourceLocation:
    """A location in the source or, if that is unknown, in a file of code."""

    function: str | None
    file: str | None
    line: int | None
    code: str
    is_library: bool = False
    module: str = ""  # its key

    @cached_property
    def position(self) -> str:
        """File and line without folders, else the function, else the module and the offset in it."""
        if self.file is not None:
            return f"{PurePath(self.file).name}:{self.line}"
        return f"{self.function} ({self.code})" if self.function is not None else self.code

    @cached_property
    def text(self) -> str:
        """The function and its location."""
        return f"{self.function} ({self.position})" if self.file is not None else self.position


def addresses_in(stacks: Iterable[str]) -> set[Address]:
    """Return the return addresses in the stacks of a profile."""
    frames = {frame for stack in stacks for frame in stack.split("\n")}
    return {address for frame in frames if (address := _address(frame)) is not None}


class StackLocations:
    """The locations of stacks; each frame is resolved once, as most are in many stacks."""

    def __init__(self, modules: Mapping[str, Module], symbols: Symbols) -> None:
        """Take the modules and symbols that frames name."""
        self._modules, self._symbols = modules, symbols
        self._known: dict[str, list[SourceLocation]] = {}

    def locate(self, stack: str) -> list[SourceLocation]:
        """Return the locations of a stack, the innermost first, including inlined functions.

        Functions that start a program or a thread are left out: all stacks have them.
        """
        found = [location for frame in stack.split("\n") for location in self._locate_frame(frame)]
        while len(found) > 1 and self._is_start(found[-1], found[-2]):
            found.pop()
        return found

    def _is_start(self, outermost: SourceLocation, called: SourceLocation) -> bool:
        """Return whether the outermost place of a stack starts the program or the thread.

        A C library without symbols is recognised by its file. An exported name still counts, such as `qsort`
        at the begin of a truncated stack. In an executable without symbols, `_start` is the caller of the C
        library's start.
        """
        if outermost.function is not None:
            return self._has_start_name(outermost)
        module = self._modules.get(outermost.module)
        inside = called if module is not None and module.is_program else outermost
        return self._is_in_c_library(inside) and (inside.function is None or self._has_start_name(inside))

    def _has_start_name(self, location: SourceLocation) -> bool:
        name = location.function or ""
        if _START.fullmatch(name):
            return True
        return _MUSL_THREAD.fullmatch(name) is not None and self._is_in_c_library(location)

    def _is_in_c_library(self, location: SourceLocation) -> bool:
        module = self._modules.get(location.module)
        return module is not None and not module.is_program and is_c_library(module.path)

    def _locate_frame(self, frame: str) -> list[SourceLocation]:
        if frame not in self._known:
            self._known[frame] = list(_places(frame, self._modules, self._symbols))
        return self._known[frame]


def site_of(stack: Sequence[SourceLocation]) -> int:
    """Return the index of the program's location: the first one outside the libraries, else 0."""
    return next((index for index, location in enumerate(stack) if not location.is_library), 0)


def _address(frame: str) -> Address | None:
    module, plus, offset = frame.partition("+")
    try:
        return (module, int(offset, 16)) if plus else None
    except ValueError:
        return None


def _places(frame: str, modules: Mapping[str, Module], symbols: Symbols) -> Iterator[SourceLocation]:
    if named := _NAMED.match(frame):
        yield _parse_named_frame(frame[named.end() :])
        return
    address = _address(frame)
    module = modules.get(address[0]) if address is not None else None
    if address is None or module is None:
        # Generated code, or code of an unloaded library.
        yield SourceLocation(
            None, None, None, f"?+{frame.partition('+')[2]}" if address is not None else frame
        )
        return
    code = f"{module.name}+0x{address[1]:x}"
    outside = is_library(module.path, module.is_program)
    functions = symbols.functions.get(address, ())
    for function, file, line in functions:
        included = file is not None and is_library_source(file)
        yield SourceLocation(
            function, file, line if file is not None else None, code, outside or included, address[0]
        )
    if not functions:
        yield SourceLocation(None, None, None, code, outside, address[0])


def _parse_named_frame(frame: str) -> SourceLocation:
    file, _, rest = frame.partition("\t")
    line, _, function = rest.partition("\t")
    number = int(line) if line.isdecimal() else 0
    return SourceLocation(function, file, number, f"{PurePath(file).name}:{number}", is_library_source(file))


def name_stack(places: Sequence[tuple[str, int]]) -> list[str]:
    """Return the lines of a stack of places: files of code and return addresses in them, the innermost first.

    A place has several lines for inlined functions. For an unknown address the line has the file's name and
    the address. Functions that start a program or a thread are left out, and so is the `P` of PMPI.
    """
    modules = sorted({module for module, _ in places if module})
    requests = [
        Request(module, "", None, sorted({address - 1 for other, address in places if other == module}))
        for module in modules
    ]
    known = dict(zip(modules, ask(requests), strict=True)) if requests else {}
    lines: list[str] = []
    end = 0  # of the lines up to the outermost function that starts nothing
    for module, address in places:
        answer = known.get(module)
        found = answer.functions.get(address - 1, ()) if answer else ()
        lines += [_line(*function) for function in found] or [f"{PurePath(module).name or '?'}+{address:#x}"]
        starts = all(_START.fullmatch(name) for name, _, _ in found) and (bool(found) or is_c_library(module))
        if not starts:
            end = len(lines)
    return lines[: end or len(lines)]


def _line(function: str, file: str | None, line: int) -> str:
    where = f" ({PurePath(file).name}:{line})" if file else ""
    return f"{_PROFILING.sub('MPI_', strip_arguments(function))}{where}"
