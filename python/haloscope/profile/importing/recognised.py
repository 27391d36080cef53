"""Recognises the tool of a file by its content."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from haloscope.base.errors import ProfileError

if TYPE_CHECKING:
    from haloscope.profile.importing.foreign_tables import Foreign

ForeignKind = Literal["otf2", "cali", "mpip"]
_HEAD = 4096
# An archive's anchor file: the size of a block, a mark, and these letters.
_ANCHOR, _ANCHOR_AT = b"OTF2", 2
_NODE = b"__rec="
_REPORT = b"@ mpiP"


def kind_of_foreign(path: str | os.PathLike[str]) -> ForeignKind | None:
    """Return the tool of the file at `path`, None if it may be the recorder's, or cannot be read.

    An OTF2 archive may be named by its anchor file or by the directory that has it.
    """
    file = Path(path)
    try:
        if file.is_dir():
            return "otf2" if anchors(file) else None
        if not file.is_file():  # opening a pipe would wait
            return None
        with file.open("rb") as stream:
            head = stream.read(_HEAD)
    except (OSError, ValueError):
        return None
    if head[_ANCHOR_AT:].startswith(_ANCHOR):
        return "otf2"
    lines = [line.strip() for line in head.splitlines()]
    if any(line.startswith(_NODE) for line in lines[:20]):
        return "cali"
    return "mpip" if any(line.startswith(_REPORT) for line in lines[:20]) else None


def anchors(directory: Path) -> list[Path]:
    """Return the anchor files of OTF2 archives in a directory, sorted."""
    return sorted(path for path in directory.glob("*.otf2") if path.is_file())


def open_foreign(path: str | os.PathLike[str], kind: ForeignKind) -> Foreign:
    """Return the file of a tool at `path`. Raises `ProfileError` if it cannot be read."""
    file = Path(path)
    if kind == "otf2":
        from haloscope.profile.importing.otf2_tables import read_otf2

        return read_otf2(file, _find_anchor(file) if file.is_dir() else file)
    try:
        # Names of other programs may have any encoding: bytes that are not UTF-8 stay visible.
        text = file.read_text("utf-8", "backslashreplace")
    except OSError as error:
        raise ProfileError(f"{file}: cannot be read: {error.strerror}") from None
    if kind == "cali":
        from haloscope.profile.importing.cali_tables import read_cali

        return read_cali(file, text)
    from haloscope.profile.importing.mpip_tables import read_mpip

    return read_mpip(file, text)


def _find_anchor(directory: Path) -> Path:
    found = anchors(directory)
    if len(found) > 1:
        names = ", ".join(path.name for path in found[:3])
        raise ProfileError(f"{directory}: has several OTF2 archives: {names}; name one of these files")
    return found[0]
