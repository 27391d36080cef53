"""Exact counts of floating-point operations of each rank of a program.

    flops.py [-n 8] [--mpiexec mpiexec] [--object NAME]... -- PROGRAM [ARGUMENT]...

Valgrind's callgrind counts how often each instruction is executed, and `objdump` prints the instruction. An
addition, subtraction, multiplication, division or square root is one operation for each number in its
register; a fused multiply-add is two. Prints one JSON object for each rank and file of code, such as the
program or a library. `--object` selects files whose names begin with NAME. The program must not contain
instructions that Valgrind does not support, such as AVX-512.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import MPI_ENVIRONMENT

from haloscope.base.launcher import report_toolchain

_ADDRESS = re.compile(r"(0x[0-9a-f]+) (\d+)")
_NAMED = re.compile(r"(c?)ob=\((\d+)\) ?(.*)")
# Scalar or packed, double or single; fused ones count twice. x87 instructions are used for `long double`.
_VECTOR = re.compile(r"v?(?:h?add|addsub|h?sub|mul|div|sqrt|(f)n?m(?:add|sub)(?:132|213|231))([sp])([sd])\b")
_X87 = re.compile(r"f(?:i?add|i?sub|i?mul|i?div|sqrt)r?p?[sl]?\b")
_BYTES = {"xmm": 16, "ymm": 32, "zmm": 64}


def operations(instruction: str) -> int:
    """Return the number of operations of an x86-64 instruction in `objdump`'s notation."""
    found = _VECTOR.match(instruction)
    if found is None:
        return 1 if _X87.match(instruction) else 0
    fused, packed, kind = found[1], found[2] == "p", found[3]
    register = max(re.findall(r"%([xyz]mm)", instruction), default="xmm")
    lanes = _BYTES[register] // (8 if kind == "d" else 4) if packed else 1
    return lanes * (2 if fused else 1)


@cache
def operations_at(file: str) -> dict[int, int]:
    """Return the addresses of arithmetic instructions in a file of code, with their numbers of operations."""
    done = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", "-w", file], stdout=subprocess.PIPE, check=True, text=True
    )
    lines = (line.split("\t", 1) for line in done.stdout.splitlines() if ":\t" in line)
    found = ((int(address.strip(" :"), 16), operations(text)) for address, text in lines)
    return {address: count for address, count in found if count}


def executed(lines: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    """Yield file, address and number of executions of each instruction in callgrind's output."""
    names: dict[str, str] = {}
    file, is_call = "", False
    for line in lines:
        if named := _NAMED.match(line):
            called, number, name = named.groups()
            known = names.setdefault(number, name)  # a name is printed once, also as that of a callee
            file = file if called else known
        elif line.startswith("calls="):
            is_call = True  # the next line is the total cost of the call
        elif found := _ADDRESS.match(line):
            if not is_call:
                yield file, int(found[1], 16), int(found[2])
            is_call = False


def counted(output: Path) -> Counter[str]:
    """Return the operations in each file of code."""
    times: defaultdict[str, Counter[int]] = defaultdict(Counter)
    with output.open() as lines:
        for file, address, count in executed(lines):
            times[file][address] += count
    return Counter(
        {
            file: sum(count * operations_at(file).get(address, 0) for address, count in found.items())
            for file, found in times.items()
            if Path(file).is_file()
        }
    )


def run(command: list[str], launcher: list[str], ranks: int, directory: Path) -> dict[int, Path]:
    """Run a program under callgrind, and return its output file for each rank."""
    valgrind = ["valgrind", "-q", "--tool=callgrind", "--dump-instr=yes", "--dump-line=no"]
    valgrind += ["--compress-pos=no", f"--callgrind-out-file={directory}/%p"]
    # Launchers use different variables for the rank of a process.
    record = f'echo "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" >{directory}/$$.rank; exec "$@"'
    words = [*launcher, "-n", str(ranks), "sh", "-c", record, "sh", *valgrind, *command]
    subprocess.run(words, env=MPI_ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    return {int(file.read_text()): file.with_suffix("") for file in directory.glob("*.rank")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", "--ranks", type=int, default=8)
    launcher = shlex.join([str(report_toolchain().launcher), "--oversubscribe"])
    parser.add_argument("--mpiexec", default=launcher, help="launch command")
    parser.add_argument("--object", action="append", default=[], help="the beginning of a file's name")
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        outputs = run(options.program, shlex.split(options.mpiexec), options.ranks, Path(directory))
        for rank, output in sorted(outputs.items()):
            for file, count in sorted(counted(output).items()):
                name = Path(file).name
                if count and (not options.object or name.startswith(tuple(options.object))):
                    row = {"benchmark": "flops", "rank": rank, "object": name, "flops": count}
                    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
