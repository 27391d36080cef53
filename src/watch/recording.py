"""The recorder's wrappers: every function is wrapped, and counted as meanings.py says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import buffers
import declared
import pympistandard as standard
from fortran import Form, FortranWrapper
from functions import Extension, Procedure, call, full_name, new_requests, parameter_list, short_name
from wrappers import Library, Meaning, action, definition

# Posts that are like one before take a short way, without the variables of the long one.
_REPEATED = {"post_send": "send", "post_receive": "receive"}
# Families of calls so short that one more, from the wrapper to what two of them share, would show.
_SHORT = re.compile(r"send|receive|exchange|start|poll|probe|test|wait|one_sided|^collective")
# Of C, only these are compiled for each of their functions; see interpose/erased.hpp.
_INLINED = re.compile(
    r"(?!init_)(post_)?(send|receive|exchange|start|poll|probe|test|wait|one_sided)|collective"
)
_RULE = re.compile(r"\[&\]\(const Collective &collective\) \{[^}]*\}")


# Parameters of a call that are in the live record while it lasts: a rank, a tag, and the source of a call
# that also sends.
_PARTNERS = ("dest", "source", "target_rank", "root")
_TAGS = ("tag", "sendtag")
_IN_LIVE_RECORD = frozenset(_PARTNERS + _TAGS)


def _invocation(
    name: str,
    parameters: Sequence[str],
    caller: str = "HALOSCOPE_CALLER",
    memories: Mapping[str, str] | None = None,
) -> str:
    """The C++ expression of what a wrapper was called with, given its parameters' names.

    `memories`: where its buffers lie, if these are not parameters of C.
    """
    partner = next((p for p in _PARTNERS if p in parameters), None)
    tag = next((p for p in _TAGS if p in parameters), None)
    told = {
        "function": f"Function::{name}",
        "partner": partner,
        "tag": tag,
        "source": "source" if partner == "dest" and "source" in parameters else None,
        "caller": caller,
        **(buffers.memories(name, parameters) if memories is None else memories),
    }
    return "Invocation{" + ", ".join(f".{field} = {value}" for field, value in told.items() if value) + "}"


def _erased(arguments: str) -> str:
    """Arguments of a family with one type for the lambdas in them."""
    return _RULE.sub(lambda rule: f"erased({rule[0]})", arguments)


def _invoked(procedure: Procedure, has_parameters: bool = True) -> str:
    names = [str(p.name) for p in procedure.parameters] if has_parameters else ()
    return f"const Invocation invoked = {_invocation(short_name(procedure), names)};"


def _handed_on(procedure: Procedure) -> str:
    """The same with the caller and the memory as parameters from the wrapper."""
    names = [str(p.name) for p in procedure.parameters]
    expression = _invocation(short_name(procedure), names, "caller", {"memory": "memory"})
    return f"const Invocation invoked = {expression};"


# Where the time of a family's calls goes, and those which return only when others have done their part.
_SPENT = (
    (re.compile(r"(post_|init_)?collective"), "collective"),
    (re.compile(r"(post_)?one_sided"), "one_sided"),
    (re.compile(r"(post_|begin_|end_)?file_(read|write)"), "io"),
    (re.compile(r".*(send|receive|exchange|probe|poll)|start|wait|test|free_request|cancel"), "p2p"),
)
_WAITS = re.compile(r"send|receive|receive_matched|exchange|probe|probe_matched|wait\w*|collective")


@dataclass(frozen=True)
class Recording(Library):
    """A recorder with these meanings; functions that have none only pass through."""

    meanings: Mapping[str, Meaning]
    # So short that a stamp would cost more than the call: counted only.
    ignored: frozenset[str]
    # To which sum the time of a function goes that only passes through.
    categories: Sequence[tuple[str, str]]
    # Functions that move data in a way that is not counted, and extensions that move none.
    unaccounted: re.Pattern[str]
    harmless_extensions: re.Pattern[str]
    namespace: str = "haloscope::watch"

    def wrapper(self, procedure: Procedure) -> str:
        meaning = self._meaning(procedure)
        if meaning is not None and meaning.family in _REPEATED:
            return self._repeated(procedure, meaning)
        invoked = _invoked(procedure, has_parameters=meaning is not None)
        statements = f"  {invoked}\n  ensure_resolved();\n  {self._body(procedure)}\n"
        return definition(
            str(procedure.return_type), str(procedure.name), parameter_list(procedure), statements
        )

    def extension(self, extension: Extension) -> str:
        name, parameters = extension.name, ", ".join(extension.parameters)
        forward = f"forward({', '.join([f'next.{name}', *extension.names()])})"
        clears = "".join(f", {request}" for request in extension.new_requests())
        invoked = _invocation(name, ())
        statement = f"return pass_through({invoked}, Category::other, [&] {{ return {forward}; }}{clears});"
        return definition("int", name, parameters, f"  ensure_resolved();\n  {statement}\n")

    def fortran(self, procedure: standard.Procedure, name: str, form: Form) -> FortranWrapper:
        meaning = self.meanings.get(name) if name not in self.ignored else None
        return _FortranWrapper(procedure, name, form, meaning, self)

    def headers(self, found: Sequence[Procedure | Extension]) -> dict[str, str]:
        names = [short_name(p) for p in found]
        hot = [n for n in names if self.meanings.get(n.removesuffix("_c")) and not n.endswith("_c")]
        ordered = hot + [n for n in names if n not in set(hot)]
        enumerators = ", ".join(ordered)
        texts = ", ".join(f'"{full_name(n)}"' for n in ordered)
        unaccounted = ", ".join("true" if self._is_unaccounted(n) else "false" for n in ordered)
        spent = ", ".join(f"Spent::{self._spent(n)[0]}" for n in ordered)
        waits = ", ".join("true" if self._spent(n)[1] else "false" for n in ordered)
        parameters = {
            short_name(p): [str(q.name) for q in p.parameters] for p in found if not isinstance(p, Extension)
        }
        has_buffer = ", ".join(
            "true" if self._names_buffer(n, parameters.get(n, [])) else "false" for n in ordered
        )
        text = (
            "// Generated by interpose/generate.py.\n#pragma once\n#include <cstdint>\n"
            "namespace haloscope::watch {\n"
            f"enum class Function : std::uint16_t {{ {enumerators} }};\n"
            f"inline constexpr unsigned function_count = {len(ordered)};\n"
            f"inline constexpr const char *function_names[] = {{ {texts} }};\n"
            "// Where the time of a call belongs that is not over, and whether it waits.\n"
            "enum class Spent : std::uint8_t { p2p, collective, one_sided, io, other };\n"
            f"inline constexpr Spent function_spent[] = {{ {spent} }};\n"
            f"inline constexpr bool function_waits[] = {{ {waits} }};\n"
            "// Names the memory that it moves.\n"
            f"inline constexpr bool function_has_buffer[] = {{ {has_buffer} }};\n"
            "// Moves data in a way that the recorder does not understand.\n"
            f"inline constexpr bool function_unaccounted[] = {{ {unaccounted} }};\n"
            "} // namespace haloscope::watch\n"
        )
        return {"records/functions.hpp": text, **declared.headers()}

    def _names_buffer(self, name: str, parameters: Sequence[str]) -> bool:
        return name.removesuffix("_c") in self.meanings and buffers.has_buffer(parameters)

    def _spent(self, name: str) -> tuple[str, bool]:
        """Where the time in a function goes, and whether it waits."""
        meaning = self.meanings.get(name.removesuffix("_c"))
        if meaning is None:
            kind = self.category(name).removeprefix("Category::")
            return kind.removesuffix("_wait"), kind.endswith("_wait")
        for pattern, kind in _SPENT:
            if pattern.match(meaning.family):
                return kind, _WAITS.fullmatch(meaning.family) is not None
        return "other", False

    def category(self, name: str) -> str:
        """The C++ category of a function that only passes through."""
        for pattern, result in self.categories:
            if re.match(pattern, name):
                return result
        return "Category::other"

    def _meaning(self, procedure: Procedure) -> Meaning | None:
        return self.meanings.get(short_name(procedure).removesuffix("_c"))

    def _body(self, procedure: Procedure) -> str:
        """The wrapper's one statement: a family's meaning, or passing through."""
        name = short_name(procedure)
        meaning = self._meaning(procedure)
        forward = f"[&] {{ return {call(procedure)}; }}"
        if str(procedure.return_type) != "int" or name in self.ignored:
            return f"return count_only(invoked, {forward});"
        if meaning is None:
            clears = "".join(f", {request}" for request in new_requests(procedure))
            return f"return pass_through(invoked, {self.category(name)}, erased({forward}){clears});"
        if _INLINED.match(meaning.family) and not name.endswith("_c"):
            return f"return {action(procedure, meaning, 'invoked')};"
        erased = replace(meaning, arguments=_erased(meaning.arguments))
        return f"return {action(procedure, erased, 'invoked', wrap='erased')};"

    def _repeated(self, procedure: Procedure, meaning: Meaning) -> str:
        name, returned = str(procedure.name), str(procedure.return_type)
        arguments, request = meaning.arguments.rsplit(", ", 1)
        given = ", ".join(str(p.name) for p in procedure.parameters)

        def repeated(stamped: str) -> str:
            found = f"const RepeatedPost<{stamped}> repeated{{invoked, {arguments}}}"
            return (
                f"  if ({found}; repeated)\n"
                f"    return repeated.{_REPEATED[meaning.family]}(invoked, {request}, "
                f"[&] {{ return {call(procedure)}; }});\n"
            )

        other = (
            f"[[gnu::noinline]] static {returned} other_{name}({parameter_list(procedure)}, "
            f"const void *caller, Memory memory) {{\n"
            f"  {_handed_on(procedure)}\n"
            f"{repeated('true')}"
            f"  ensure_resolved();\n"
            f"  {self._body(procedure)}\n"
            f"}}\n"
        )
        statements = (
            f"  {_invoked(procedure)}\n{repeated('false')}  return other_{name}({given}, "
            f"HALOSCOPE_CALLER, invoked.memory);\n"
        )
        return other + definition(returned, name, parameter_list(procedure), statements)

    def _is_unaccounted(self, name: str) -> bool:
        """Whether it moves data that is not counted; of an extension we only know the name."""
        if name.startswith("MPIX_"):
            return not self.harmless_extensions.search(name)
        return self.unaccounted.fullmatch(name.removesuffix("_c")) is not None


class _FortranWrapper(FortranWrapper):
    def __init__(
        self,
        procedure: standard.Procedure,
        name: str,
        form: Form,
        meaning: Meaning | None,
        recorder: Recording,
    ) -> None:
        super().__init__(procedure, name, form, meaning)
        self.recorder = recorder

    @property
    def is_short(self) -> bool:
        if self.name in self.recorder.ignored:
            return True
        return bool(self.meaning and _SHORT.search(self.meaning.family))

    def statement(self, call: str) -> str:
        names = [str(p.name) for p in self.parameters] if self.meaning else []
        invoked = _invocation(self.name, names, memories=self._memories(names))
        if self.name in self.recorder.ignored:
            return f"count_only({invoked}, {call});"
        if self.meaning is None:
            requests = "".join(f", {p.name}.c()" for p in self.new_requests())
            return f"pass_through({invoked}, {self.recorder.category(self.name)}, erased({call}){requests});"
        given = [invoked, _erased(self.meaning.arguments), f"erased({call})"]
        arguments = ", ".join(filter(None, given))
        return f"{self.meaning.family}({arguments});"

    def _memories(self, names: Sequence[str]) -> dict[str, str]:
        """The memory of the buffers: arguments for it are converted only if it is asked for."""
        descriptor = str(self.form.descriptor).lower()

        def address(name: str) -> str:
            return f"fortran_buffer<{descriptor}>(f_{name})"

        def datatype(_buffer: str, name: str) -> str:
            is_one = not self.shape[name].array
            return f"fortran_handle<MPI_Datatype>(f_{name})" if is_one else "MPI_DATATYPE_NULL"

        return buffers.memories(self.name, names, address, datatype)

    def _used(self, name: str) -> bool:
        return super()._used(name) or (self.meaning is not None and name in _IN_LIVE_RECORD)
