"""What the placer does in MPI's functions: the program's MPI_COMM_WORLD is another communicator below.

Every function that takes a communicator gets the placed one where the program says MPI_COMM_WORLD. Those
in `_FAMILIES` do more: their families are in families.hpp, and choose the communicator that MPI's function
gets instead of the program's.
"""

from __future__ import annotations

from collections.abc import Iterator

import pympistandard as standard
from fortran import Form, FortranWrapper
from functions import Extension, Procedure, call, full_name, parameter_list, short_name
from wrappers import Library, Meaning, definition

_FAMILIES = {
    "Init": Meaning("initialise", ""),
    "Init_thread": Meaning("initialise", ""),
    "Comm_get_attr": Meaning("get_attribute", "comm, comm_keyval"),
    "Attr_get": Meaning("get_attribute", "comm, keyval"),
    "Comm_set_errhandler": Meaning("set_error_handler", "comm"),
}
_TAKEN = "MPI_Comm comm"  # by what a family calls
# Handles are converted as they are, and what is to be aborted is the whole run.
_AS_THEY_ARE = {"Comm_c2f", "Comm_toint", "Abort"}


def _communicators(procedure: Procedure) -> set[str]:
    """Return the parameters that are communicators which the function only reads."""
    return {str(p.name) for p in procedure.parameters if _is_read(p)}


def _is_read(parameter: standard.ISOCParameter) -> bool:
    return (parameter.kind.name, parameter.direction.name) == ("COMMUNICATOR", "IN")


class _Placing(Library):
    """Wraps all functions that take communicators."""

    namespace = "haloscope::place"

    def wrapper(self, procedure: Procedure) -> str | None:
        short = short_name(procedure)
        meaning = _FAMILIES.get(short)
        if meaning is not None:
            taken = _TAKEN if meaning.arguments else ""
            forward = f"[&]({taken}) {{ return {call(procedure)}; }}"
            given = ", ".join(filter(None, [meaning.arguments, forward]))
            return self._defined(procedure, f"{meaning.family}({given})")
        read = _communicators(procedure)
        if not read or short in _AS_THEY_ARE:
            return None
        names = [str(p.name) for p in procedure.parameters]
        return self._defined(procedure, _forwarded(short, names, read))

    def extension(self, extension: Extension) -> str | None:
        read = {
            name
            for name, text in zip(extension.names(), extension.parameters, strict=True)
            if text.split()[0] == "MPI_Comm" and "*" not in text
        }
        if not read:
            return None
        statements = (
            f"  ensure_resolved();\n  return {_forwarded(extension.name, extension.names(), read)};\n"
        )
        return definition("int", full_name(extension.name), ", ".join(extension.parameters), statements)

    def fortran(self, procedure: standard.Procedure, name: str, form: Form) -> FortranWrapper | None:
        if name in _FAMILIES:
            return _Replacing(procedure, name, form, _FAMILIES[name])
        in_c = procedure.express.iso_c
        if name in _AS_THEY_ARE or not _communicators(in_c):
            return None
        return _Substituting(procedure, name, form, Meaning("as_it_is", ""))

    @staticmethod
    def _defined(procedure: Procedure, expression: str) -> str:
        statements = f"  ensure_resolved();\n  return {expression};\n"
        return definition("int", str(procedure.name), parameter_list(procedure), statements)


def _forwarded(short: str, names: list[str], read: set[str]) -> str:
    given = [f"actual({name})" if name in read else name for name in names]
    return f"forward({', '.join([f'next.{short}', *given])})"


class _Substituting(FortranWrapper):
    """The placed communicator in place of MPI_COMM_WORLD, as Fortran has them."""

    def _forwarded(self, name: str, status: str | None) -> str:
        if name in self.shape and _is_read(self.shape[name]):
            return f"actual_in_fortran(f_{name})"
        return f"f_{name}"


class _Replacing(FortranWrapper):
    """A family decides which communicator Fortran's function gets."""

    def _body(self, strings: list[str]) -> Iterator[str]:
        assert self.meaning is not None
        assert not strings
        yield "const FortranError error{f_ierror};"
        yield from (declaration for declaration, _ in self._declarations())
        given = ", ".join("&now_comm" if p.name == "comm" else f"f_{p.name}" for p in self.parameters)
        inner = f"target({given}); return error();"
        if self.meaning.arguments:
            taken, inner = _TAKEN, f"MPI_Fint now_comm = to_fortran(comm); {inner}"
        else:
            taken = ""
        yield f"error.set({self.statement(f'[&]({taken}) {{ {inner} }}')[:-1]});"


LIBRARY = _Placing()
