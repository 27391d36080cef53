"""Generates the wrappers of Fortran's functions: `mpi_x_` (mpif.h, use mpi) and mpi_f08's.

Open MPI's Fortran functions call PMPI functions, so none would be seen; MPICH's old ones call MPI_x
and are seen there, its mpi_f08 ones are not. What a function means is in meanings.py, as for C.
"""

import re
from collections.abc import Collection, Iterator

import pympistandard as standard
from wrappers import Form, Library, Meaning, Rendered

_HANDLES = {
    "COMMUNICATOR": "MPI_Comm",
    "DATATYPE": "MPI_Datatype",
    "REQUEST": "MPI_Request",
    "MESSAGE": "MPI_Message",
    "WINDOW": "MPI_Win",
}
_STRINGS = {"STRING", "STRING_ARRAY", "STRING_2DARRAY"}
_OUT = {"OUT"}


def _forms(name: str, abi: str, kinds: Collection[str]) -> Iterator[Form]:
    """The forms of a procedure whose parameters are of these kinds."""
    lower = f"mpi_{name.lower()}"
    if abi == "mpich":
        has_buffer = "BUFFER" in kinds
        kind = "f08ts" if has_buffer else "f08"
        yield Form(f"{lower}_{kind}_", descriptor=has_buffer)
        large = f"{lower}_{kind}_large_", (f"{lower}_c_{kind}_",)  # before MPICH 5, and since
        yield Form(*large, large=True, descriptor=has_buffer)
    elif abi == "openmpi":
        names = [lower, f"{lower}_cptr"] if "C_BUFFER" in kinds else [lower]
        symbols = [symbol for name in names for symbol in (f"{name}_", name, f"{name}__", name.upper())]
        yield Form(symbols[0], tuple(symbols[1:]))
        yield Form(f"{lower}_f08_")


