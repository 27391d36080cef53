"""The way into the command. It loads nothing itself, so Ctrl-C while modules are loaded is no traceback."""

from __future__ import annotations

import atexit
import codecs
import gc
import io
import os
import signal
import sys

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


def _keep_compiled_modules() -> None:
    """Keep them in the cache, if Python could not write that of this module to the installation."""
    is_asked = not sys.dont_write_bytecode and sys.pycache_prefix is None
    if is_asked and __spec__.cached and not os.path.exists(__spec__.cached):
        from haloscope.base.cache import cache

        sys.pycache_prefix = str(cache() / "python")


def main() -> None:
    """Entry point of the command."""
    # Modules make many objects that stay. By default, the collector looks at them every 700 objects.
    gc.set_threshold(50_000, 20, 20)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not closed, nor replaced
            is_plain = stream.isatty() and codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding=_PLAIN_ENCODING if is_plain else None, errors="haloscope")
    try:
        _keep_compiled_modules()
        from haloscope.cli.command import _run

        status = _run(sys.argv[1:])
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
    # All is done: Ctrl-C during the interpreter's own end would print a traceback.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    sys.exit(status)
