"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from haloscope._errors import OutputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["write_whole"]


def write_whole(output: Path, text: str, what: str) -> None:
    """Replace `output` when the text is whole; `what` it is, such as "page", is for errors.

    Raises `OutputError`.
    """
    if output.exists() and not output.is_file():
        raise OutputError(f"{output}: is not a file; name a file to write the {what} to")
    aside = output.with_name(f".{output.name}.{os.getpid()}.part")
    try:
        aside.write_text(text, "utf-8")
        aside.replace(output)
    except OSError as error:
        raise OutputError(
            f"{output}: cannot be written: {error.strerror}; name another place with -o"
        ) from None
    finally:
        aside.unlink(missing_ok=True)
