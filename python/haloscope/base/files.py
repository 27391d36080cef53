"""Files that are written whole or not at all."""

from __future__ import annotations

import io
import os
import shutil
from typing import TYPE_CHECKING, BinaryIO

from haloscope.base.errors import OutputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["copy_whole", "write_whole"]


def write_whole(output: Path, text: str, what: str) -> None:
    """Replace `output` when the text is whole; `what` it is, such as "page", is for errors.

    Raises `OutputError`.
    """
    _replace(output, io.BytesIO(text.encode()), what)


def copy_whole(source: Path, output: Path, what: str) -> None:
    """Replace `output` by a copy of `source`, as `write_whole` does. Raises `OutputError`."""
    with source.open("rb") as content:
        _replace(output, content, what)


def _replace(output: Path, content: BinaryIO, what: str) -> None:
    if output.exists() and not output.is_file():
        raise OutputError(f"{output}: is not a file; name a file to write the {what} to")
    aside = output.with_name(f".{output.name}.{os.getpid()}.part")
    made = None
    try:
        # Made by us alone: a link that waits under this name would lead elsewhere.
        made = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        with os.fdopen(made, "wb") as file:
            shutil.copyfileobj(content, file)
        aside.replace(output)
    except FileExistsError:
        raise OutputError(f"{aside}: is in the way of {output}; remove it") from None
    except OSError as error:
        raise OutputError(f"{output}: cannot be written: {error.strerror}; name another place") from None
    finally:
        if made is not None:
            aside.unlink(missing_ok=True)
