"""A record that several ranks write: a file with a header, and parts beside it by rank."""

from __future__ import annotations

from glob import escape
from pathlib import Path

from haloscope.base.errors import LaunchError

__all__ = ["put_together", "writable"]


def writable(record: Path) -> Path:
    """An absolute path that holds nothing; raises before anything is started."""
    path = record.absolute()
    try:
        for part in _parts(path):
            part.unlink()
        path.unlink(missing_ok=True)
        path.touch()
        path.unlink()
    except OSError as error:
        raise LaunchError(f"{path}: can't be written ({error.strerror}); name another with -o") from None
    return path


def put_together(record: Path, header: str) -> None:
    """Adds the parts that ranks have left beside the record to it."""
    parts = _parts(record)
    if parts and not record.exists():
        record.write_text(f"{header}\n", encoding="utf-8")
    for part in parts:
        with record.open("ab") as file:
            file.write(part.read_bytes())
        part.unlink()


def _parts(record: Path) -> list[Path]:
    """The parts of a record, in the order of ranks."""
    beside = record.parent.glob(f"{escape(record.name)}.*")
    numbered = [path for path in beside if path.suffix[1:].isdigit()]
    return sorted(numbered, key=lambda path: int(path.suffix[1:]))
