"""Tables 2 and 3 of the paper, with a column for this machine."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import poisson_runs
import polars as pl

from haloscope import HaloscopeError
from haloscope.base.headers import library_version
from haloscope.base.mpi import find_installed_library
from haloscope.base.toolchain import toolchain
from haloscope.hide import build_fem

_PRINTED = Path(__file__).resolve().parent / "machines.csv"
UNKNOWN = "unknown"


def machines() -> pl.DataFrame:
    """Return the printed properties of Anvil and Frontera, and those of this machine."""
    printed = pl.read_csv(_PRINTED, infer_schema=False)
    own = this_machine()
    return printed.with_columns(here=pl.col("property").replace_strict(own, default=UNKNOWN))


def this_machine() -> dict[str, str]:
    """Return the same properties of this machine; those that Linux does not report are missing."""
    cpus = [dict(_lines(block)) for block in _read("/proc/cpuinfo").split("\n\n") if block.strip()]
    cores = {(cpu.get("physical id"), cpu.get("core id", str(i))) for i, cpu in enumerate(cpus)}
    memory = re.search(r"MemTotal: +([0-9]+) kB", _read("/proc/meminfo"))
    found = {
        "interconnect": "none: shared memory, with injected delays",
        "CPUs per node": str(len({cpu.get("physical id") for cpu in cpus}) or UNKNOWN),
        "CPU cores per node": str(len(cores)),
        "hardware threads per core": f"{len(cpus) / max(len(cores), 1):g}",
        "nodes, ranks per node (section 3.2)": f"1, {poisson_runs.RANKS}",
    }
    if cpus:
        found["processors"] = cpus[0].get("model name", os.uname().machine)
    if memory:
        found["memory per node"] = f"{int(memory[1]) * 1024 / 1e9:.0f} GB"
    return found | _software()


def _software() -> dict[str, str]:
    found = {}
    try:
        library = find_installed_library(toolchain().launcher)
        version = library_version(library.path) if library and library.path else None
        if version:
            found["MPI library"] = version[1]
        found["C/C++ compiler"] = _first_line(str(toolchain().compiler), "--version")
        linked = subprocess.run(
            ["ldd", str(build_fem().poisson)], capture_output=True, text=True, check=False
        )
        blas = re.findall(
            r"^\s*(lib\w*blas\w*\.so\S*|libmkl\S*) => (\S+)", linked.stdout, re.MULTILINE | re.IGNORECASE
        )
        if blas:
            found["BLAS library"] = Path(os.path.realpath(blas[0][1])).name
    except (HaloscopeError, OSError):
        return found
    return found


def _first_line(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0]


def _lines(block: str) -> list[tuple[str, str]]:
    pairs = (line.partition(":") for line in block.splitlines())
    return [(name.strip(), " ".join(value.split())) for name, _, value in pairs]


def _read(file: str) -> str:
    try:
        return Path(file).read_text("utf-8", "replace")
    except OSError:
        return ""
