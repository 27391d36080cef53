"""Generates the recorder's wrappers from the MPI standard's machine-readable interface.

Every function that the MPI's headers declare as PMPI_* or PMPIX_* is wrapped; what a family of
functions means is in families.py and in the C++ that it names. Nothing here is committed: the build
runs it.

    generate.py HEADER.i ABI OUTPUT_DIRECTORY      HEADER.i: the preprocessed mpi.h
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pympistandard as standard
from families import FAMILIES, HARMLESS_EXTENSIONS, IGNORED, UNACCOUNTED, Meaning, category
from generate_fortran import fortran_source

Procedure = standard.ISOCProcedure


@dataclass(frozen=True)
class Extension:
    """A function of a library that the standard does not know."""

    name: str
    parameters: tuple[str, ...]

    def names(self) -> list[str]:
        return [re.findall(r"\w+", parameter)[-1] for parameter in self.parameters]

    def new_requests(self) -> list[str]:
        pointer = r"MPI_Request ?\*(?! ?const)"
        pairs = zip(self.parameters, self.names(), strict=True)
        return [name for parameter, name in pairs if re.match(pointer, parameter)]


def declared_names(header: Path) -> set[str]:
    """Names of the functions that the headers declare with a PMPI_ twin, without the prefix."""
    return set(re.findall(r"\bPMPI_(\w+)\s*\(", header.read_text(errors="replace")))


def procedures(names: set[str]) -> list[Procedure]:
    """The C forms, large-count twins included, of the standard's functions among ``names``."""
    found = {}
    for procedure in standard.PROCEDURES.values():
        express = procedure.express
        for form in (express.iso_c, express.embiggen and express.embiggen.iso_c):
            if form and str(form.name).removeprefix("MPI_") in names:
                found[str(form.name)] = form
    return [found[name] for name in sorted(found)]


def by_name(names: set[str]) -> dict[str, standard.Procedure]:
    """The standard's functions among ``names``, by these."""
    in_c = [p for p in standard.PROCEDURES.values() if p.express.iso_c]
    known = {short_name(p.express.iso_c): p for p in in_c}
    return {name: procedure for name, procedure in known.items() if name in names}


def extensions(header: Path) -> list[Extension]:
    """What a library has beyond the standard, as its headers declare it: MPIX_*."""
    found = {}
    text = header.read_text(errors="replace")
    for name, listed in re.findall(r"\bint\s+P(MPIX_\w+)\s*\(([^()]*)\)", text):
        parameters = [" ".join(parameter.split()) for parameter in listed.split(",")]
        found[name] = Extension(name, () if parameters in ([""], ["void"]) else tuple(parameters))
    return [found[name] for name in sorted(found)]


def short_name(procedure: Procedure | Extension) -> str:
    """The function's name among ours: MPI_Send is Send, MPIX_Send_enqueue stays as it is."""
    return str(procedure.name).removeprefix("MPI_")


def full_name(short: str) -> str:
    return short if short.startswith("MPIX_") else f"MPI_{short}"


def is_variadic(procedure: Procedure) -> bool:
    return any(p.name == "varargs" for p in procedure.parameters)


def parameter_list(procedure: Procedure) -> str:
    texts = [str(p) for p in procedure.parameters if p.name != "varargs"]
    return ", ".join(texts + ["..."] * is_variadic(procedure)) or "void"


def call(procedure: Procedure) -> str:
    names = [str(p.name) for p in procedure.parameters if p.name != "varargs"]
    function = f"next.{short_name(procedure)}"
    if is_variadic(procedure):
        return f"{function}({', '.join(names)})"
    return f"forward({', '.join([function, *names])})"


def status_parameter(procedure: Procedure) -> str | None:
    for p in procedure.parameters:
        if p.kind.name == "STATUS" and p.direction.name == "OUT":
            return str(p.name)
    return None


def new_requests(procedure: Procedure) -> list[str]:
    return [
        str(p.name)
        for p in procedure.parameters
        if p.kind.name == "REQUEST" and p.direction.name == "OUT" and not p.array
    ]


def body(procedure: Procedure) -> str:
    """The wrapper's one statement: a family's meaning, or passing through."""
    name = short_name(procedure)
    function = f"Function::{name}"
    meaning = FAMILIES.get(name.removesuffix("_c"), None)
    forward = call(procedure)
    if str(procedure.return_type) != "int" or name in IGNORED:
        return f"return counted({function}, [&] {{ return {forward}; }});"
    if meaning is None:
        clears = "".join(f", {request}" for request in new_requests(procedure))
        return f"return passed({function}, {category(name)}, [&] {{ return {forward}; }}{clears});"
    status = status_parameter(procedure)
    parameter = f"MPI_Status *{status}" if status and meaning.takes_status else ""
    family, arguments = meaning.family, meaning.arguments
    joined = f", {arguments}" if arguments else ""
    return f"return {family}({function}{joined}, [&]({parameter}) {{ return {forward}; }});"


# Posts that are like one before take a short way, without the variables of the long one.
_REPEATED = {"post_send": "send", "post_receive": "receive"}


def definition(returned: str, name: str, parameters: str, statements: str) -> str:
    """The function that the program calls in place of the library's."""
    return (
        f'HALOSCOPE_WRAPPER {returned} wrapped_{name}({parameters}) __asm__("{name}");\n'
        f"{returned} wrapped_{name}({parameters}) {{\n{statements}}}\n"
    )


