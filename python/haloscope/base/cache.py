"""The cache of things built once: recorders and bundled applications."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from haloscope.base.errors import RecorderError

_SUMS = "SHA256SUMS"
_SCRATCH = ".building-"
_NO_HOME = Path("/proc/self/home")  # nothing can be made there, not even by root


def cache() -> Path:
    """Return `$HALOSCOPE_CACHE`, else `haloscope` in the user's cache directory."""
    own = os.environ.get("HALOSCOPE_CACHE")
    return Path(own).absolute() if own else user_cache() / "haloscope"


def user_cache() -> Path:
    """Return the user's cache directory; one that does not exist for a user without a home."""
    base = os.environ.get("XDG_CACHE_HOME")
    if base and Path(base).is_absolute():
        return Path(base)
    try:
        return Path.home() / ".cache"
    except RuntimeError:  # neither HOME nor an entry of the user
        return _NO_HOME


def fingerprint(files: Iterable[Path], *texts: str) -> str:
    """Return a name for a build from these files, with these texts, such as flags and versions."""
    import hashlib

    digest = hashlib.sha256()
    # By name and content: one directory may have two paths.
    for name, content in sorted((file.name, file.read_bytes()) for file in files):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    for text in texts:
        digest.update(f"{text}\0".encode())
    return digest.hexdigest()[:20]


def build_once(name: str, build: Callable[[Path], None], what: str = "", quiet: bool = True) -> Path:
    """Return the directory `name` of the cache, built now if it is missing or damaged.

    Only one process builds at a time per kind (the first word of `name`); a second one waits and uses that
    build. Checksums are compared on each use: a truncated library would crash the program.

    Args:
        name: Directory in the cache.
        build: Fills a temporary directory, which is renamed to `name`.
        what: The product, for the line on standard error.
        quiet: Print no line.

    Raises:
        RecorderError: If the cache cannot be written.
    """
    target, kind = cache() / name, name.partition("-")[0]
    if is_whole(target):
        return target
    say = _mute if quiet else tell
    try:
        cache().mkdir(parents=True, exist_ok=True)
        with _lock_building(kind, say):
            if not is_whole(target):
                say(f"{what}, once: {_how_long(kind)}")
                _build_aside(target, kind, build)
    except OSError as error:
        damaged = f"{target} is damaged: remove it, or " if os.path.exists(target) else ""
        where = f"{cache()}: can't build there ({error.strerror})"
        if cache().parent == _NO_HOME:
            where = "this user has no home directory for builds"
        raise RecorderError(
            f"{where}; {damaged}set HALOSCOPE_CACHE to a directory that can be written"
        ) from None
    return target


def is_whole(directory: Path) -> bool:
    """Return whether a directory of the cache has exactly the files and bytes that were built."""
    try:
        sums = (directory / _SUMS).read_text(encoding="utf-8").splitlines()[1:]
        return bool(sums) and sums == _sums(directory)
    except (OSError, UnicodeDecodeError):
        return False


def _sums(directory: Path) -> list[str]:
    """Return the lines that sha256sum prints for the files of a directory."""
    import hashlib

    files = [path for path in sorted(directory.rglob("*")) if path.is_file() and path.name != _SUMS]
    return [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(directory)}" for path in files
    ]


@contextmanager
def _lock_building(kind: str, say: Callable[[str], None]) -> Iterator[None]:
    """Keep other processes from building this kind in this cache."""
    with (cache() / f".{kind}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"building waits: another process builds in {cache()}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:  # a file system without locks: two builds at once only cost time
            yield
            return
        import shutil

        # No other process builds this kind now: these directories are from builds that were killed.
        for leftover in cache().glob(f"{_SCRATCH}{kind}-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        yield


def _build_aside(target: Path, kind: str, build: Callable[[Path], None]) -> None:
    import shutil
    import tempfile

    scratch = Path(tempfile.mkdtemp(prefix=f"{_SCRATCH}{kind}-", dir=target.parent))
    made = scratch / "made"
    try:
        made.mkdir(mode=0o755)
        begin = time.monotonic()
        with _end_on_signal():
            build(made)
        took = f"# built in {time.monotonic() - begin:.0f} s"
        (made / _SUMS).write_text("\n".join([took, *_sums(made), ""]), encoding="utf-8")
        if target.exists():
            target.rename(scratch / "damaged")
        made.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def _end_on_signal() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the build as Ctrl-C does, so that its files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    ending = [
        number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) == signal.SIG_DFL
    ]
    for number in ending:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in ending:
            signal.signal(number, signal.SIG_DFL)


def _how_long(kind: str) -> str:
    """Return how long a build takes, by the last one of this kind."""
    times = []
    for sums in cache().glob(f"{kind}-*/{_SUMS}"):
        first = sums.read_text(encoding="utf-8", errors="replace").partition("\n")[0]
        times.append((sums.stat().st_mtime, first.removeprefix("# built in ")))
    return f"the last one took {max(times)[1]}" if times else "it can take a minute or two"


def _mute(text: str) -> None:
    """Print nothing."""


def tell(text: str) -> None:
    """Print a line on standard error, if that is open."""
    with contextlib.suppress(OSError):
        print(f"haloscope: {text}", file=sys.stderr, flush=True)
