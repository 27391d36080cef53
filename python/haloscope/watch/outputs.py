"""The path of a run's profile, and the profiles after the run."""

from __future__ import annotations

import glob
import json
import os
import re
import struct
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from haloscope.base.errors import OutputError
from haloscope.base.files import fit_name, follow_link
from haloscope.base.schema import MAGIC, TRAILER
from haloscope.watch.recorder_settings import DEFAULT_NAME, JOB_VARIABLES, MOMENTS, PLACEHOLDERS

_PLACEHOLDER = re.compile(f"%([{''.join(PLACEHOLDERS)}])")
_LONG_AGO = 1  # 0 is no limit
_INFO = '{"info":'  # the begin of a directory


@dataclass
class Output:
    """The pattern of the profile's path, and the files that matched it before the run.

    A profile that has changed after `since` (nanoseconds on the clock of the files) is not replaced.
    That is the begin of the run if the user chose the name; if not, nothing is replaced.
    """

    pattern: Path
    since: int = 0
    before: dict[Path, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def prepare(cls, given: Path | None, over_others: bool = False) -> Output:
        """Check, before anything is started, that the profile can be written.

        A file that is not a profile is refused, unless `over_others`.
        """
        path = (given or Path(DEFAULT_NAME)).absolute()
        is_chosen = given is not None and not path.is_dir()
        if path.is_dir():
            path /= DEFAULT_NAME
        if path.exists() and not path.is_file():
            raise OutputError(f"{path}: is not a regular file; name a different one with -o")
        if path.is_symlink():
            path = follow_link(path)
            path = path.with_name(path.name.replace("%", "%%"))
        if not over_others and is_other(path):
            raise OutputError(
                f"{path}: is not a profile and would be replaced; remove it, or name a different file with -o"
            )
        moment = _check_writable(path.parent, path)
        output = cls(path, moment if is_chosen else _LONG_AGO)
        output.before = {found: _stamp(found) for found in output._matching()}
        return output

    def find_written(self, run: str) -> list[Path]:
        """Return the profiles of the run with this identity, and of runs inside it, oldest first.

        Other profiles may have appeared since `prepare`, such as copies that the program made.
        """
        new = [path for path in self._matching() if self.before.get(path) != _stamp(path)]
        own = [path for path in new if f"{read_identity(path)}-".startswith(f"{run}-")]
        return sorted(own, key=lambda path: path.stat().st_mtime_ns)

    def replaceable(self, path: Path) -> bool:
        """Return whether a file is empty or a profile of an earlier run."""
        return not is_other(path) and path.stat().st_mtime_ns <= self.since

    def _matching(self) -> list[Path]:
        wild = _PLACEHOLDER.sub(lambda m: "%" if m[1] == "%" else "*", glob.escape(self.pattern.name))
        suffix = ".halo" * wild.endswith(".halo")
        numbered = f"{wild.removesuffix('.halo')}-[0-9]*{suffix}"
        names = [name for form in (wild, numbered) for name in self.pattern.parent.glob(form)]
        return list(dict.fromkeys(names))


def expand(pattern: Path, ranks: int, program: str) -> Path:
    """Return the path that the recorder would choose."""
    job = next((os.environ[name] for name in JOB_VARIABLES if os.environ.get(name)), "0")
    values = {"n": str(ranks), "p": program, "j": re.sub("[^0-9A-Za-z.]", "_", job), "%": "%"}
    values |= {letter: time.strftime(form) for letter, form in MOMENTS.items()}
    return pattern.with_name(_PLACEHOLDER.sub(lambda m: values[m[1]], pattern.name))


def is_other(path: Path) -> bool:
    """Return whether a file exists that is not a profile; an empty file, as from mktemp, does not count."""
    try:
        with path.open("rb") as file:
            begin = file.read(len(MAGIC))
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return begin not in (MAGIC, b"")


def read_identity(path: Path) -> str:
    """Return the identity of the run that wrote a profile; '' if it is unknown."""
    try:
        with path.open("rb") as file:
            file.seek(-TRAILER.size, os.SEEK_END)
            begin, length, *_ = TRAILER.unpack(file.read(TRAILER.size))
            file.seek(begin)
            text = file.read(length).decode()
        info, _ = json.JSONDecoder().raw_decode(text, len(_INFO))
        return str(info.get("run", "")) if text.startswith(_INFO) else ""
    except (OSError, ValueError, AttributeError, RecursionError, struct.error):
        return ""


def name_profile(whole: Path, wanted: Path, replaceable: Callable[[Path], bool]) -> Path:
    """Rename a complete profile to `wanted`, else to the first free name NAME-2.halo, NAME-3.halo, ….

    Two processes that do this at the same time get different names.
    """
    name = wanted.name.removesuffix(".halo")
    for number in count(1):
        path = wanted.with_name(fit_name(name, f"-{number}.halo")) if number > 1 else wanted
        try:
            os.link(whole, path)
        except OSError:  # the name is taken, or this file system has no links
            if os.path.lexists(path) and not replaceable(path):
                continue
            whole.replace(path)
        return path
    raise AssertionError


def _check_writable(directory: Path, output: Path) -> int:
    """Create a file: permissions alone do not show read-only file systems and full quotas.

    Returns:
        The time of the file system, in nanoseconds, which may differ from this machine's.
    """
    if not directory.is_dir():
        raise OutputError(f"{directory}: no such directory for {output.name}; make it first")
    try:
        with tempfile.TemporaryFile(prefix=".haloscope-", dir=directory) as file:
            return os.fstat(file.fileno()).st_mtime_ns
    except OSError as error:
        raise OutputError(
            f"{directory}: can't write {output.name} there ({error.strerror}); name a different path with -o"
        ) from None


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return (0, 0)
    return (status.st_ino, status.st_mtime_ns)
