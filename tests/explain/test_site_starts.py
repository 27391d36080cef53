"""Stacks of call sites begin with the program's code: start-up code of programs and threads is left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from haloscope.explain import Profile
from support.profiles import Draft, columns_of, draft, path_rows, process_rows

PROGRAM, LIBC, PTHREAD, MUSL, STEPS = "00000001", "00000002", "00000003", "00000004", "00000005"
PATHS = {
    PROGRAM: "/home/ada/bin/solver",
    LIBC: "/lib/x86_64-linux-gnu/libc.so.6",
    PTHREAD: "/lib64/libpthread-2.31.so",
    MUSL: "/lib/ld-musl-x86_64.so.1",
    STEPS: "/home/ada/lib/libsteps.so",
}
MODULES = [
    {"module": key, "file": path, "build": "", "is_program": int(key == PROGRAM)}
    for key, path in PATHS.items()
]
# Names of addresses; a stripped C library has only exported names.
EXPORTED = {(LIBC, 0x80): "__libc_start_main", (LIBC, 0x90): "qsort"}
COMPLETE = EXPORTED | {
    (LIBC, 0x70): "__libc_start_call_main",
    (LIBC, 0xA0): "start_thread",
    (LIBC, 0xB0): "__clone3",
    (PTHREAD, 0xA0): "start_thread",
    (MUSL, 0x70): "libc_start_main_stage2",
    (MUSL, 0xA0): "start",
    (MUSL, 0xB0): "__clone",
}
NAMED = {
    (PROGRAM, 0x10): "work",
    (PROGRAM, 0x20): "main",
    (PROGRAM, 0x30): "_start",
    (PROGRAM, 0x38): "start",
}
FORTRAN = NAMED | {(PROGRAM, 0x18): "MAIN__"}
LIBRARIES = {"no symbols": {}, "exported": EXPORTED, "complete": COMPLETE}
PROGRAMS = {"named": NAMED, "fortran": FORTRAN, "stripped": {}}

GLIBC = [(LIBC, 0x70), (LIBC, 0x80), (PROGRAM, 0x30)]
OLD_GLIBC = [(LIBC, 0x80), (PROGRAM, 0x30)]
ONLY_MUSL = [(MUSL, 0x70), (PROGRAM, 0x30)]
THREAD = [(LIBC, 0xA0), (LIBC, 0xB0)]
OLD_THREAD = [(PTHREAD, 0xA0), (LIBC, 0xB0)]
MUSL_THREAD = [(MUSL, 0xA0), (MUSL, 0xB0)]
WORK, MAIN, FORTRAN_MAIN = (PROGRAM, 0x10), (PROGRAM, 0x20), (PROGRAM, 0x18)

Address = tuple[str, int]
Names = dict[Address, str]


def stack_of(read: Callable[[Draft], Profile], frames: list[Address], names: Names) -> list[str]:
    """Return the stack as read, outermost frame first; `frames` has the innermost first."""
    row: dict[str, Any] = {"path": 0, "call": "MPI_Send", "ranks": 1, "calls": 1, "bytes": 8}
    row |= {"time_total": 1.0, "time_squares": 1.0, "time_max": 1.0}
    row |= {"stack": "\n".join(f"{module}+{offset:x}" for module, offset in frames)}
    made = draft(paths=path_rows("solve"), processes=process_rows("a"), modules=MODULES, sites=[row])
    # A name that no frame uses prevents reading the module's file.
    known = dict.fromkeys(((module, 0xFFFF) for module in PATHS), "f") | names
    symbols = [
        {"module": module, "offset": offset, "depth": 0, "function": function, "file": "", "line": 0}
        for (module, offset), function in known.items()
    ]
    made.tables |= {"symbols": columns_of("symbols", symbols)}
    made.version = (1, 2)
    (row,) = read(made).table("sites", exclusive=True).to_dicts()
    return str(row["stack"]).split(";")


def texts(frames: list[Address], names: Names) -> list[str]:
    """Return the printed frames, outermost first."""
    printed = []
    for module, offset in reversed(frames):
        code = f"{PATHS[module].rpartition('/')[2]}+0x{offset:x}"
        name = names.get((module, offset))
        printed.append(f"{name} ({code})" if name else code)
    return printed


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    "start",
    [GLIBC, GLIBC[:2], GLIBC[:1], OLD_GLIBC, ONLY_MUSL, THREAD, OLD_THREAD, MUSL_THREAD, MUSL_THREAD[:1]],
)
def test_start_up_code_is_left_out(
    read: Callable[[Draft], Profile], start: list[Address], library: str, program: str
) -> None:
    """With and without symbols of the C library and of the executable, and for truncated stacks."""
    names = LIBRARIES[library] | PROGRAMS[program]
    frames = [WORK, FORTRAN_MAIN, MAIN] if program == "fortran" else [WORK, MAIN]
    assert stack_of(read, frames + start, names) == texts(frames, names)


@pytest.mark.parametrize(
    ("frames", "names"),
    [
        ([WORK, (LIBC, 0x90)], COMPLETE | NAMED),  # truncated: qsort calls the program
        ([WORK, (LIBC, 0x90), MAIN], EXPORTED),  # qsort is called by a program without symbols
        ([(STEPS, 0x10), (STEPS, 0x20)], {}),
        ([(STEPS, 0x10), (PROGRAM, 0x10)], {}),
        ([WORK, (PROGRAM, 0x38)], NAMED),  # the program's own function `start`
        ([("00000009", 0x10), ("00000009", 0x20)], {}),  # code outside of files
        ([(LIBC, 0x70)], {}),
        ([(PROGRAM, 0x30)], NAMED),
    ],
)
def test_frames_of_the_program_stay(
    read: Callable[[Draft], Profile], frames: list[Address], names: Names
) -> None:
    printed = [text.replace("?+0x", "?+") for text in texts_or_unknown(frames, names)]
    assert stack_of(read, frames, names) == printed


def texts_or_unknown(frames: list[Address], names: Names) -> list[str]:
    if all(module in PATHS for module, _ in frames):
        return texts(frames, names)
    return [f"?+0x{offset:x}" for _, offset in reversed(frames)]


def test_a_call_in_an_exit_handler_has_its_caller(read: Callable[[Draft], Profile]) -> None:
    """`exit` calls a handler of the program; the outer frame is `main`."""
    names = EXPORTED | NAMED | {(LIBC, 0xC8): "exit"}
    frames = [WORK, (LIBC, 0xC0), (LIBC, 0xC8)]
    assert stack_of(read, frames + GLIBC, names) == texts(frames, names)
