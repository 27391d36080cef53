"""A C program that calls a library's Fortran functions once each, by each of their names.

Its calls are made of the declarations that the wrappers are made of. Messages of a rank are to itself. PMPI
functions, which no library before MPI sees, prepare each call and finish it.

    python -m support.fortran_calls < SYMBOLS > CALLS
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from haloscope.base.objects import read_defined_names
from support.missing import missing
from support.mpi import CHECKOUT, Mpi
from support.programs import Compiler

_PROGRAM = CHECKOUT / "tests" / "watch" / "programs" / "fortran_forms.c"
_LIBRARIES = {"openmpi": ("libmpi_mpifh", "libmpi_usempif08"), "mpich": ("libmpichfort",)}

# Calls of a second process, and of the program's beginning and end.
_ELSEWHERE = {"Init", "Init_thread", "Finalize", "Session_init", "Session_finalize", "Abort"}
_ELSEWHERE |= {"Intercomm_create", "Intercomm_merge", "Intercomm_create_from_groups"}
# Timed, although the recorder has no family for them, or of other libraries.
_SYNCHRONISATION = """
    Win_create Win_create_dynamic Win_allocate Win_allocate_shared Win_free Win_fence Win_post Win_start
    Win_complete Win_wait Win_test Win_lock Win_lock_all Win_unlock Win_unlock_all Win_flush Win_flush_all
    Win_flush_local Win_flush_local_all Win_sync File_open File_close File_sync File_set_view File_set_size
    Alloc_mem Free_mem
""".split()
# C before and after a call: preparation, and the rest of the exchange. The first pattern that fits.
_AROUND = [
    (r"[BSR]send|Send|I[bsr]?send", "expect();", "receive(); WAIT"),
    (r"Recv|Irecv", "send();", "sent(); WAIT"),
    (r"Probe|Iprobe", "send();", "take(); sent();"),
    (r"Mprobe|Improbe", "send(); MESSAGE_THERE", "take_matched(); sent();"),
    (r"Mrecv|Imrecv", "send(); match();", "sent(); WAIT"),
    (r"I(?!recv)\w+|File_i\w+|R(put|get|accumulate)\w*", "", "WAIT"),
    (r"\w+_init", "", "PMPI_Request_free(&made);"),
    (r"Start|Startall", "persistent();", "finish(1);"),
    (r"Request_free", "persistent();", ""),
    (r"Cancel", "endless();", "finish(0);"),
    (r"Comm_idup\w*", "", "WAIT free_made();"),
    (r"(Comm_(?!free|dis|set)|Cart_|Graph_|Dist_)\w+", "", "free_made();"),
    (r"Win_(create|allocate)\w*", "", "free_made_win();"),
    (r"Free_mem", "memory = fresh_memory();", ""),
    (r"Alloc_mem", "", "use_memory(results[2][0]);"),
    (r"Parrived", "partitioned();", "depart(); finish(1);"),
    (r"Win_fence", "", "PMPI_Win_fence(MPI_MODE_NOSUCCEED, idle);"),
    (r"Win_post", "", "begin_access(); end_access(); PMPI_Win_wait(idle);"),
    (r"Win_start", "expose();", "end_access(); PMPI_Win_wait(idle);"),
    (r"Win_complete", "expose(); begin_access();", "PMPI_Win_wait(idle);"),
    (r"Win_wait|Win_test", "expose(); begin_access(); end_access();", ""),
    (r"Win_lock", "", "PMPI_Win_unlock(f_me, idle);"),
    (r"Win_unlock", "PMPI_Win_lock(MPI_LOCK_SHARED, f_me, 0, idle);", ""),
    (r"Win_lock_all", "", "PMPI_Win_unlock_all(idle);"),
    (r"Win_unlock_all", "PMPI_Win_lock_all(0, idle);", ""),
    (r"File_(read|write)_(\w+)_begin", "", r"PMPI_File_\1_\2_end(file, buffer, status);"),
    (r"File_(read|write)_(all|ordered)_end", r"PMPI_File_\1_\2_begin(file, buffer, 1, MPI_INT);", ""),
    (r"File_(read|write)_at_all_end", r"PMPI_File_\1_at_all_begin(file, 0, buffer, 1, MPI_INT);", ""),
]
_HANDLES = {"COMMUNICATOR": "comm", "WINDOW": "win", "FILE": "file", "DATATYPE": "type", "GROUP": "group"}
_VALUES = {
    "DATATYPE": "f_types",
    "OPERATION": "&f_sum",
    "INFO": "&f_no_info",
    "MESSAGE": "&f_message",
    "SPLIT_TYPE": "&f_shared",
    "LOCK_TYPE": "&f_lock",
    "ACCESS_MODE": "&f_mode",
    "SESSION": "&f_unused",
    "ERRHANDLER": "&f_return",
}
_ONES = re.compile(r"POLYXFER|XFER|DEGREE|WEIGHT|INDEX|COMM_SIZE|DIM|LOGICAL|ARRAY_LENGTH|PROFILE")


def compile_fortran_calls(mpi: Mpi, compiler: Compiler) -> tuple[Path, Counter[tuple[str, str]]]:
    """Return the program, and a rank's calls by form and function: ("plain_", "MPI_Send") for mpi_send_."""
    files = [next(mpi.library.parent.glob(f"{name}.so.*"), None) for name in _LIBRARIES[mpi.abi]]
    found = [file or missing(f"{mpi.name} has no Fortran library") for file in files]
    symbols = "\n".join(name for file in found for name in read_defined_names(file, rb"(?i)mpi_\w+"))
    script = [sys.executable, "-m", "support.fortran_calls"]
    made = subprocess.run(
        script, input=symbols, text=True, stdout=subprocess.PIPE, check=True, cwd=CHECKOUT / "tests"
    )
    flags = ["-w", *map(str, found), "-lgfortran", *(["-DDESCRIPTORS"] if mpi.abi == "mpich" else [])]
    text = _PROGRAM.read_text().replace("CALLS\n", made.stdout)
    called = Counter(re.findall(r"^  // (\S+) (\S+)$", made.stdout, re.MULTILINE))
    assert len(called) > 700
    return compiler.text(mpi, _PROGRAM.name, text, flags), called


