"""Puts the recorder and its settings into the environment of every rank, on every node."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from haloscope.base.errors import RecorderError
from haloscope.base.launch import LaunchCommand, script_text
from haloscope.base.mpi import Mpi
from haloscope.base.objects import read_defined_names

_ENV_LIST = "OMPI_MCA_mca_base_env_list"
_SLURM_LIST = "SLURM_EXPORT_ENV"
# LD_PRELOAD separates by these, and the dynamic loader expands the dollar sign.
_UNFIT = re.compile(r"[\s:;,$]")
# The order of preloaded libraries: each passes calls on to the next.
_ORDER = ("libhaloscope-place.so", "libhaloscope-watch.so", "libhaloscope-shm.so", "libhaloscope-inject.so")
# Runtimes that a program finds first of all libraries, or does not start.
_FIRST = re.compile(r"(^|/)lib(clang_rt\.)?(asan|hwasan|lsan|msan|tsan|ubsan)\b[^/]*$")
_STRIPPING = frozenset({"genvnone", "genvlist", "envnone", "envlist"})


class Preloaded(Protocol):
    """A library that is built for one MPI and preloaded before it, such as the recorder."""

    @property
    def library(self) -> Path:
        """The file to be preloaded."""


def recorder_environment(
    mpi: Mpi, recorder: Preloaded, settings: Mapping[str, str], earlier: str, behind: Sequence[Path] = ()
) -> dict[str, str]:
    """Return the variables of a rank: LD_PRELOAD and the settings of a preloaded library.

    Args:
        mpi: The program's MPI.
        recorder: The library to preload; its place among ours is that of `_ORDER`.
        settings: Its variables.
        earlier: The LD_PRELOAD so far.
        behind: Libraries that it needs.
    """
    # Under `haloscope env` the outer recorder is there already, perhaps of another interface.
    name = recorder.library.name
    others = [w for w in re.split(r"[\s:]+", earlier) if w and not w.endswith(name)]
    ours = [_loadable(recorder.library), *(word for word in others if word.endswith(_ORDER))]
    preload = [word for word in others if _FIRST.search(word)]
    preload += sorted(ours, key=_get_order)
    preload += [*map(_loadable, behind), *others]
    if mpi.preload is not None:  # behind the tools of the user, which stand before MPI
        preload.append(_loadable(mpi.preload))
    return {"LD_PRELOAD": ":".join(dict.fromkeys(preload)), **settings}


def _get_order(word: str) -> int:
    return next((index for index, name in enumerate(_ORDER) if word.endswith(name)), 0)


def outer_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables set by verbs around this one, which all ranks must get."""
    outer = ("HALOSCOPE_INJECT", "HALOSCOPE_SHM", "HALOSCOPE_PLACE")
    return {name: value for name, value in environment.items() if name.startswith(outer)}


def forward_variables(
    variables: Mapping[str, str], environment: Mapping[str, str], openmpi: bool = True
) -> dict[str, str]:
    """Return `variables` and the lists by which launchers pass them on to other nodes.

    Open MPI 4 and 5 pass on only the variables that their list names. The list has names only, as values
    may hold semicolons. Slurm passes on everything by default.
    """
    result = dict(variables)
    if openmpi:
        given = [word for word in environment.get(_ENV_LIST, "").split(";") if word]
        others = [word for word in given if word.partition("=")[0] not in variables]
        result[_ENV_LIST] = ";".join([*others, *variables])
    exported = environment.get(_SLURM_LIST)
    if exported and exported not in ("ALL", "NONE", "NIL"):
        result[_SLURM_LIST] = ",".join([exported, *variables])
    return result


def prepare_launch(
    launch: LaunchCommand, mpi: Mpi, variables: Mapping[str, str], environment: Mapping[str, str]
) -> tuple[LaunchCommand, dict[str, str]]:
    """Return the command and the environment to start it with."""
    variables = dict(variables) | _sanitizer_options(launch, environment)
    complete = dict(environment) | dict(variables)
    if launch.programs and _needs_command(launch, variables, environment):
        return launch.with_environment(variables), complete
    openmpi = mpi.abi == "openmpi" and not _script_uses_x(launch)
    return launch, complete | forward_variables(variables, environment, openmpi)


def earlier_preload(launch: LaunchCommand | None, environment: Mapping[str, str]) -> str:
    """Return the LD_PRELOAD of the user: from the launcher's options, else from the environment."""
    words = launch.options if launch else ()
    for index, word in enumerate(words):
        if word.startswith("LD_PRELOAD="):
            return word.partition("=")[2]
        if word == "LD_PRELOAD" and index and words[index - 1].lstrip("-") in ("genv", "env"):
            return words[index + 1] if index + 1 < len(words) else ""
    return environment.get("LD_PRELOAD", "")


def _needs_command(
    launch: LaunchCommand, variables: Mapping[str, str], environment: Mapping[str, str]
) -> bool:
    """Return whether variables must be on the command line, because the environment would not arrive.

    Open MPI 4 refuses `-x` together with its list, and splits the list's values at semicolons. Hydra and
    srun have options that drop the environment.
    """
    options = {word.lstrip("-").partition("=")[0] for word in launch.options if word[:1] == "-"}
    if launch.kind == "srun":
        asked = next((w for w in launch.options if w.startswith("--export")), None)
        return asked not in (None, "--export=ALL") or environment.get(_SLURM_LIST) == "NONE"
    if options & _STRIPPING or "x" in options or "mca_base_env_list" in launch.options:
        return True
    return launch.launcher is not None and any(";" in value for value in variables.values())


def _sanitizer_options(launch: LaunchCommand, environment: Mapping[str, str]) -> dict[str, str]:
    """Return options for programs with default options of their own, which hide those of the recorder.

    The address sanitizer refuses to start behind a preloaded library (`src/interpose/lookups.cpp`).
    """
    own = rb"__asan_default_options"
    if not any(read_defined_names(program.path, own) for program in launch.programs):
        return {}
    given = environment.get("ASAN_OPTIONS")
    return {"ASAN_OPTIONS": ":".join([*([given] if given else []), "verify_asan_link_order=0"])}


def _script_uses_x(launch: LaunchCommand) -> bool:
    """Return whether a script calls mpirun with `-x`, which Open MPI 4 refuses together with its list."""
    texts = (script_text(program.path) for program in launch.programs)
    return any(re.search(r"(mpirun|mpiexec|orterun)\b.*\s--?x\s", text) for text in texts)


def _loadable(library: Path) -> str:
    """Return a path that LD_PRELOAD can hold: the library's own, else a link in a private directory."""
    if not _UNFIT.search(str(library)):
        return str(library)
    import hashlib
    import tempfile

    base = Path(tempfile.gettempdir())
    base = base if not _UNFIT.search(str(base)) else Path("/tmp")
    private = base / f"haloscope-{os.getuid()}"
    private.mkdir(mode=0o700, exist_ok=True)
    status = private.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o022 or private.is_symlink():
        raise RecorderError(f"{private}: belongs to a different user; remove it, or set TMPDIR")
    name = hashlib.sha256(os.fsencode(library)).hexdigest()[:16]
    link = private / f"{name}-{library.name}"
    if not link.is_symlink() or os.readlink(link) != str(library):
        scratch = private / f".{name}.{os.getpid()}"
        scratch.symlink_to(library)
        scratch.replace(link)
    return str(link)
