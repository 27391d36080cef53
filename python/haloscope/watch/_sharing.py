"""What processes of this node can do with each other's memory: tried out, with a second process."""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

__all__ = ["Sharing", "examine_sharing", "reason_against_attach"]

_TEXT = b"halohalo"
# A child may be read by its parent where ranks may not read each other: so it reads its parent.
_READER = """
import ctypes, os, sys
class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
process, address, descriptor = map(int, sys.argv[1:])
found = ctypes.create_string_buffer(8)
here, there = Part(ctypes.addressof(found), 8), Part(address, 8)
libc = ctypes.CDLL(None, use_errno=True)
read = libc.process_vm_readv(process, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
error = 0 if read == 8 and found.raw == b"halohalo" else ctypes.get_errno() or 5
try:
    with open(f"/proc/{process}/fd/{descriptor}", "rb") as file:
        mapped = file.read(8) == b"halohalo"
except OSError:
    mapped = False
print(error, int(mapped))
"""


@dataclass(frozen=True)
class Sharing:
    """The error of cross-memory attach, 0 if it works; what memory others can map, if any."""

    attach_error: int
    memory: str | None


def examine_sharing() -> Sharing:
    """Lets another process try to get at memory of this one, in both ways."""
    text = ctypes.create_string_buffer(_TEXT)
    kind, file = _file()
    with file:
        file.write(_TEXT)
        words = (os.getpid(), ctypes.addressof(text), file.fileno())
        command = [sys.executable, "-c", _READER, *map(str, words)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=60, check=True)
            error, mapped = map(int, done.stdout.split())
        except (OSError, subprocess.SubprocessError, ValueError):
            error, mapped = errno.EIO, 0
    return Sharing(error, kind if mapped else None)


def reason_against_attach(error: int) -> tuple[str, str]:
    """Why the kernel forbids cross-memory attach, and what to do about it."""
    scope = "0"
    with suppress(OSError):
        scope = Path("/proc/sys/kernel/yama/ptrace_scope").read_text(encoding="ascii").strip()
    if error == errno.ENOSYS:
        return "not in this kernel, or shut off in this container", "let it call process_vm_readv"
    if error == errno.EPERM and scope != "0":
        return f"forbidden (ptrace scope {scope})", "sysctl kernel.yama.ptrace_scope=0"
    if error == errno.EPERM:
        return "forbidden (by this container?)", "start it with --cap-add=SYS_PTRACE"
    return f"fails ({os.strerror(error)})", "large messages within a node are copied twice"


def _file() -> tuple[str | None, BinaryIO]:
    """Memory with a descriptor, as the protocol layer makes it."""
    with suppress(OSError):
        descriptor = os.memfd_create("haloscope-doctor", os.MFD_CLOEXEC)
        return "memfd", os.fdopen(descriptor, "wb", buffering=0)
    with suppress(OSError):
        return "files in /dev/shm", tempfile.TemporaryFile(dir="/dev/shm", buffering=0)
    return None, tempfile.TemporaryFile(buffering=0)