def main() -> None:
    """Print the calls, by a function each."""
    sources = Path(__file__).resolve().parents[2] / "src"
    sys.path[:0] = [str(sources / "interpose"), str(sources / "watch")]
    standard = import_module("pympistandard")
    standard.use_api_version()
    known = {str(p.express.iso_c.name): p.express for p in standard.PROCEDURES.values() if p.express.iso_c}
    wanted = set(import_module("meanings").LIBRARY.meanings) | set(_SYNCHRONISATION)
    names = {f"mpi_{name}".lower(): f"MPI_{name}" for name in wanted - _ELSEWHERE}
    calls = []
    for symbol in sorted(set(sys.stdin.read().split())):
        found = re.fullmatch(r"(mpi_\w+?)(_c)?(?:(_f08|_f08ts)(_large)?_|_cptr_{0,2}|_{0,2})", symbol.lower())
        if not found or found[1] not in names or not known[names[found[1]]].f08:
            continue
        if re.search("neighbor_alltoallw(_init)?_f08ts", symbol):
            continue  # crashes in MPICH 4
        name = names[found[1]]
        form = found[3] or ("UPPER" if symbol.isupper() else re.sub(r"^\w*?[a-z](_*)$", r"plain\1", symbol))
        large = bool(found[2] or found[4])
        calls.append(_call(known[name], symbol, name.removeprefix("MPI_"), form + "_large" * large))
    sys.stdout.write("".join(f"extern void {symbol}();\n" for symbol, _ in calls))
    sys.stdout.write(f"static void call_all(void) {{\n{''.join(text for _, text in calls)}}}\n")


def _call(express: Any, symbol: str, name: str, form: str) -> tuple[str, str]:
    around = ((re.fullmatch(pattern, name), texts) for pattern, *texts in _AROUND)
    before, after = next((map(found.expand, texts) for found, texts in around if found), ("", ""))
    opens = "open_again(); " if name.startswith("File_") else ""
    arguments = ", ".join(_arguments(express, name, form))
    return symbol, (
        f'  // {form} MPI_{name}\n  {opens}{before}\n  begin("{form}");\n  {symbol}({arguments});\n'
        f'  end("{form}", "{symbol}");\n  {after}\n'
    )


def _arguments(express: Any, name: str, form: str) -> Iterator[str]:
    shapes = {p.name: p for p in express.iso_c.parameters}
    strings = 0
    for i, p in enumerate(express.f08.parameters):
        kind, shape = p.kind.name, shapes.get(p.name)
        strings += kind == "STRING"
        if p.name == "ierror":
            yield "&error"
        elif kind == "BUFFER":
            buffer = "buffer" if p.name.startswith(("recv", "result")) else "other"
            buffer = "memory" if name == "Free_mem" else buffer
            yield f"described({buffer})" if form.startswith("_f08ts") else buffer
        elif kind == "STATUS":
            yield "status"
        elif kind == "STRING":
            yield '"native"' if p.name == "datarep" else "path"
        else:
            assert shape is not None
            argument = _argument(p.name, kind, shape, name, form.endswith("large"))
            yield argument or f"results[{i}]"
    if not any(p.name == "ierror" for p in express.f08.parameters):
        yield "&error"
    yield from ["(size_t)6" if "datarep" in shapes else "strlen(path)"] * strings


def _argument(parameter: str, kind: str, shape: Any, name: str, large: bool) -> str:
    """The C of an argument; empty: a result that nothing is asked about."""
    direction = shape.direction.name
    if (kind in _HANDLES and kind != "DATATYPE") or (kind == "DATATYPE" and direction == "INOUT"):
        return _handle(kind, direction, name)
    if kind == "ALLOC_MEM_NUM_BYTES":
        return "&f_bytes"
    if parameter == "target_rank" or (parameter == "rank" and name.startswith("Win_")):
        return "&f_me"
    if kind == "REQUEST":
        return "&f_made" if direction == "OUT" else "&f_request"
    if kind in _VALUES:
        return _VALUES[kind]
    if direction != "IN":
        return ""
    if parameter not in ("size", "disp_unit", "level", "partitions") and not _ONES.match(kind):
        return "zeros"
    return "large_ones" if (large and kind.startswith("POLY")) or not shape.array else "ones"


def _handle(kind: str, direction: str, name: str) -> str:
    handle = _HANDLES[kind]
    if direction == "OUT":
        return f"&f_made_{handle}"
    if direction == "INOUT":
        return f"fresh_{handle}()"
    if kind == "COMMUNICATOR":
        handle = {"Win": "world", "File": "self", "Cart": "cart"}.get(name.partition("_")[0], handle)
    if kind == "WINDOW" and re.match(r"Win_(?!flush|sync)", name):
        handle = "idle"
    return f"&f_{handle}"


if __name__ == "__main__":
    main()
