"""Formats of rules files, the settings that make a library read them, and their writer."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from haloscope.base.errors import OutputError, RecorderError, UsageError
from haloscope.base.files import refuse_other_kind
from haloscope.predict.mpi_library import Library
from haloscope.predict.tune.mpich_rules import read_embedded_tree, write_tree
from haloscope.predict.tune.tuning_rules import TuningRule, write_json, write_text

Format = Literal["openmpi-text", "openmpi-json", "mpich-json"]
_OPENMPI = re.compile(r"Open MPI v?(\d+)")


def find_format(library: Library) -> Format:
    """Return the format of a library's rules."""
    found = _OPENMPI.match(library.name)
    if found:
        return "openmpi-text" if int(found[1]) < 6 else "openmpi-json"
    if library.name.startswith("MPICH"):
        return "mpich-json"
    raise RecorderError(f"{library.name} reads no known format of rules, so it cannot be tuned")


def format_rules(rules: Iterable[TuningRule], form: Format, library_file: Path | None) -> str:
    """Return the text of a rules file."""
    if form == "openmpi-text":
        return write_text(rules)
    if form == "openmpi-json":
        return write_json(rules)
    if library_file is None:
        raise RecorderError("the library of MPICH is not found; its complete tree is needed to write rules")
    return json.dumps(write_tree(rules, read_embedded_tree(library_file)), indent=1) + "\n"


def make_settings(form: Format, file: Path, collectives: Iterable[str]) -> dict[str, str]:
    """Return the environment that makes a library use the file for these collectives."""
    path = str(file.absolute())
    if form == "mpich-json":
        devices = {f"MPIR_CVAR_{name.upper()}_DEVICE_COLLECTIVE": "0" for name in collectives}
        return {
            "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": path,
            "MPIR_CVAR_DEVICE_COLLECTIVES": "percoll",
            **devices,
        }
    return {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_dynamic_rules_filename": path,
        # Without this, components such as han and sm have precedence over the one that reads the file.
        "OMPI_MCA_coll_tuned_priority": "100",
    }


def make_usage(form: Format, file: Path, collectives: Iterable[str]) -> list[str]:
    """Return the commands to use a file: with mpiexec, and in a job script."""
    variables = make_settings(form, file, collectives)
    exports = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    if form == "mpich-json":
        return exports
    words = (f"--mca {name[len('OMPI_MCA_') :]} {shlex.quote(v)}" for name, v in variables.items())
    return ["mpiexec " + " ".join(words) + " …", *exports]


def check_output(output: Path, form: Format, library_file: Path | None) -> None:
    """Raise an error before the measurements if the file cannot be written or has a wrong suffix."""
    if output.exists() and not output.is_file():
        raise OutputError(f"{output}: is not a file; give a file for the rules")
    directory = output.absolute().parent
    if not os.access(directory, os.W_OK | os.X_OK):
        raise OutputError(f"{output}: cannot be written: no permission, or no such directory")
    wants = ".conf" if form == "openmpi-text" else ".json"
    if output.suffix == (".json" if wants == ".conf" else ".conf"):
        raise UsageError(f"{output}: the library in use reads {form}; use the suffix {wants}")
    refuse_other_kind(output, format_rules((), form, library_file).encode(), "rules")