def wrapper(procedure: Procedure) -> str:
    meaning = FAMILIES.get(short_name(procedure).removesuffix("_c"))
    if meaning is not None and meaning.family in _REPEATED:
        return repeated_wrapper(procedure, meaning)
    return definition(
        str(procedure.return_type), str(procedure.name), parameter_list(procedure),
        f"  ensure_resolved();\n  {body(procedure)}\n",
    )  # fmt: skip


def extension_wrapper(extension: Extension) -> str:
    name, parameters = extension.name, ", ".join(extension.parameters)
    function = f"Function::{name}, Category::other"
    forward = f"forward({', '.join([f'next.{name}', *extension.names()])})"
    clears = "".join(f", {request}" for request in extension.new_requests())
    statements = (
        f"  ensure_resolved();\n  return passed({function}, [&] {{ return {forward}; }}{clears});\n"
    )
    return definition("int", name, parameters, statements)


def repeated_wrapper(procedure: Procedure, meaning: Meaning) -> str:
    name, returned = str(procedure.name), str(procedure.return_type)
    function = f"Function::{short_name(procedure)}"
    arguments, request = meaning.arguments.rsplit(", ", 1)
    given = ", ".join(str(p.name) for p in procedure.parameters)

    def repeated(stamped: str) -> str:
        return (
            f"  if (const RepeatedPost<{stamped}> repeated{{{function}, {arguments}}}; repeated)\n"
            f"    return repeated.{_REPEATED[meaning.family]}({function}, {request}, "
            f"[&] {{ return {call(procedure)}; }});\n"
        )

    other = (
        f"[[gnu::noinline]] static {returned} other_{name}({parameter_list(procedure)}) {{\n"
        f"{repeated('true')}"
        f"  ensure_resolved();\n"
        f"  {body(procedure)}\n"
        f"}}\n"
    )
    statements = f"{repeated('false')}  return other_{name}({given});\n"
    return other + definition(returned, name, parameter_list(procedure), statements)


def is_unaccounted(name: str) -> bool:
    """Whether a function moves data that is not counted; of an extension we only know the name."""
    if name.startswith("MPIX_"):
        return not re.search(HARMLESS_EXTENSIONS, name)
    return re.fullmatch(UNACCOUNTED, name.removesuffix("_c")) is not None


def functions_header(found: list[Procedure | Extension]) -> str:
    names = [short_name(p) for p in found]
    hot = [n for n in names if FAMILIES.get(n.removesuffix("_c")) and not n.endswith("_c")]
    ordered = hot + [n for n in names if n not in set(hot)]
    enumerators = ", ".join(ordered)
    texts = ", ".join(f'"{full_name(n)}"' for n in ordered)
    unaccounted = ", ".join("true" if is_unaccounted(n) else "false" for n in ordered)
    return (
        "// Generated by generate.py.\n#pragma once\n#include <cstdint>\n"
        "namespace haloscope::watch {\n"
        f"enum class Function : std::uint16_t {{ {enumerators} }};\n"
        f"inline constexpr unsigned function_count = {len(ordered)};\n"
        f"inline constexpr const char *function_names[] = {{ {texts} }};\n"
        "// Moves data in a way that the recorder does not understand.\n"
        f"inline constexpr bool function_unaccounted[] = {{ {unaccounted} }};\n"
        "} // namespace haloscope::watch\n"
    )


def real_header(found: list[Procedure | Extension]) -> str:
    members = "".join(f"  decltype(&P{p.name}) {short_name(p)};\n" for p in found)
    real, following = (", ".join(f'"{prefix}{p.name}"' for p in found) for prefix in ("P", ""))
    return (
        "// Generated by generate.py.\n#pragma once\n#include <mpi.h>\n"
        + "#define HALOSCOPE_SESSIONS\n" * any(short_name(p) == "Session_init" for p in found)
        + "namespace haloscope::watch {\n"
        "// An MPI library's functions, found at run time: the library may be opened late and for\n"
        "// its user alone.\n"
        f"struct RealFunctions {{\n{members}}};\n"
        f"inline constexpr const char *real_names[] = {{ {real} }};\n"
        f"inline constexpr const char *next_names[] = {{ {following} }};\n"
        "} // namespace haloscope::watch\n"
    )


def wrappers_source(found: list[Procedure], beyond: list[Extension]) -> str:
    return (
        '// Generated by generate.py.\n#include "families.hpp"\n'
        "using namespace haloscope::watch;\n"
        '#define HALOSCOPE_WRAPPER extern "C" __attribute__((visibility("default")))\n\n'
        + "\n".join([*map(wrapper, found), *map(extension_wrapper, beyond)])
    )


def main() -> None:
    header, abi, output = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    standard.use_api_version()
    names = declared_names(header)
    found = procedures(names)
    if not any(short_name(p) == "Init" for p in found):
        sys.exit(f"generate.py: {header} declares no PMPI_Init: is it a preprocessed mpi.h?")
    output.mkdir(parents=True, exist_ok=True)
    beyond = extensions(header)
    (output / "functions.hpp").write_text(functions_header([*found, *beyond]))
    (output / "real.hpp").write_text(real_header([*found, *beyond]))
    (output / "wrappers.cpp").write_text(wrappers_source(found, beyond))
    (output / "fortran_wrappers.cpp").write_text(fortran_source(by_name(names), abi))


if __name__ == "__main__":
    main()
