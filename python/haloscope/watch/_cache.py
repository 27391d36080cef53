"""The cache of things built once: recorders and bundled applications."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from haloscope._errors import RecorderError

__all__ = ["build_once", "cache", "compiler_identity", "fingerprint", "progress", "run_logged"]

_LOG_LINES = 400


def cache() -> Path:
    """`$HALOSCOPE_CACHE`, else `haloscope` in the user's cache directory."""
    own = os.environ.get("HALOSCOPE_CACHE")
    if own:
        return Path(own).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (
        Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    ) / "haloscope"


def fingerprint(files: Iterable[Path], *texts: str) -> str:
    """A name for what is built from these files and circumstances."""
    digest = hashlib.sha256()
    # By name and content: one directory may have two paths.
    for name, content in sorted((file.name, file.read_bytes()) for file in files):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    for text in texts:
        digest.update(f"{text}\0".encode())
    return digest.hexdigest()[:20]


def compiler_identity(compiler: str) -> str:
    """What a compiler says about itself; another version builds anew."""
    try:
        answer = subprocess.run(
            [compiler, "--version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return compiler
    return f"{compiler} {answer.stdout.partition(chr(10))[0]}"


def build_once(name: str, build: Callable[[Path], None]) -> Path:
    """The directory `name` of the cache, made by `build` in a temporary one and then renamed.

    Two processes that build the same at once do no harm: the second one's result is dropped.
    """
    target = cache() / name
    if target.is_dir():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise RecorderError(
            f"{cache()}: can't build there ({error.strerror}); set HALOSCOPE_CACHE to a "
            "directory that can be written"
        ) from None
    try:
        scratch.chmod(0o755)
        build(scratch)
        try:
            scratch.rename(target)
        except OSError:
            if not target.is_dir():
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target


def run_logged(command: list[str], what: str, log: Path, environment: dict[str, str]) -> None:
    """Run a build command; if it fails, keep the end of its output in `log` and say so."""
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    except OSError as error:
        raise RecorderError(f"{what}: {command[0]}: {error.strerror}") from None
    if done.returncode:
        lines = done.stdout.decode("utf-8", "replace").splitlines()
        log.write_text("\n".join([" ".join(command), *lines[-_LOG_LINES:], ""]), encoding="utf-8")
        reason = next((line.strip() for line in lines if "error" in line.lower()), "")
        raise RecorderError(f"{what} failed; the compiler's words are in {log}: {reason[:200]}")


@contextmanager
def progress(text: str, quiet: bool = False) -> Iterator[None]:
    """A spinner on standard error while something takes longer than a moment."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield
