"""Writes files and directories whole or not at all, and reads the last lines of logs."""

from __future__ import annotations

import io
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from haloscope.base.errors import OutputError

_PART = 1 << 20
_HEAD = 4096  # bytes of a file that show its kind
_LONGEST_NAME = 255  # bytes
_BINARY = re.compile(rb"[\0-\x08\x0e-\x1f]")
_PREAMBLE = re.compile(rb"^(\s*#\s.*\n?|\s*<\?xml.*\?>)", re.MULTILINE)
_COLUMNS = re.compile(rb"\w+(,\w+)+$", re.MULTILINE)
_FIRST_WORD = re.compile(rb"\s*([^\s\w]?)[^\w]*(\d|[\w.-]*)")


def read_end(file: Path, most: int) -> str:
    """Return the last `most` bytes of a file as text; an empty text if it cannot be read."""
    try:
        with file.open("rb") as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - most))
            return stream.read(most).decode("utf-8", "replace")
    except OSError:
        return ""


def read_last_line(log: Path) -> str:
    """Return the last line of a log with a letter or digit, at most 300 characters, or an empty text."""
    lines = [line for line in read_end(log, 4096).splitlines() if any(map(str.isalnum, line))]
    return lines[-1].strip()[:300] if lines else ""


def unused_path(path: Path) -> Path:
    """Return this path, or `NAME-2`, `NAME-3` and so on with its suffix: the first that nothing has.

    It is for names that the user did not choose: these never replace a file.
    """
    found, number = path, 1
    while os.path.lexists(found):
        number += 1
        found = path.with_name(fit_name(path.stem, f"-{number}{path.suffix}"))
    return found


def fit_name(begin: str, ending: str) -> str:
    """Return a file's name of two parts; of a long begin, only what fits into the 255 bytes of names."""
    return os.fsdecode(os.fsencode(begin)[: _LONGEST_NAME - len(os.fsencode(ending))]) + ending


def follow_link(output: Path) -> Path:
    """Return the path that a link of this user or of root leads to, or the path itself: a link is kept.

    Raises:
        OutputError: If it is a link of another user, who could make us write anything anywhere.
    """
    if not output.is_symlink():
        return output
    if output.lstat().st_uid not in (0, os.geteuid()):
        raise OutputError(f"{output}: is a link of another user; name another file")
    return Path(os.path.realpath(output))


def shorten_paths(paths: Iterable[str]) -> list[str]:
    """Return paths without the directory that all of them share, for pages that are sent to others."""
    whole = [os.path.abspath(path) for path in paths]
    folder = os.path.commonpath([os.path.dirname(path) for path in whole]) if whole else ""
    return [os.path.relpath(path, folder) for path in whole]


def write_whole(output: Path, text: str, what: str) -> None:
    """Replace `output` by `text` in one step.

    Args:
        output: File to write.
        text: Its whole content.
        what: The kind of file for errors, such as "page".

    Raises:
        OutputError: If it cannot be written.
    """
    _replace(output, io.BytesIO(text.encode()), what)


def copy_whole(source: Path, output: Path, what: str) -> None:
    """Replace `output` by a copy of `source`, as `write_whole` does. Raises `OutputError`."""
    with source.open("rb") as content:
        _replace(output, content, what)


def replace_whole(output: Path, source: BinaryIO, size: int, parts: Sequence[bytes], what: str) -> None:
    """Replace `output` by the next `size` bytes of `source` and all of `parts`; its permissions stay.

    Raises `OutputError`, also if `output` is no longer the file that `source` was opened on.
    """
    opened = os.fstat(source.fileno())
    with write_file(output, what) as file:
        os.fchmod(file.fileno(), opened.st_mode & 0o777)
        while size:
            part = source.read(min(size, _PART))
            if not part:
                raise OutputError(f"{output}: became shorter while it was read; copy it and try again")
            file.write(part)
            size -= len(part)
        file.writelines(parts)
        if not os.path.samestat(opened, output.stat()):
            raise OutputError(f"{output}: was replaced while it was read; run the command again")


def _replace(output: Path, content: BinaryIO, what: str) -> None:
    with write_file(output, what) as file:
        shutil.copyfileobj(content, file)


@contextmanager
def write_file(output: Path, what: str) -> Iterator[BinaryIO]:
    """Yield a file that becomes `output` if the block raises nothing.

    Raises:
        OutputError: If it cannot be written, or `output` is a file of another kind.
    """
    _refuse_special(output, what)
    output = follow_link(output)
    aside = _aside(output, "part")
    made = None
    try:
        # O_EXCL and O_NOFOLLOW: a link that somebody else put here would lead elsewhere.
        made = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        with os.fdopen(made, "w+b") as file:
            yield file
            file.seek(0)
            refuse_other_kind(output, file.read(_HEAD), what)
        aside.replace(output)
    except FileExistsError:
        raise OutputError(f"{aside}: is in the way of {output}; remove it") from None
    except OSError as error:
        raise OutputError(f"{output}: cannot be written: {error.strerror}; name another place") from None
    finally:
        if made is not None:
            aside.unlink(missing_ok=True)


def refuse_other_kind(output: Path, begin: bytes, what: str) -> None:
    """Raise `OutputError` if a file exists that is of another kind than one with this begin: a mistyped name.

    An empty file, as from mktemp, is of any kind.
    """
    _refuse_special(output, what)  # to open a FIFO is to wait for its writer
    try:
        with output.open("rb") as file:
            head = file.read(_HEAD)
    except FileNotFoundError:
        return
    except OSError as error:
        raise OutputError(f"{output}: cannot be read: {error.strerror}; name another file") from None
    if head and _kind(head) != _kind(begin):
        raise OutputError(f"{output}: exists, and is no {what}; remove it, or name another file")


def _refuse_special(output: Path, what: str) -> None:
    try:
        if output.exists() and not output.is_file():
            raise OutputError(f"{output}: is not a file; name a file to write the {what} to")
    except OSError as error:
        raise OutputError(f"{output}: cannot be written: {error.strerror}; name another place") from None


def _kind(head: bytes) -> bytes:
    """Return what files of one kind begin with: a magic, the columns of a table, or the first word."""
    if _BINARY.search(head):
        return head[:3]
    text = _PREAMBLE.sub(b"", head)
    columns = _COLUMNS.match(text)
    if columns:
        return columns[0]
    first = _FIRST_WORD.match(text)
    return first[1] + (b"0" if first[2].isdigit() else first[2].lower()) if first else b""


def scratch_file(output: Path) -> BinaryIO:
    """Return a file without a name, in the directory of `output`, for data that is too large for memory."""
    return tempfile.TemporaryFile(dir=output.parent)


@contextmanager
def write_directory(output: Path, sign: str, what: str) -> Iterator[Path]:
    """Yield an empty directory that becomes `output` if the block raises nothing.

    An existing directory is replaced only if it is empty or has an entry `sign`, which shows that it is of
    the same kind: a mistyped name must not destroy another directory. Raises `OutputError`.
    """
    _refuse_others(output, sign, what)
    output = follow_link(output)
    aside, old = _aside(output, "part"), _aside(output, "old")
    is_ours = False
    try:
        aside.mkdir()
        is_ours = True
        yield aside
        if output.exists():
            output.rename(old)
        try:
            aside.rename(output)
        except OSError:  # something has just got the name
            if old.exists():
                old.rename(unused_path(output))
            raise
    except FileExistsError:
        raise OutputError(f"{aside}: is in the way of {output}; remove it") from None
    except OSError as error:
        raise OutputError(f"{output}: cannot be written: {error.strerror}; name another place") from None
    finally:
        for leftover in (aside, old) if is_ours else ():
            shutil.rmtree(leftover, ignore_errors=True)


def _aside(output: Path, ending: str) -> Path:
    """Return a hidden name next to an output."""
    return output.with_name(fit_name(f".{output.name}", f".{os.getpid()}.{ending}"))


def _refuse_others(output: Path, sign: str, what: str) -> None:
    try:
        if not output.name:
            raise OutputError(f"{output}: has no name of its own; name a directory to write the {what} to")
        if not output.exists():
            return
        if not output.is_dir() or not ((output / sign).exists() or next(output.iterdir(), None) is None):
            raise OutputError(f"{output}: exists, and is no {what}; name another directory")
    except OSError as error:
        raise OutputError(f"{output}: cannot be written: {error.strerror}; name another place") from None
