"""What the placer does in MPI's functions: the program's MPI_COMM_WORLD is another communicator below.

Every function that takes a communicator gets the placed one where the program says MPI_COMM_WORLD. Those
in `_FAMILIES` do more: their families are in families.hpp, and what MPI's function gets instead of the
program's arguments are `parameters`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pympistandard as standard
from fortran import Form, FortranWrapper
from functions import Extension, Procedure, call, full_name, parameter_list, short_name
from wrappers import Library, Meaning, definition

_REORDERED = "MPI_Comm comm_old, int reorder"
_ADJACENT = (
    "MPI_Comm comm_old, int indegree, const int *sources, const int *sourceweights, int outdegree, "
    "const int *destinations, const int *destweights, int reorder"
)
_FAMILIES = {
    "Init": Meaning("initialise", ""),
    "Init_thread": Meaning("initialise", ""),
    "Comm_get_attr": Meaning("get_attribute", "comm, comm_keyval", parameters="MPI_Comm comm"),
    "Attr_get": Meaning("get_attribute", "comm, keyval", parameters="MPI_Comm comm"),
    "Comm_set_errhandler": Meaning("set_error_handler", "comm", parameters="MPI_Comm comm"),
    "Cart_create": Meaning("create_grid", "comm_old, ndims, dims, periods, reorder", parameters=_REORDERED),
    "Graph_create": Meaning("create_graph", "comm_old, nnodes, index, edges, reorder", parameters=_REORDERED),
    "Dist_graph_create": Meaning(
        "create_distributed_graph",
        "comm_old, n, sources, degrees, destinations, reorder",
        parameters=_REORDERED,
    ),
    "Dist_graph_create_adjacent": Meaning(
        "create_adjacent_graph",
        "comm_old, indegree, sources, sourceweights, outdegree, destinations, destweights, reorder",
        parameters=_ADJACENT,
    ),
}
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
            forward = f"[&]({meaning.parameters}) {{ return {call(procedure)}; }}"
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
    """A family decides what Fortran's function gets: `parameters` of its meaning, from C."""

    def _body(self, strings: list[str]) -> Iterator[str]:
        assert self.meaning is not None
        assert not strings
        replaced = [text.rsplit(maxsplit=1) for text in filter(None, self.meaning.parameters.split(", "))]
        kinds = {name.lstrip("*"): kind + "*" * name.startswith("*") for kind, name in replaced}
        yield "const FortranError error{f_ierror};"
        yield from (declaration for declaration, _ in self._declarations())
        local = [self._local(name, kind) for name, kind in kinds.items()]
        given = ", ".join(self._given(p.name, kinds) for p in self.parameters)
        inner = " ".join([*filter(None, local), f"target({given}); return error();"])
        yield f"error.set({self.statement(f'[&]({self.meaning.parameters}) {{ {inner} }}')[:-1]});"

    def _index(self, name: str) -> tuple[str, str]:
        return f"const auto *{name} = static_cast<const int *>(f_{name});", ""  # of edges, not of requests

    @staticmethod
    def _local(name: str, kind: str) -> str:
        if kind.endswith("*"):
            return ""
        value = f"to_fortran({name})" if kind == "MPI_Comm" else name
        return f"MPI_Fint now_{name} = {value};"

    @staticmethod
    def _given(name: str, kinds: dict[str, str]) -> str:
        if name not in kinds:
            return f"f_{name}"
        return (
            f"const_cast<int *>({name})" if kinds[name].endswith("*") else f"static_cast<void *>(&now_{name})"
        )


LIBRARY = _Placing()
