"""Where a run's profile goes, and finding it afterwards."""

from __future__ import annotations

import glob
import os
import re
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from haloscope._errors import OutputError

__all__ = ["DEFAULT_NAME", "Output", "expand"]

DEFAULT_NAME = "%p-%n-%d.halo"


@dataclass
class Output:
    """The pattern of the profile's path, and what stood there before the run."""

    pattern: Path
    before: dict[Path, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def prepare(cls, given: Path | None) -> Output:
        """Check, before anything is started, that the profile can be written."""
        path = (given or Path(DEFAULT_NAME)).absolute()
        if path.is_dir():
            path /= DEFAULT_NAME
        if path.exists() and not path.is_file():
            raise OutputError(f"{path}: is no regular file; name another one with -o")
        _check_writable(path.parent, path)
        output = cls(path)
        output.before = {found: _stamp(found) for found in output._matching()}
        return output

    def written(self) -> list[Path]:
        """The profiles that were written or replaced since `prepare`, oldest first."""
        new = [path for path in self._matching() if self.before.get(path) != _stamp(path)]
        return sorted(new, key=lambda path: path.stat().st_mtime_ns)

    def _matching(self) -> list[Path]:
        wild = re.sub(
            "%[npd%]", lambda m: "%" if m.group() == "%%" else "*", glob.escape(self.pattern.name)
        )
        names = glob.glob(wild, root_dir=self.pattern.parent)
        return [self.pattern.parent / name for name in names]


def expand(pattern: Path, ranks: int, program: str) -> Path:
    """The path that the recorder would have chosen."""
    date = time.strftime("%Y%m%d-%H%M%S")
    values = {"%n": str(ranks), "%p": program, "%d": date, "%%": "%"}
    return pattern.with_name(re.sub("%[npd%]", lambda m: values[m.group()], pattern.name))


def _check_writable(directory: Path, output: Path) -> None:
    """Try it: permissions alone tell neither read-only file systems nor full quotas."""
    if not directory.is_dir():
        raise OutputError(f"{directory}: no such directory for {output.name}; make it first")
    try:
        with tempfile.TemporaryFile(prefix=".haloscope-", dir=directory):
            pass
    except OSError as error:
        raise OutputError(
            f"{directory}: can't write {output.name} there ({error.strerror}); "
            "name another place with -o"
        ) from None


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return (0, 0)
    return (status.st_ino, status.st_mtime_ns)
