"""Runs clang-tidy, but not again on what was clean: `tidy.py [-p BUILD] FILE... [-- FLAG...]`.

What a file includes, its flags, the checks and the checker decide what is said of it. They are its
key, under which is kept only that it was clean; whatever is found is found anew each time.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
TIDY = Path(sys.executable).with_name("clang-tidy")


def kept() -> Path:
    """The directory with a file for each key that was clean."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "haloscope-lint"


@cache
def commands(build: str) -> dict[str, list[str]]:
    """Compiler and flags of each file of a CMake build."""
    found = {}
    for entry in json.loads((Path(build) / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        end = words.index("-o")  # what follows are names: -o OBJECT -c SOURCE
        found[str(Path(entry["file"]).resolve())] = words[:end]
    return found


@cache
def circumstances(command: tuple[str, ...]) -> str:
    """What is the same for all files: the checks, the checker and what the compiler predefines."""
    predefined = output([*command, "-dM", "-E", "-x", "c++", os.devnull])
    return (CHECKOUT / ".clang-tidy").read_text() + output([str(TIDY), "--version"]) + predefined


def key(file: str, command: Sequence[str]) -> str:
    """A digest of all that clang-tidy looks at."""
    rule = output([*command, "-M", file]).replace("\\\n", " ")
    digest = hashlib.sha256(circumstances(tuple(command)).encode())
    digest.update(shlex.join([file, *command]).replace(str(CHECKOUT), "").encode())
    for name in rule.partition(":")[2].split():
        digest.update(hashlib.sha256(Path(name).read_bytes()).digest())
    return digest.hexdigest()


def output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def is_clean(file: str, build: str | None, flags: list[str]) -> bool:
    """Check one file, and print what is found."""
    command = commands(build).get(str(Path(file).resolve())) if build else ["c++", *flags]
    try:
        # A machine of CI is new: nothing is kept there, and nothing will be.
        mark = kept() / key(file, command) if command and os.environ.get("CI") != "true" else None
    except (OSError, subprocess.CalledProcessError):
        mark = None  # the checker will say what is wrong
    if mark and mark.exists():
        mark.touch()
        return True
    what = ["-p", build, file] if build else [file, "--", *flags]
    words = [str(TIDY), "--quiet", *what]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    print(done.stdout, end="", flush=True)
    if mark and done.returncode == 0:
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    return done.returncode == 0


def main(arguments: list[str]) -> int:
    end = arguments.index("--") if "--" in arguments else len(arguments)
    files, flags = arguments[:end], arguments[end + 1 :]
    build = files[1] if files[0] == "-p" else None
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        clean = pool.map(lambda file: is_clean(file, build, flags), files[2 if build else 0 :])
        return 0 if all(list(clean)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
