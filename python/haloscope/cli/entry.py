"""The way into the command. It loads nothing itself, so Ctrl-C while modules are loaded is no traceback."""

from __future__ import annotations

import atexit
import codecs
import gc
import io
import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_PLAIN_ENCODING = "haloscope_ascii"
# Of the same width, so that tables stay straight.
_PLAIN = str.maketrans("–…×µ±", "-~xu~")


def _write_plainly(error: UnicodeError) -> tuple[str, int]:
    """Return replacements for characters that an encoding does not have."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_PLAIN)
    return text.encode("ascii", "backslashreplace").decode("ascii"), error.end


def _find_plain_codec(name: str) -> codecs.CodecInfo | None:
    """Return ASCII under a name of our own: click writes UTF-8 to streams whose encoding is called ASCII."""
    if name != _PLAIN_ENCODING:
        return None
    found = codecs.lookup("ascii")
    return codecs.CodecInfo(
        found.encode,
        found.decode,
        found.streamreader,
        found.streamwriter,
        found.incrementalencoder,
        found.incrementaldecoder,
        name=_PLAIN_ENCODING,
    )


codecs.register_error("haloscope", _write_plainly)
codecs.register(_find_plain_codec)


class _Output(io.FileIO):
    """Standard output: the first error names it, as those of files name the file, and ends the output."""

    _is_ended = False

    def write(self, data: ReadableBuffer, /) -> int:
        """Write data, or nothing after an error: Python writes what is left once more at its end."""
        try:
            return memoryview(data).nbytes if self._is_ended else super().write(data)
        except OSError as error:
            self._is_ended = True
            error.filename = "standard output"
            raise


def _prepare_streams() -> None:
    """Give streams that the caller closed (`>&-`) their numbers, so that no file of ours gets one.

    Output then fails, as for a file that can't be written; remarks are lost. Programs that we start
    inherit none of this: their streams are closed, as the caller's are.
    """
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)
    if sys.stdout is None or type(sys.stdout) is io.TextIOWrapper:  # not replaced, as tests do
        raw = io.BufferedWriter(_Output(1, "w", closefd=False))
        encoding = sys.stdout.encoding if sys.stdout else None
        sys.stdout = io.TextIOWrapper(raw, encoding, line_buffering=os.isatty(1))
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            is_plain = stream.isatty() and codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding=_PLAIN_ENCODING if is_plain else None, errors="haloscope")


def _keep_compiled_modules() -> None:
    """Keep them in the cache, if Python could not write that of this module to the installation."""
    is_asked = not sys.dont_write_bytecode and sys.pycache_prefix is None
    if is_asked and __spec__.cached and not os.path.exists(__spec__.cached):
        from haloscope.base.cache import cache

        sys.pycache_prefix = str(cache() / "python")


_ended_by: list[int] = []


def _end(number: int, _frame: object) -> None:
    """End as Ctrl-C does, so that temporary files are removed."""
    _ended_by.append(number)
    raise KeyboardInterrupt


def main() -> None:
    """Entry point of the command."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _end)
    # Modules make many objects that stay. By default, the collector looks at them every 700 objects.
    gc.set_threshold(50_000, 20, 20)
    try:
        _prepare_streams()
        _keep_compiled_modules()
        from haloscope.cli.command import _run

        status = _run(sys.argv[1:])
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
    if _ended_by and status == 128 + signal.SIGINT:
        from haloscope.base.child import leave_like

        status = leave_like(_ended_by[0])
    # All is done: Ctrl-C during the interpreter's own end would print a traceback.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    sys.exit(status)
