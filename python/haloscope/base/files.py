"""Files that are written whole or not at all."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from haloscope.base.errors import OutputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["copy_whole", "replace_whole", "write_whole"]

_PART = 1 << 20


def write_whole(output: Path, text: str, what: str) -> None:
    """Replace `output` when the text is whole; `what` it is, such as "page", is for errors.

    Raises `OutputError`.
    """
    _replace(output, io.BytesIO(text.encode()), what)


def copy_whole(source: Path, output: Path, what: str) -> None:
    """Replace `output` by a copy of `source`, as `write_whole` does. Raises `OutputError`."""
    with source.open("rb") as content:
        _replace(output, content, what)


def replace_whole(output: Path, source: BinaryIO, size: int, parts: Sequence[bytes], what: str) -> None:
    """Replace `output` by the next `size` bytes of `source` and all of `parts`; its permissions stay.

    Raises `OutputError`, also if `output` is not the file any more that `source` is open on.
    """
    opened = os.fstat(source.fileno())
    with _aside(output, what) as file:
        os.fchmod(file.fileno(), opened.st_mode & 0o777)
        while size:
            part = source.read(min(size, _PART))
            if not part:
                raise OutputError(f"{output}: was cut short meanwhile; take another copy")
            file.write(part)
            size -= len(part)
        file.writelines(parts)
        if not os.path.samestat(opened, output.stat()):
            raise OutputError(f"{output}: was replaced meanwhile; ask again")


def _replace(output: Path, content: BinaryIO, what: str) -> None:
    with _aside(output, what) as file:
        shutil.copyfileobj(content, file)


@contextmanager
def _aside(output: Path, what: str) -> Iterator[BinaryIO]:
    """Yield a file to write to, which becomes `output` if no exception comes."""
    if output.exists() and not output.is_file():
        raise OutputError(f"{output}: is not a file; name a file to write the {what} to")
    aside = output.with_name(f".{output.name}.{os.getpid()}.part")
    made = None
    try:
        # Made by us alone: a link that waits under this name would lead elsewhere.
        made = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        with os.fdopen(made, "wb") as file:
            yield file
        aside.replace(output)
    except FileExistsError:
        raise OutputError(f"{aside}: is in the way of {output}; remove it") from None
    except OSError as error:
        raise OutputError(f"{output}: cannot be written: {error.strerror}; name another place") from None
    finally:
        if made is not None:
            aside.unlink(missing_ok=True)
