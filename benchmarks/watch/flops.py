"""Floating-point operations of each rank of a program, counted one by one.

    flops.py [-n 8] [--mpiexec mpiexec] [--object NAME]... -- PROGRAM [ARGUMENT]...

Runs the program under Valgrind's callgrind, which tells how often each instruction was executed, and looks up
by `objdump` what each is: an addition, subtraction, multiplication, division or square root is one operation
for each number in its register, a fused multiply-add two. Prints one JSON object for each rank and file of
code, such as the program or a library; with `--object` for those files alone whose names begin so. What
Valgrind does not know, such as AVX-512, must not be in the program.
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
# Scalar or packed, double or single; fused ones count twice. Of the x87 unit, what `long double` needs.
_VECTOR = re.compile(r"v?(?:h?add|addsub|h?sub|mul|div|sqrt|(f)n?m(?:add|sub)(?:132|213|231))([sp])([sd])\b")
_X87 = re.compile(r"f(?:i?add|i?sub|i?mul|i?div|sqrt)r?p?[sl]?\b")
_BYTES = {"xmm": 16, "ymm": 32, "zmm": 64}


def operations(instruction: str) -> int:
    """Return how many operations an instruction of x86-64, as `objdump` prints it, does."""
    found = _VECTOR.match(instruction)
    if found is None:
        return 1 if _X87.match(instruction) else 0
    fused, packed, kind = found[1], found[2] == "p", found[3]
    register = max(re.findall(r"%([xyz]mm)", instruction), default="xmm")
    lanes = _BYTES[register] // (8 if kind == "d" else 4) if packed else 1
    return lanes * (2 if fused else 1)


@cache
def operations_at(file: str) -> dict[int, int]:
    """Return the addresses in a file of code where something is computed, and how many operations each is."""
    said = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", "-w", file], stdout=subprocess.PIPE, check=True, text=True
    )
    lines = (line.split("\t", 1) for line in said.stdout.splitlines() if ":\t" in line)
    found = ((int(address.strip(" :"), 16), operations(text)) for address, text in lines)
    return {address: count for address, count in found if count}


def executed(lines: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    """Yield from callgrind's output files of code, an address in each, and how often that was executed."""
    names: dict[str, str] = {}
    file, is_call = "", False
    for line in lines:
        if named := _NAMED.match(line):
            called, number, name = named.groups()
            known = names.setdefault(number, name)  # said once, be it of what is called
            file = file if called else known
        elif line.startswith("calls="):
            is_call = True  # the next line is what the call cost altogether
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
    """Run a program under callgrind, and return what that wrote of each rank."""
    valgrind = ["valgrind", "-q", "--tool=callgrind", "--dump-instr=yes", "--dump-line=no"]
    valgrind += ["--compress-pos=no", f"--callgrind-out-file={directory}/%p"]
    # Which rank a process is, launchers say by different names.
    said = f'echo "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" >{directory}/$$.rank; exec "$@"'
    words = [*launcher, "-n", str(ranks), "sh", "-c", said, "sh", *valgrind, *command]
    subprocess.run(words, env=MPI_ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    return {int(file.read_text()): file.with_suffix("") for file in directory.glob("*.rank")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", "--ranks", type=int, default=8)
    launcher = shlex.join([str(report_toolchain().launcher), "--oversubscribe"])
    parser.add_argument("--mpiexec", default=launcher, help="the launcher's words")
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
