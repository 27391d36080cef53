"""What makes programs tell their markers to the recorder, where they look for a tool by a variable."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["left_to_others", "tool_variables"]

# Whose interface opens the library that the variable names. All others call the recorder as it is.
_VARIABLES = {
    "kokkos": "KOKKOS_TOOLS_LIBS",
    "nvtx": "NVTX_INJECTION64_PATH",
    "itt": "INTEL_LIBITTNOTIFY64",
    "nccl": "NCCL_PROFILER_PLUGIN",
}
# Kokkos before 3.7 knows another one, newer ones take either and complain where two differ.
_OLDER = {"kokkos": "KOKKOS_PROFILE_LIBRARY"}
_OURS = "libhaloscope-watch.so"


def tool_variables(variables: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that name the recorder as a tool, where the user has named no other.

    `variables` are those of the ranks: the recorder is what LD_PRELOAD has there.
    """
    words = variables.get("LD_PRELOAD", "").split(":")
    recorder = next((word for word in words if word.endswith(_OURS)), None)
    if recorder is None:
        return {}
    wanted = _wanted(variables)
    return {_VARIABLES[name]: recorder for name in wanted if _other(name, environment) is None}


def left_to_others(variables: Mapping[str, str], environment: Mapping[str, str]) -> str | None:
    """Return what to tell the user about markers that another tool gets, if there is something."""
    others = [found for name in _wanted(variables) if (found := _other(name, environment))]
    if not others:
        return None
    names = f"{' and '.join(others)} {'names' if len(others) == 1 else 'name'}"
    return f"{names} another tool: it gets these markers, not the profile; unset to have them as regions"


def _wanted(variables: Mapping[str, str]) -> list[str]:
    chosen = variables.get("HALOSCOPE_ANNOTATIONS", "") or "all"
    return [name for name in _VARIABLES if chosen == "all" or name in chosen.split(",")]


def _other(name: str, environment: Mapping[str, str]) -> str | None:
    """Return the variable by which the user has named another tool."""
    for variable in (_VARIABLES[name], _OLDER.get(name, "")):
        value = environment.get(variable, "")
        if value and not value.endswith(_OURS):
            return variable
    return None
