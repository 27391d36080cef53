"""The cache of things built once: recorders and bundled applications."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from haloscope.base.errors import RecorderError

__all__ = ["build_once", "cache", "fingerprint", "is_whole", "tell"]

_SUMS = "SHA256SUMS"
_SCRATCH = ".building-"


def cache() -> Path:
    """Return `$HALOSCOPE_CACHE`, else `haloscope` in the user's cache directory."""
    own = os.environ.get("HALOSCOPE_CACHE")
    if own:
        return Path(own).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache") / "haloscope"


def fingerprint(files: Iterable[Path], *texts: str) -> str:
    """Return a name for what is built from these files and circumstances."""
    digest = hashlib.sha256()
    # By name and content: one directory may have two paths.
    for name, content in sorted((file.name, file.read_bytes()) for file in files):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    for text in texts:
        digest.update(f"{text}\0".encode())
    return digest.hexdigest()[:20]


def build_once(name: str, build: Callable[[Path], None], what: str = "", quiet: bool = True) -> Path:
    """Return the directory `name` of the cache; `build` fills a temporary one, which is renamed.

    Of one kind (the first word of the name) only one process builds at a time; one that had to wait takes
    what the other has built. What is in the cache is used only if it is byte for byte what was built: a
    library that was cut short would crash the program.
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
        damaged = f"{target} is damaged: remove it, or " if target.exists() else ""
        raise RecorderError(
            f"{cache()}: can't build there ({error.strerror}); {damaged}set HALOSCOPE_CACHE to a "
            "directory that can be written"
        ) from None
    return target


def is_whole(directory: Path) -> bool:
    """Return whether a directory of the cache holds what was built into it, byte for byte."""
    try:
        sums = (directory / _SUMS).read_text(encoding="utf-8").splitlines()[1:]
        return bool(sums) and sums == _sums(directory)
    except (OSError, UnicodeDecodeError):
        return False


def _sums(directory: Path) -> list[str]:
    """Return the lines that sha256sum prints for the files of a directory."""
    files = [path for path in sorted(directory.rglob("*")) if path.is_file() and path.name != _SUMS]
    return [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(directory)}" for path in files
    ]


@contextmanager
def _lock_building(kind: str, say: Callable[[str], None]) -> Iterator[None]:
    """Keep other processes from building something of this kind in this cache meanwhile."""
    with (cache() / f".{kind}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"building waits: another process builds in {cache()}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:  # a file system without locks: two that build do no harm, but cost time
            yield
            return
        # Nobody builds one now: what is there was left by builds that were killed.
        for leftover in cache().glob(f"{_SCRATCH}{kind}-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        yield


def _build_aside(target: Path, kind: str, build: Callable[[Path], None]) -> None:
    scratch = Path(tempfile.mkdtemp(prefix=f"{_SCRATCH}{kind}-", dir=target.parent))
    made = scratch / "made"
    try:
        made.mkdir(mode=0o755)
        begin = time.monotonic()
        with _left_by_signal():
            build(made)
        took = f"# built in {time.monotonic() - begin:.0f} s"
        (made / _SUMS).write_text("\n".join([took, *_sums(made), ""]), encoding="utf-8")
        if target.exists():
            target.rename(scratch / "damaged")
        made.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def _left_by_signal() -> Iterator[None]:
    """Let what would end this process end the build as Ctrl-C does: nothing of it is left then."""
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
    """Return how long a build takes, judged by the last one of this kind."""
    times = []
    for sums in cache().glob(f"{kind}-*/{_SUMS}"):
        first = sums.read_text(encoding="utf-8", errors="replace").partition("\n")[0]
        times.append((sums.stat().st_mtime, first.removeprefix("# built in ")))
    return f"the last one took {max(times)[1]}" if times else "it can take a minute or two"


def _mute(text: str) -> None:
    """Say nothing."""


def tell(text: str) -> None:
    """Say something on standard error, if it is there."""
    with contextlib.suppress(OSError):
        print(f"haloscope: {text}", file=sys.stderr, flush=True)
