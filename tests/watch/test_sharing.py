"""What `haloscope doctor` finds out about the memory of other processes."""

from __future__ import annotations

import os
import shutil
import sys

from support.missing import missing
from support.processes import run_program

# After the prctl only privileged processes may read this process.
CLOSED = """
import ctypes, errno
from haloscope.watch import doctor
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
for finding in doctor():
    if finding.what in ("cross-memory attach", "shared memory"):
        print(int(finding.works), finding.what, finding.detail, finding.remedy, sep="|")
"""
OPEN = CLOSED.replace("ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)", "")


def findings(program: str, *around: str) -> dict[str, tuple[bool, str, str]]:
    done = run_program([*around, sys.executable, "-c", program])
    lines = [line.split("|") for line in done.stdout.splitlines()]
    return {what: (works == "1", detail, remedy) for works, what, detail, remedy in lines}


def test_what_other_processes_may_do() -> None:
    found = findings(OPEN)
    assert found["shared memory"][:2] == (True, "memfd")
    works, detail, _ = found["cross-memory attach"]
    assert works == (detail == "works")


def test_what_is_forbidden_is_said() -> None:
    around: list[str] = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            missing("setpriv is not installed: apt-get install util-linux")
        around = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
    found = findings(CLOSED, *around)
    works, detail, remedy = found["cross-memory attach"]
    assert not works
    assert detail.startswith("forbidden")
    assert "ptrace" in remedy.lower()
    works, detail, remedy = found["shared memory"]
    assert (works, detail) == (False, "not between processes")
    assert "haloscope shm" in remedy
