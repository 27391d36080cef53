"""Builds that were found before, by the state of all files that decide which build fits.

The search for a build reads all sources, compares checksums, and asks the compiler for its version. If no
file has changed since, it has the same result.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from haloscope.base.cache import cache

# Nanoseconds for which no file may have changed: file systems do not distinguish times that are closer.
_SETTLED = 2_000_000_000


class KnownBuild:
    """The build of one kind for one MPI, in a file of the cache."""

    def __init__(self, kind: str, deciding: Sequence[Path], *texts: str) -> None:
        """Take the files and directories that decide which build fits, and all else that does, as texts."""
        # Each installation of Haloscope and each MPI has its own file.
        about = "\0".join([*texts, *map(str, deciding)]).encode("utf-8", "surrogateescape")
        self._file = cache() / f".known-{kind}-{zlib.crc32(about):08x}"
        self._deciding = _States(deciding)
        self._question = "\0".join([*texts, self._deciding.text])

    def find(self) -> Path | None:
        """Return the directory of the build; None if it is not known, or if a file has changed."""
        try:
            question, name, answer = self._file.read_text("utf-8", "surrogateescape").split("\n")
        except (OSError, ValueError):
            return None
        directory = self._file.with_name(name)
        return directory if (question, answer) == (self._question, _States([directory]).text) else None

    def keep(self, directory: Path) -> None:
        """Remember the directory of the build, which is in the cache."""
        made = _States([directory])
        text = f"{self._question}\n{directory.name}\n{made.text}"
        is_settled = max(made.newest, self._deciding.newest) <= time.time_ns() - _SETTLED
        if not is_settled or text.count("\n") > 2 or directory.parent != self._file.parent:
            return
        scratch = self._file.with_name(f"{self._file.name}.{os.getpid()}")
        with suppress(OSError):  # a cache that cannot be written
            scratch.write_text(text, "utf-8", "surrogateescape")
            scratch.replace(self._file)


class _States:
    """The state of files, as text, and the time of the last change (ns)."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.newest = 0
        self.text = "\0".join([f"{path}\0{self._read(path)}" for path in _list_files(paths)])

    def _read(self, path: str) -> str:
        try:
            found = os.stat(path)
        except OSError:
            return ""
        self.newest = max(self.newest, found.st_mtime_ns, found.st_ctime_ns)
        return f"{found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"


def _list_files(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        if not os.path.isdir(path):
            yield str(path)
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            yield from [os.path.join(folder, name) for name in sorted(names)]