class FortranWrapper:
    """The wrapper of one form of one procedure: the family gets C values, MPI the original arguments."""

    def __init__(self, procedure: standard.Procedure, name: str, form: Form, meaning: Meaning | None) -> None:
        express = procedure.express
        self.name, self.form, self.meaning = name, form, meaning
        self.parameters = express.f08.parameters
        self.shape = {p.name: p for p in express.iso_c.parameters}

    def render(self, body: str | None = None) -> str:
        signature = ", ".join(f"{kind}{name}" for kind, name in self._arguments())
        symbol = self.form.symbol
        head = f"void fortran_{symbol}({signature})"
        names = ", ".join(f'"{name}"' for name in (symbol, *self.form.others))
        aliases = (
            f"HALOSCOPE_WRAPPER void fortran_alias_{name}({signature}) "
            f'__asm__("{name}") __attribute__((alias("{symbol}")));\n'
            for name in self.form.others
        )
        passed = ", ".join(name for _, name in self._arguments())
        # A tail call, so that the result of a function with another type remains.
        other = f"  if (target.is_namesake()) return target({passed});\n" if self.form.others else ""
        return (
            f'HALOSCOPE_WRAPPER {head} __asm__("{symbol}");\n{head} {{\n  ensure_resolved();\n'
            f"  static const FortranTarget target{{{{{names}}}, __builtin_return_address(0)}};\n{other}"
            f"{self.body() if body is None else body}}}\n{''.join(aliases)}"
        )

    def body(self) -> str:
        return "".join(f"  {line}\n" for line in self._body(self._strings()))

    def render_shared(self) -> tuple[str, str]:
        """What several forms have in common as a function, and the body that calls it."""
        arguments = [("const FortranTarget &", "target"), *self._arguments()]
        signature = ", ".join(f"{kind}{name}" for kind, name in arguments)
        function = f"shared_{self.name}"
        call = f"  {function}({', '.join(name for _, name in arguments)});\n"
        return f"static void {function}({signature}) {{\n{self.body()}}}\n", call

    @property
    def is_short(self) -> bool:
        """Whether one more call, to what several forms have in common, would show."""
        return True

    def statement(self, call: str) -> str:
        """What the library does, with the call of Fortran's function in it."""
        assert self.meaning is not None
        arguments = ", ".join(filter(None, [self.meaning.arguments, call]))
        return f"{self.meaning.family}({arguments});"

    def _strings(self) -> list[str]:
        return [p.name for p in self.parameters if p.kind.name in _STRINGS]

    def _arguments(self) -> list[tuple[str, str]]:
        addresses = [("void *", f"f_{p.name}") for p in self.parameters]
        if not self._has_error():  # MPI_Pcontrol, to which libraries add the argument
            addresses.append(("void *", "f_more"))
        return addresses + [("std::size_t ", f"length_{s}") for s in self._strings()]

    def _body(self, strings: list[str]) -> Iterator[str]:
        has_error = self._has_error()
        if has_error:
            yield "const FortranError error{f_ierror};"
        status = self._status()
        passed = [self._forwarded(p.name, status) for p in self.parameters]
        forward = ", ".join(passed if has_error else [*passed, "f_more"])
        forward = ", ".join(filter(None, [forward, *(f"length_{s}" for s in strings)]))
        result = "error()" if has_error else "MPI_SUCCESS"
        declared = list(self._declarations())
        yield from (declaration for declaration, _ in declared)
        after = "".join(f" {update}" for _, update in declared if update)
        taken = f"MPI_Status *{status}" if status else ""
        yield self.statement(f"[&]({taken}) {{ target({forward});{after} return {result}; }}")

    def _has_error(self) -> bool:
        return any(p.name == "ierror" for p in self.parameters)

    def _status(self) -> str | None:
        if self.meaning is None or not self.meaning.takes_status:
            return None
        return next(p.name for p in self.parameters if p.kind.name == "STATUS")

    @staticmethod
    def _forwarded(name: str, status: str | None) -> str:
        return f"forwarded_status({name}, f_{name})" if name == status else f"f_{name}"

    def new_requests(self) -> Iterator[standard.F08Procedure]:
        for p in self.parameters:
            if p.kind.name == "REQUEST" and self._out(p.name) and not self.shape[p.name].array:
                yield p

    def _out(self, name: str) -> bool:
        return self.shape[name].direction.name in _OUT

    def _used(self, name: str) -> bool:
        if self.meaning is None:
            return name in {p.name for p in self.new_requests()}
        code = re.sub(r'"[^"]*"', "", self.meaning.arguments)
        return re.search(rf"\b{name}\b", code) is not None

    def _declarations(self) -> Iterator[tuple[str, str]]:
        """C++ for each parameter that the family uses: declaration, and what follows the call."""
        for p in self.parameters:
            if p.name in self.shape and self._used(p.name):
                yield self._declaration(p.name, p.kind.name)

    def _declaration(self, name: str, kind: str) -> tuple[str, str]:
        given, shape = f"f_{name}", self.shape[name]
        if kind in _HANDLES:
            return self._handle(name, _HANDLES[kind])
        passed = {
            "STATUS": f"MPI_Status *{name} = fortran_status({given});",
            "C_BUFFER": f"void *{name} = {given};",
        }
        if kind in passed:
            return passed[kind], ""
        if kind == "BUFFER":
            flag = str(self.form.descriptor).lower()
            return f"const void *{name} = fortran_buffer<{flag}>({given});", ""
        if kind == "STRING":
            text = f"const std::string text_{name} = fortran_text({given}, length_{name});"
            return f"{text} const char *{name} = text_{name}.c_str();", ""
        if kind == "INDEX":
            return self._index(name)
        if self._out(name):
            converted = f"fortran_value<MPI_Fint>({given})"
            return (f"int value_{name} = 0; int *{name} = &value_{name};", f"value_{name} = {converted};")
        always_large = kind in ("XFER_NUM_ELEM_NNI", "ALLOC_MEM_NUM_BYTES")
        large = always_large or (self.form.large and kind.startswith("POLY"))
        number = "MPI_Count" if large else "int"
        if shape.array:
            return f"const auto *{name} = static_cast<const {number} *>({given});", ""
        return f"const auto {name} = fortran_value<{number}>({given});", ""

    def _handle(self, name: str, handle: str) -> tuple[str, str]:
        given, shape = f"f_{name}", self.shape[name]
        if shape.array and handle == "MPI_Request":
            count = "incount" if "incount" in self.shape else "count"
            value = f"fortran_requests({given}, fortran_value<int>(f_{count}))"
            return f"const MPI_Request *{name} = {value};", ""
        if shape.array:
            return f"const FortranHandles<{handle}> {name}{{{given}}};", ""
        if not shape.pointer_level:
            return f"const {handle} {name} = fortran_handle<{handle}>({given});", ""
        is_input = str(not self._out(name)).lower()
        update = f"held_{name}.update();" if self._out(name) else ""
        declaration = f"FortranHandle<{handle}> held_{name}{{{given}, {is_input}}};"
        if self.meaning is None:
            return declaration.replace("held_", ""), update.replace("held_", "")
        return f"{declaration} {handle} *{name} = held_{name}.c();", update

    def _index(self, name: str) -> tuple[str, str]:
        if not self.shape[name].array:
            update = f"value_{name} = c_index(fortran_value<MPI_Fint>(f_{name}));"
            return f"int value_{name} = 0; int *{name} = &value_{name};", update
        room = "static_cast<std::size_t>(std::max(incount, 0))"
        return (f"int *{name} = fortran_room<int>({room});", f"update_indices({name}, f_{name}, *outcount);")


def _rendered(wrappers: list[Rendered]) -> Iterator[str]:
    """The forms of one procedure: most of Open MPI's differ in nothing but their names."""
    call = None
    alike = len(wrappers) > 1 and len({wrapper.body() for wrapper in wrappers}) == 1
    if alike and not wrappers[0].is_short:
        function, call = wrappers[0].render_shared()
        yield function
    yield from (wrapper.render(call) for wrapper in wrappers)


def fortran_wrappers(found: dict[str, standard.Procedure], abi: str, library: Library) -> list[str]:
    """What ``library`` has before ``found``: procedures by their names without MPI_ and _c."""
    texts: list[str] = []
    for name, procedure in found.items():
        express = procedure.express
        if not express.f08 or express.f08.return_type not in (None, "None"):
            continue
        kinds = {p.kind.name for p in express.f08.parameters}
        wanted = [
            library.fortran(procedure, name, form)
            for form in _forms(name, abi, kinds)
            if not form.large or express.embiggen
        ]
        texts += _rendered([wrapper for wrapper in wanted if wrapper is not None])
    return texts
