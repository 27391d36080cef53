"""Generates the wrappers of Fortran's functions, where these do not call C's MPI_*.

Most get C's values and forward Fortran's arguments as they came, as the recorder's do. Those that
may answer in the library's place go on in C.
"""

from collections.abc import Iterator

import pympistandard as standard
from families import Meaning
from generate import call, status_parameter
from generate_fortran import Form, Wrapper, forms
from meanings import ANSWERED, MEANINGS, NAMESPACE

# That are only read; requests and messages are changed.
_HANDLES = {"COMMUNICATOR": "MPI_Comm", "DATATYPE": "MPI_Datatype"}


class _Forwarding(Wrapper):
    def __init__(self, procedure: standard.Procedure, name: str, form: Form) -> None:
        super().__init__(procedure, name, form)
        self.meaning: Meaning = MEANINGS[name]

    def _body(self, strings: list[str]) -> Iterator[str]:
        yield "const FortranError error{f_ierror};"
        status = self._status()
        given = [self._forwarded(p.name, status) for p in self.parameters]
        forward = ", ".join([*given, *(f"length_{s}" for s in strings)])
        declared = list(self._declarations())
        yield from (declaration for declaration, _ in declared)
        after = "".join(f" {update}" for _, update in declared if update)
        taken = f"MPI_Status *{status}" if status else ""
        arguments = f"{self.meaning.arguments}, " if self.meaning.arguments else ""
        call = f"[&]({taken}) {{ target({forward});{after} return error(); }}"
        yield f"{self.meaning.family}({arguments}{call});"


class _Converting(Wrapper):
    """Every argument in C, and what was changed back in Fortran."""

    def __init__(self, procedure: standard.Procedure, name: str, form: Form) -> None:
        super().__init__(procedure, name, form)
        self.meaning: Meaning = ANSWERED[name]
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
        status = status_parameter(self.procedure) if self.meaning.takes_status else None
        places = "int source, int tag, " if self.meaning.family == "poll" else ""
        taken = f"{places}MPI_Status *{status}" if status else ""
        forward = f"[&]({taken}) {{ return {call(self.procedure)}; }}"
        yield f"error.set({self.meaning.family}({self.meaning.arguments}, {forward}));"

    def _local(self, name: str, kind: str) -> str:
        given = f"f_{name}"
        if kind == "REQUEST":
            return self._requests(name)
        if kind == "INDEX":
            return self._position(name)
        if kind == "MESSAGE":
            return self._held("Message", name, given, "MPI_Message *", ".c()")
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


def fortran_source(found: dict[str, standard.Procedure], abi: str) -> str:
    """`found`: procedures by their names without MPI_ and _c."""
    wrappers = []
    for name in sorted(set(found) & set(MEANINGS)):
        express = found[name].express
        if not express.f08:
            continue
        has_buffer = any(p.kind.name in ("BUFFER", "C_BUFFER") for p in express.f08.parameters)
        kind = _Converting if name in ANSWERED else _Forwarding
        wrappers += [
            kind(found[name], name, form).render()
            for form in forms(name, abi, has_buffer)
            if not form.large or express.embiggen
        ]
    return (
        '// Generated by fortran_wrappers.py.\n#include "conversion.hpp"\n#include "families.hpp"\n'
        f"using namespace {NAMESPACE};\n"
        "using namespace haloscope::hide;\nusing namespace haloscope::watch;\n"
        '#define HALOSCOPE_WRAPPER extern "C" __attribute__((visibility("default")))\n\n'
        + "\n".join(wrappers)
    )
