"""What can't be done is answered in one line that names the thing; nothing is lost or started."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from haloscope.cli import haloscope as front
from support.mpi import Mpi
from support.processes import run_program
from support.programs import Compiler

PROGRAM = """
#include <mpi.h>
int main(int argc, char **argv) { MPI_Init(&argc, &argv); return MPI_Finalize(); }
"""
VERBS = front.list_commands(click.Context(front))
Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def profile(
    any_mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    path = tmp_path_factory.mktemp("profile") / "whole.halo"
    program = compiler.text(any_mpi, "program.c", PROGRAM)
    subprocess.run(
        [haloscope, "run", "--quiet", "-o", path, "--", *any_mpi.launch(2), program],
        env=any_mpi.environment(),
        check=True,
    )
    return path


def assert_one_line(done: subprocess.CompletedProcess[str], status: int, *words: str) -> None:
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("haloscope: ")
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ("run", "show", "--help")),
        (("frobnicate",), ("frobnicate", "--help")),
        (("--frobnicate",), ("--frobnicate",)),
        (("run",), ("command to profile", "--help")),
        (("run", "--quiet"), ("command to profile",)),
        (("run", "--"), ("command to profile",)),
        (("run", "--frobnicate", "--", "true"), ("--frobnicate",)),
        (("run", "--slice", "much", "--", "true"), ("much",)),
        (("run", "--slice", "-1", "--", "true"), ("--slice -1",)),
        (("run", "--mpi", "lam", "--", "true"), ("lam", "openmpi")),
        (("run", "--series", "", "--", "true"), ("--series",)),
        (("show",), ("FILE", "--help")),
        (("show", "x.halo", "--table", "frobs"), ("frobs", "regions")),
        (("show", "x.halo", "--format", "xml"), ("xml", "json")),
        (("report", "-o", "x.html"), ("FILE",)),
        (("where",), ("WHAT",)),
        (("where", "frobs"), ("frobs", "cg")),
        (("doctor", "who"), ("who",)),
    ],
)
def test_wrong_usage(command: Command, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    assert_one_line(command(*arguments, status=None), 2, *words)


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ("run -n 4 ./app", "run -- mpiexec -n 4 ./app"),
        ("run -np 4 ./app -v", "run -- mpiexec -np 4 ./app -v"),
        ("run --trace -o a.halo -n 4 -- ./app", "run --trace -o a.halo -- mpiexec -n 4 ./app"),
        ("env -n 4 ./app", "env -- mpiexec -n 4 ./app"),
    ],
)
def test_a_launcher_that_was_forgotten(command: Command, arguments: str, meant: str) -> None:
    assert_one_line(command(*arguments.split(), status=None), 2, f"did you mean: haloscope {meant} (see")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "--", "nothere", "x"), ("nothere", "nothing was started")),
        (("run", "-o", "no/dir/a.halo", "--", "touch", "started"), ("no/dir", "a.halo")),
        (("run", "-o", "/proc/a.halo", "--", "touch", "started"), ("/proc", "a.halo", "-o")),
        (("recover", "no dir"), ("no dir",)),
        (("show", "no file.halo"), ("no file.halo",)),
        (("report", "no file.halo", "-o", "x.html"), ("no file.halo",)),
    ],
)
def test_what_is_not_there(
    command: Command, tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    assert_one_line(command(*arguments, status=None), 1, *words)
    assert list((tmp_path / "my work").iterdir()) == []


def test_directories_without_headers(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALOSCOPE_MPI_INCLUDE", "/")
    assert_one_line(command("run", "--mpi", "mpich", "--", "sh", "-c", "", status=None), 1, "mpi.h", "/")


def newer(data: bytes) -> bytes:
    """The same profile, claiming to be of version 99, with a matching checksum."""
    head = data[:8] + struct.pack("<I", 99) + data[12:16]
    tail = data[-32:-12]
    return head + data[16:-12] + struct.pack("<I", zlib.crc32(head + tail)) + data[-8:]


DAMAGE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda _: b"", ""),
    "text": (lambda _: b"not a profile\n" * 100, "not a"),
    "cut": (lambda data: data[:-1], ""),
    "half": (lambda data: data[: len(data) // 2], ""),
    "flipped": (lambda data: data[:40] + bytes([data[40] ^ 4]) + data[41:], ""),
    "flipped directory": (lambda data: data[:-60] + bytes([data[-60] ^ 1]) + data[-59:], ""),
    "newer": (newer, "newer"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_profiles(command: Command, profile: Path, tmp_path: Path, kind: str) -> None:
    damage, word = DAMAGE[kind]
    damaged = tmp_path / f"{kind} one.halo"
    damaged.write_bytes(damage(profile.read_bytes()))
    assert_one_line(command("report", damaged, "-o", "page.html", status=None), 1, damaged.name, word)
    assert not (tmp_path / "my work" / "page.html").exists()
    assert_one_line(command("show", damaged, status=None), 1, damaged.name, word)
    assert_one_line(command("regimes", damaged, status=None), 1, damaged.name)
    # Before it needs SimGrid.
    assert_one_line(command("simulate", "--platform", "torus", damaged, status=None), 1, damaged.name)


def test_directories_are_no_profiles(command: Command, tmp_path: Path) -> None:
    assert_one_line(command("show", tmp_path, status=None), 1, tmp_path.name)


def test_unknown_region(command: Command, profile: Path) -> None:
    done = command("show", profile, "--region", "no\x1b[31mwhere", status=None)
    assert done.returncode in (1, 2)
    assert done.stderr.count("\n") == 1
    assert "\x1b" not in done.stderr


def test_page_that_cannot_be_written(command: Command, profile: Path) -> None:
    assert_one_line(command("report", profile, "-o", "no/where.html", status=None), 1, "no/where.html")


def test_reader_that_leaves_early(haloscope: Path, profile: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    words: list[str | Path] = [haloscope, "show", profile, "--format", "json"]
    done = subprocess.run(words, stdout=write, stderr=subprocess.PIPE, check=False, text=True)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("arguments", ["show", "show --json", "show --table calls", "findings"])
@pytest.mark.parametrize(
    ("streams", "words"),
    [
        (">&-", "Bad file descriptor"),
        (">/dev/full", "No space left on device"),
        (">&- 2>&- <&-", ""),
        ("2>&- <&-", ""),
        ("2>/dev/full", ""),
    ],
)
def test_streams_that_are_closed_or_full(
    haloscope: Path, profile: Path, arguments: str, streams: str, words: str
) -> None:
    verb, *options = arguments.split()
    script = f'exec "$@" {streams}'
    done = run_program(
        ["sh", "-c", script, "sh", *map(str, (haloscope, verb, profile, *options))], status=None
    )
    assert done.returncode == (1 if streams.startswith(">") else 0)
    assert done.stderr == (f"haloscope: standard output: {words}\n" if words else "")
    assert bool(done.stdout) != streams.startswith(">")


def test_ctrl_c_at_the_very_end_is_ignored() -> None:
    """While the interpreter ends, when all is done."""
    script = (
        "import atexit, os, signal\n"
        "from haloscope.cli import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
        "main()\n"
    )
    words = [sys.executable, "-c", script, "where", "include"]
    assert run_program(words).stderr == ""


@pytest.mark.parametrize("status", [0, 3, 200])
def test_program_without_mpi_keeps_its_status(command: Command, status: int) -> None:
    command("run", "--", "true", status=None)  # the first one of all builds the recorder, and says so
    done = command("run", "--", "sh", "-c", f"echo out; exit {status}", status=status)
    assert done.stdout == "out\n"
    # Where no MPI is installed, the launch command is all that there is to look at.
    assert done.stderr.startswith(("haloscope: no profile: sh ", "haloscope: sh links no MPI: "))
    assert done.stderr.count("\n") == 1


def test_quiet_says_nothing(haloscope: Path, tmp_path: Path) -> None:
    words: list[str | Path] = [
        haloscope,
        "run",
        "--quiet",
        "--",
        "sh",
        "-c",
        "echo out; echo err >&2; exit 3",
    ]
    done = run_program(words, cwd=tmp_path, status=3)
    assert (done.stdout, done.stderr) == ("out\n", "err\n")


def test_closed_streams_are_closed_for_the_program(haloscope: Path, tmp_path: Path) -> None:
    """And none of our files has their numbers."""
    script = f'{haloscope} run --quiet -- sh -c "ls /proc/self/fd >open" <&- >&- 2>&-'
    run_program(["sh", "-c", script], cwd=tmp_path)
    bare = "ls /proc/self/fd >bare <&- 2>&-"
    run_program(["sh", "-c", bare], cwd=tmp_path)
    assert (tmp_path / "open").read_text() == (tmp_path / "bare").read_text()


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_examples(command: Command, verb: str) -> None:
    done = command(verb, *(["p2p"] if verb == "bench" else []), "--help")
    assert f"haloscope {verb}" in done.stdout.partition("Example")[2]


def test_a_shell_completes_verbs_and_options(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def completed(words: str) -> list[str]:
        monkeypatch.setenv("_HALOSCOPE_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
        return [line.partition(",")[2] for line in command().stdout.splitlines()]

    assert set(completed("haloscope re")) == {"recover", "report", "regimes"}
    assert "--callsites" in completed("haloscope run --")


@pytest.mark.parametrize("arguments", [("env",), ("run", "--", "true")], ids=lambda words: words[0])
def test_a_directory_that_was_removed_is_named(
    haloscope: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    removed = tmp_path / "removed"
    removed.mkdir()
    script = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    done = run_program(["sh", "-c", script, "sh", str(removed), str(haloscope), *arguments], status=1)
    assert_one_line(done, 1, "current directory", "change to a different one")


def test_a_cache_that_cannot_be_looked_at(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of a user with the home of another user; here its name is too long."""
    monkeypatch.setenv("HALOSCOPE_CACHE", str(tmp_path / ("x" * 300)))
    monkeypatch.setenv("HALOSCOPE_LIVE", str(tmp_path))
    for verb in ("top", "hang"):
        assert_one_line(command(verb, status=None), 1, "no program of yours")
    assert " cache " in command("doctor").stdout
    done = command("run", "--quiet", "--mpi", "openmpi", "--", "mpiexec", "-n", "1", "true", status=None)
    assert_one_line(done, 1, "set HALOSCOPE_CACHE to a directory that can be written")
