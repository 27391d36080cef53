"""The wrappers of a library that changes what functions do, as its meanings say.

Only those functions are wrapped that the library changes. Most wrappers in Fortran get C's values
and forward Fortran's arguments as they came. What may answer in the library's place goes on in C.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pympistandard as standard
from fortran import Form, FortranWrapper
from functions import Procedure, call, parameter_list, short_name
from wrappers import Library, Meaning, action, definition

# Where a program waits or asks, all such libraries do the same.
_MANY = "array_of_requests"
_SOME = f"incount, {_MANY}, outcount, array_of_indices, array_of_statuses"

COMPLETIONS = {
    "Request_get_status": Meaning("peek", "request, flag, status", True),
    "Request_get_status_all": Meaning("peek_all", f"count, {_MANY}, flag, array_of_statuses", True),
    "Request_get_status_any": Meaning("peek_any", f"count, {_MANY}, index, flag, status"),
    "Request_get_status_some": Meaning("peek_some", _SOME),
    "Wait": Meaning("wait", "request, status", True),
    "Test": Meaning("test", "request, flag, status", True),
    "Waitall": Meaning("wait_all", f"count, {_MANY}, array_of_statuses", True),
    "Testall": Meaning("test_all", f"count, {_MANY}, flag, array_of_statuses", True),
    "Waitany": Meaning("wait_any", f"count, {_MANY}, index, status"),
    "Testany": Meaning("test_any", f"count, {_MANY}, index, flag, status"),
    "Waitsome": Meaning("wait_some", _SOME),
    "Testsome": Meaning("test_some", _SOME),
}

# That are only read; requests and messages are changed.
_HANDLES = {"COMMUNICATOR": "MPI_Comm", "DATATYPE": "MPI_Datatype"}


@dataclass(frozen=True)
class Changing(Library):
    """A library with these meanings; no function is wrapped that has none."""

    fortran_header = "interpose/conversion.hpp"
    namespace: str
    meanings: Mapping[str, Meaning]
    # Those that answer in the library's place: their Fortran forms need all arguments in C.
    answered: Mapping[str, Meaning]
    # In C++ when a call goes on as if there were no library.
    untouched: Mapping[str, str] = field(default_factory=dict)
    # Else, when another meaning is all there is to it.
    short: Mapping[str, tuple[str, Meaning]] = field(default_factory=dict)

    def wrapper(self, procedure: Procedure) -> str | None:
        short = short_name(procedure).removesuffix("_c")
        meaning = self.meanings.get(short)
        if meaning is None:
            return None
        name, parameters = str(procedure.name), parameter_list(procedure)
        whole = f"  ensure_resolved();\n  return {action(procedure, meaning)};\n"
        if short not in self.untouched:
            return definition("int", name, parameters, whole)
        # A function of its own for the rest, whose variables most calls do without.
        quick = f"  if ({self.untouched[short]}) return {call(procedure)};\n"
        if short in self.short:
            condition, way = self.short[short]
            quick += f"  if ({condition}) return {action(procedure, way, capture='=')};\n"
        names = ", ".join(str(p.name) for p in procedure.parameters)
        rest = f"[[gnu::noinline]] static int rest_of_{name}({parameters}) {{\n{whole}}}\n"
        last = f"  return rest_of_{name}({names});\n"
        return rest + definition("int", name, parameters, quick + last)

    def fortran(self, procedure: standard.Procedure, name: str, form: Form) -> FortranWrapper | None:
        if name in self.answered:
            return _Converting(procedure, name, form, self.answered[name])
        meaning = self.meanings.get(name)
        return None if meaning is None else FortranWrapper(procedure, name, form, meaning)


class _Converting(FortranWrapper):
    """Every argument in C, and the changed ones back in Fortran."""

    def __init__(self, procedure: standard.Procedure, name: str, form: Form, meaning: Meaning) -> None:
        super().__init__(procedure, name, form, meaning)
        self.action = meaning
        express = procedure.express
        large = express.embiggen.iso_c if form.large else None
        self.procedure = large or express.iso_c

    def _body(self, strings: list[str]) -> Iterator[str]:
        assert not strings
        yield "(void)target;"
        yield "const FortranError error{f_ierror};"
        for p in self.procedure.parameters:
            yield self._local(p.name, p.kind.name)
        yield from self._sections()
        yield f"error.set({action(self.procedure, self.action)});"

    def _local(self, name: str, kind: str) -> str:
        given = f"f_{name}"
        if kind == "REQUEST":
            return self._requests(name)
        if kind == "INDEX":
            return self._position(name)
        if kind == "MESSAGE":
            is_input = str(not self._out(name)).lower()
            return self._held("Message", name, f"{given}, {is_input}", "MPI_Message *", ".c()")
        if kind == "STATUS":
            return f"MPI_Status *{name} = fortran_status({given});"
        if kind in _HANDLES:
            return f"{_HANDLES[kind]} {name} = fortran_handle<{_HANDLES[kind]}>({given});"
        if kind == "BUFFER":
            descriptor = str(self.form.descriptor).lower()
            return f"void *{name} = Buffer<{descriptor}>{{{given}}}.c();"
        if self._out(name):
            return f"int *{name} = static_cast<int *>({given});"
        number = "MPI_Count" if self.form.large and kind.startswith("POLY") else "int"
        return f"auto {name} = fortran_value<{number}>({given});"

    def _sections(self) -> Iterator[str]:
        """An array of Fortran's with holes is one element of a type that has them."""
        if not self.form.descriptor:
            return
        for prefix, buffer in (("", "buf"), ("send", "sendbuf"), ("recv", "recvbuf")):
            if buffer in self.shape:
                kind = "datatype" if buffer == "buf" else f"{prefix}type"
                held = f"section_{buffer}{{f_{buffer}, {prefix}count, {kind}}}"
                yield f"const Section<true> {held};"

    def _position(self, name: str) -> str:
        given = f"f_{name}"
        if self.shape[name].array:
            return self._held("Positions", name, f"{given}, outcount", "int *", ".data()")
        return self._held("Position", name, given, "int *", ".c()")

    def _requests(self, name: str) -> str:
        shape = self.shape[name]
        count = ("incount" if "incount" in self.shape else "count") if shape.array else "1"
        given = f"f_{name}, {count}"
        if shape.array or shape.pointer_level:
            return self._held("Requests", name, given, "MPI_Request *", ".data()")
        return f"const MPI_Request {name} = *Requests{{{given}}}.data();"

    @staticmethod
    def _held(kind: str, name: str, given: str, declared: str, access: str) -> str:
        return f"{kind} held_{name}{{{given}}}; {declared}{name} = held_{name}{access};"
