"""The functions of an MPI: those that its headers declare, with the standard's description of each.

A library's headers decide: every function that they declare as PMPI_* or PMPIX_* is there.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pympistandard as standard

Procedure = standard.ISOCProcedure

# Those that block; MPI_Ibcast and MPI_Bcast_init are MPI_Bcast's.
COLLECTIVES = (
    "Barrier",
    "Bcast",
    "Allreduce",
    "Reduce",
    "Scan",
    "Exscan",
    "Reduce_scatter",
    "Reduce_scatter_block",
    "Gather",
    "Gatherv",
    "Allgather",
    "Allgatherv",
    "Scatter",
    "Scatterv",
    "Alltoall",
    "Alltoallv",
    "Alltoallw",
    "Neighbor_allgather",
    "Neighbor_allgatherv",
    "Neighbor_alltoall",
    "Neighbor_alltoallv",
    "Neighbor_alltoallw",
)
SENDS = ("Send", "Bsend", "Ssend", "Rsend")


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
    """The function's name among ours: MPI_Send is Send, MPIX_Send_enqueue is unchanged."""
    return str(procedure.name).removeprefix("MPI_")


def full_name(short: str) -> str:
    return short if short.startswith("MPIX_") else f"MPI_{short}"


def is_variadic(procedure: Procedure) -> bool:
    return any(p.name == "varargs" for p in procedure.parameters)


def parameter_list(procedure: Procedure) -> str:
    texts = [str(p) for p in procedure.parameters if p.name != "varargs"]
    return ", ".join(texts + ["..."] * is_variadic(procedure)) or "void"


def call(procedure: Procedure) -> str:
    """The call of the function behind a wrapper, with the wrapper's own arguments."""
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
