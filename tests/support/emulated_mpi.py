"""An MPI installation of scripts, with known reports and a known launcher."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

# Instead of a program it writes one that only reports the library's properties.
_COMPILER = """#!/bin/sh
for word; do [ "$before" = -o ] && target=$word; before=$word; done
[ -n "$target" ] || exit 0
printf '#!/bin/sh\\n[ $# = 0 ] && cat %s\\n' {answers} >"$target"
chmod +x "$target"
"""


def emulated_mpi(
    directory: Path,
    version: str = "Some MPI 1.0",
    *,
    file: Path | None = None,
    variables: Mapping[str, str] | None = None,
    ompi_info: str = "",
    mpiexec: str = "exit 1",
) -> dict[str, str]:
    """Make the installation, and return the environment in which it is the MPI in use.

    Args:
        directory: Its directory, with a separate cache for builds. version: What MPI_Get_library_version
        returns. file: The library's file. variables: Names and descriptions of its control variables.
        ompi_info: What the command of this name prints. mpiexec: The launcher, as the text of a shell script.
    """
    folder = directory / "bin"
    folder.mkdir(parents=True)
    answers = folder / "answers"
    rows = [("version", "library", version)]
    rows += [("variable", name, text) for name, text in (variables or {}).items()]
    rows += [("file", "library", str(file))] if file else []
    lines = [json.dumps({"record": kind, "name": name, "text": text}) for kind, name, text in rows]
    answers.write_text("\n".join(lines) + "\n")
    (folder / "parameters").write_text(ompi_info)
    scripts = {
        "mpicc": _COMPILER.format(answers=answers),
        "mpicxx": _COMPILER.format(answers=answers),
        "mpiexec": f"#!/bin/sh\n{mpiexec}\n",
        "ompi_info": f"#!/bin/sh\ncat {folder}/parameters\n",
    }
    for name, text in scripts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "HALOSCOPE_CACHE": str(directory / "cache")}
