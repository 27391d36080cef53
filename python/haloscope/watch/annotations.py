"""Variables that make programs send their markers to the recorder, where these programs load a tool."""

from __future__ import annotations

from collections.abc import Mapping

# Interfaces that load the library in this variable. All other interfaces call the recorder directly.
_VARIABLES = {
    "kokkos": "KOKKOS_TOOLS_LIBS",
    "nvtx": "NVTX_INJECTION64_PATH",
    "itt": "INTEL_LIBITTNOTIFY64",
    "nccl": "NCCL_PROFILER_PLUGIN",
}
# Kokkos before 3.7 reads this variable; newer versions read both, and complain if they differ.
_OLDER = {"kokkos": "KOKKOS_PROFILE_LIBRARY"}
_OURS = "libhaloscope-watch.so"


def tool_variables(variables: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that name the recorder as a tool, unless the user has named a different one.

    `variables` are those of the ranks, whose LD_PRELOAD has the recorder.
    """
    words = variables.get("LD_PRELOAD", "").split(":")
    recorder = next((word for word in words if word.endswith(_OURS)), None)
    if recorder is None:
        return {}
    wanted = _select_interfaces(variables)
    return {_VARIABLES[name]: recorder for name in wanted if _find_other_tool(name, environment) is None}


def describe_other_tools(variables: Mapping[str, str], environment: Mapping[str, str]) -> str | None:
    """Return a line about markers that a different tool gets; None if there are none."""
    others = [
        found for name in _select_interfaces(variables) if (found := _find_other_tool(name, environment))
    ]
    if not others:
        return None
    names = f"{' and '.join(others)} {'names' if len(others) == 1 else 'name'}"
    return (
        f"{names} a different tool, which gets these markers instead of the profile; "
        "unset to record them as regions"
    )


def _select_interfaces(variables: Mapping[str, str]) -> list[str]:
    chosen = variables.get("HALOSCOPE_ANNOTATIONS", "") or "all"
    return [name for name in _VARIABLES if chosen == "all" or name in chosen.split(",")]


def _find_other_tool(name: str, environment: Mapping[str, str]) -> str | None:
    """Return the variable by which the user has named a different tool."""
    for variable in (_VARIABLES[name], _OLDER.get(name, "")):
        value = environment.get(variable, "")
        if value and not value.endswith(_OURS):
            return variable
    return None
