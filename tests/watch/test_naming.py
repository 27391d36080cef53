"""What the recorder calls its profile and its program, without a recorder around it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from haloscope.base.launch import name_of, parse
from support.generated import write_headers
from support.mpi import CHECKOUT
from support.processes import run_program

MAGIC = b"\x89HALO\r\n\x1a"
CHANGED = 1_700_000_000_000_000_007  # ns: the last change of a file
Write = Callable[..., subprocess.Popen[str]]


@pytest.fixture(scope="session")
def names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("names") / "names"
    watch = CHECKOUT / "src" / "watch"
    sources = [Path(__file__).parent / "naming" / "names.cpp", watch / "collecting" / "naming.cpp"]
    sources.append(watch / "collecting" / "program.cpp")
    path = [f"-I{watch.parent}", f"-I{write_headers(made.parent)}"]
    subprocess.run(["c++", "-std=c++20", "-O1", *path, *sources, "-o", made], check=True)
    return made


@pytest.fixture
def write(names: Path, tmp_path: Path) -> Write:
    """`write(TEXT, since)` writes a profile to run.halo as a rank 0 does."""

    def start(text: str, since: int) -> subprocess.Popen[str]:
        words = [str(names), "names", str(tmp_path / "run.halo"), str(since), text]
        return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)

    return start


def end(process: subprocess.Popen[str]) -> Path:
    output, _ = process.communicate()
    assert process.returncode == 0, output
    return Path(output.strip())


def last_moment(directory: Path) -> int:
    """The time of a file, by the coarse clock of its file system, when that has just gone on."""
    file = directory / "touched"
    file.touch()
    moment = file.stat().st_mtime_ns
    while file.stat().st_mtime_ns == moment:
        file.touch()
    file.unlink()
    return moment


@pytest.mark.parametrize("before", [None, MAGIC + b"old"])
def test_programs_that_end_at_once_all_keep_theirs(
    write: Write, tmp_path: Path, before: bytes | None
) -> None:
    """Also if all of them may replace the existing file."""
    if before is not None:
        (tmp_path / "run.halo").write_bytes(before)
    since = last_moment(tmp_path)
    running = [write(f"text {number}", since) for number in range(12)]
    for process in running:
        end(process)
    texts = sorted(path.read_bytes() for path in tmp_path.iterdir())
    assert texts == sorted(MAGIC + f"text {number}".encode() for number in range(12))
    numbered = {f"run-{number}.halo" for number in range(2, 13)}
    assert {path.name for path in tmp_path.iterdir()} == {"run.halo", *numbered}


@pytest.mark.parametrize(
    ("content", "since", "name"),
    [
        (MAGIC + b"of an earlier run", CHANGED + 1, "run.halo"),
        (MAGIC + b"nobody knows", 0, "run.halo"),
        (MAGIC + b"of this run", CHANGED - 1, "run-2.halo"),
        (b"my thesis", 1 << 62, "run-2.halo"),
        (b"", 1, "run.halo"),
    ],
)
def test_only_old_profiles_are_replaced(
    write: Write, tmp_path: Path, content: bytes, since: int, name: str
) -> None:
    (tmp_path / "run.halo").write_bytes(content)
    os.utime(tmp_path / "run.halo", ns=(CHANGED, CHANGED))
    assert end(write("new", since)) == tmp_path / name
    assert (tmp_path / name).read_bytes() == MAGIC + b"new"
    if name != "run.halo":
        assert (tmp_path / "run.halo").read_bytes() == content


def test_links_are_not_followed(names: Path, tmp_path: Path) -> None:
    """Whoever guesses the name of the file that is written, or makes it the profile's name."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    # A shell replaces itself by the program: the number of the process is known before.
    script = f'ln -s {victim} run.halo.part-$$; ln -s {victim} run.halo; exec "$@"'
    words = ["sh", "-c", script, "sh", str(names), "names", "run.halo", str(1 << 62), "new"]
    assert run_program(words, cwd=tmp_path).stdout == "run-2.halo\n"
    assert victim.read_text() == "precious"
    assert (tmp_path / "run-2.halo").read_bytes() == MAGIC + b"new"


def test_a_long_name_keeps_its_profile(names: Path, tmp_path: Path) -> None:
    """Placeholders can make a name longer than the 255 bytes that file systems allow."""
    for name, expected in (("x" * 255, "x" * 255), ("x" * 250 + ".halo", "x" * 250 + ".halo")):
        for got in (expected, expected[:248] + "-2.halo" if name.endswith("o") else "x" * 253 + "-2"):
            done = run_program([names, "names", name, str(CHANGED), "new"], cwd=tmp_path)
            assert done.stdout == f"{got}\n"
            assert (tmp_path / got).read_bytes() == MAGIC + b"new"
    done = run_program([names, "names", "y" * 300 + ".halo", str(CHANGED), "new"], cwd=tmp_path)
    assert done.stdout == "y" * 250 + ".halo\n"


def test_pages_do_not_follow_links_either(tmp_path: Path) -> None:
    from haloscope import OutputError
    from haloscope.base.files import write_whole

    victim = tmp_path / "victim"
    victim.write_text("precious")
    aside = tmp_path / f".page.html.{os.getpid()}.part"
    aside.symlink_to(victim)
    with pytest.raises(OutputError, match="in the way"):
        write_whole(tmp_path / "page.html", "text", "page")
    assert victim.read_text() == "precious"
    aside.unlink()
    write_whole(tmp_path / "page.html", "text", "page")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "victim"]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/bin/app x.py", "app"),
        ("python3.11 solver.py -m x", "solver.py"),
        ("python3 -u -W ignore -X dev dir/solver.py", "solver.py"),
        ("python3.13t -Wignore -- solver.py", "solver.py"),
        ("python -m mpi4py.bench helloworld", "mpi4py.bench"),
        ("python -um mypackage.solver a.py", "mypackage.solver"),
        ("python -mmypackage", "mypackage"),
        ("python -m mpi4py solver.py --n 3", "solver.py"),
        ("python -m mpi4py -rc threads=0 -m mypackage", "mypackage"),
        ("pypy3 --check-hash-based-pycs default solver.py", "solver.py"),
        ("python3 -c pass solver.py", "python3"),
        ("python3 - solver.py", "python3"),
        ("python3", "python3"),
        ("python3-config x", "python3-config"),
    ],
)
def test_what_a_program_is_called(names: Path, command: str, name: str) -> None:
    """Of a Python program, its script."""
    assert run_program([names, "program", *f"/usr/bin/{command}".split()]).stdout == f"{name}\n"


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("mpiexec -n 2 python3 -u solver.py", "solver.py"),
        ("python3 -m mypackage", "mypackage"),
        ("python3 -c pass", "python3"),
        ("mpiexec -n 2 app", "app"),
    ],
)
def test_what_remarks_call_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, name: str
) -> None:
    for executable in ("mpiexec", "python3", "app"):
        (tmp_path / executable).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert name_of(parse(command.split())) == name
