"""Build the independent counter of MPI calls (counter.c), and read what it counted."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
COMPILERS = {"openmpi": "mpicc.openmpi", "mpich": "mpicc.mpich"}
LIBRARIES = {
    "openmpi": ("libmpi.so.40", "libmpi_mpifh.so.40", "libmpi_usempif08.so.40"),
    "mpich": ("libmpich.so.12", "libmpichfort.so.12"),
}
# Functions that are not compared: they start and end the recorder, or answer without communication; callbacks
# of attributes call them inside other calls; MPI 3.0 has removed them.
UNCOUNTED = re.compile(
    r"MPI_(Init|Init_thread|Finalize|Initialized|Finalized|Abort|Wtime|Wtick|Pcontrol|Aint_.*|.*_(c2f|f2c).*"
    r"|Comm_delete_attr|Comm_free|Comm_free_keyval|Attr_.*|Keyval_.*|Address|Errhandler_[cgs]\w+|Type_(extent|hvector|hindexed|struct|lb|ub))"
)


@dataclass(frozen=True)
class Library:
    """The counter, and the function that each of its numbers counts."""

    path: Path
    functions: list[str]


def counter(mpi: str, directory: Path) -> Library:
    """Build the counter for the names that the libraries of this MPI export."""
    made = directory / f"counter-{mpi}"
    made.mkdir(parents=True, exist_ok=True)
    symbols = list(exported(LIBRARIES[mpi]))
    functions = {name.lower(): name for name in symbols if re.fullmatch(r"MPI_[A-Z][a-z0-9].*", name)}
    forms = {name: name for name in functions.values()}
    for name in symbols:  # without a final underscore, it may be another function, such as Rmpi's
        function = functions.get(re.sub(r"(_f08(ts)?)?_+$", "", name))
        if function and name.endswith("_"):
            forms[name] = function
    named = sorted(forms.items())
    (made / "names.h").write_text(
        "".join(f"NAME({i}, {name}, {function})\n" for i, (name, function) in enumerate(named))
    )
    flags = ["-shared", "-fPIC", "-O1", "-mgeneral-regs-only", f"-I{made}", "-ldl"]
    subprocess.run([COMPILERS[mpi], HERE / "counter.c", "-o", made / "counter.so", *flags], check=True)
    return Library(made / "counter.so", [function for _, function in named])


def exported(libraries: Sequence[str]) -> Iterator[str]:
    """Yield the functions of MPI that these libraries export."""
    for library in libraries:
        found = sorted(Path("/usr/lib").glob(f"*/{library}"))
        if found:
            text = subprocess.run(
                ["nm", "-D", "--defined-only", found[0]], check=True, capture_output=True, text=True
            ).stdout
            yield from re.findall(r" [TtWi] ((?:MPI|mpi)_(?!T_|t_)\w+)", text)


def counted(directory: Path, functions: Sequence[str]) -> Counter[str]:
    """Sum what the processes of a run counted."""
    calls: Counter[str] = Counter()
    for file in directory.iterdir():
        for function, number in zip(functions, np.fromfile(file, np.int64), strict=True):
            if number and not UNCOUNTED.fullmatch(function):
                calls[function] += int(number)
    return calls
