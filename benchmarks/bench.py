"""List and run all benchmarks.

    bench.py                     prints the list
    bench.py all                 runs all
    bench.py watch watch/hangs   runs these: `watch` is benchmarks/watch/run.py

`make bench-watch` runs `watch`, `make bench` all of the list. If a program that a benchmark needs is missing,
it is skipped with a line that names the program.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Requirements in addition to an MPI: `root`, or programs on PATH. Benchmarks skip parts that need more.
NEEDS: dict[str, tuple[str, ...]] = {
    "explain": (),
    "explain/alarms": (),
    "explain/alike": (),
    "explain/ensembles": (),
    "explain/export": (),
    "explain/findings": (),
    "explain/history": (),
    "explain/imports": ("otf2-config",),
    "explain/latency": (),
    "explain/pages": (),
    "explain/repeats": ("root", "unshare"),
    "explain/tolerance": (),
    "finalize": (),
    "hide": (),
    "hydro": (),
    "improve": (),
    "overlap": (),
    "predict": (),
    "predict/launches": (),
    "programs": ("mpiexec.openmpi",),
    "regimes": (),
    "reproduce": (),
    "halo": (),
    "watch": (),
    "watch/annotations": (),
    "watch/hangs": (),
    "watch/phases": (),
    "watch/starts": (),
    "watch/survival": (),
    "watch/trace_structure": (),
    "watch/traces": (),
}


def main(names: list[str]) -> int:
    """Run benchmarks, one after the other. Return 1 if one failed or has no such name."""
    if not names:
        print(*(f"{name:24}{' '.join(needs)}".rstrip() for name, needs in NEEDS.items()), sep="\n")
    failed = 0
    for name in names:
        if name not in NEEDS:
            print(f"{name}: no such benchmark; there is {', '.join(NEEDS)}", file=sys.stderr)
            failed = 1
        elif lacking := [need for need in NEEDS[name] if not _is_here(need)]:
            print(f"{name}: needs {', '.join(lacking)}", file=sys.stderr)
        else:
            file = HERE / name / "run.py" if (HERE / name).is_dir() else HERE / f"{name}.py"
            failed |= subprocess.run([sys.executable, file], check=False).returncode != 0
    return int(failed)


def _is_here(need: str) -> bool:
    return os.geteuid() == 0 if need == "root" else shutil.which(need) is not None


if __name__ == "__main__":
    sys.exit(main(list(NEEDS) if sys.argv[1:] == ["all"] else sys.argv[1:]))
