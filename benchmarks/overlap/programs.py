"""The measured programs: built once into the cache, set up once, then run alternately."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from common import MPI_ENVIRONMENT
from virtual import SOURCES

from haloscope import ComponentError
from haloscope.base.building import build_executable
from haloscope.base.cache import build_once, cache, fingerprint
from haloscope.base.launcher import report_toolchain
from haloscope.base.toolchain import build_environment, build_tool, compiler_identity, run_logged
from haloscope.hide import build_fem, build_overlap

HERE = Path(__file__).resolve().parent
PEERS = HERE / "peers"
HALOSCOPE = Path(sys.executable).with_name("haloscope")
FLAGS = ("-std=c++20", "-O3", "-march=native", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX")
RANKS = 2
_printed: set[str] = set()


def missing(reason: str) -> None:
    """Print each reason once."""
    if reason not in _printed:
        print(f"bench-overlap: skipped: {reason}", file=sys.stderr, flush=True)
    _printed.add(reason)


@dataclass(frozen=True)
class Case:
    """A case, as described by its program; flops and bytes are those of a rank."""

    unknowns: float
    flops: float
    bytes: float


class Program:
    """A program on two ranks, each on its own core; it sleeps except for its turns."""

    def __init__(self, executable: Path, *arguments: str) -> None:
        self._process = subprocess.Popen(
            launch(str(executable), *arguments),
            env=MPI_ENVIRONMENT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._counts: dict[str, int] = {}
        self.said: dict[str, float] = {}  # other values that the last case printed
        self.cases: dict[str, Case] = {}
        for words in iter(self._line, ["ready"]):
            if words[0] == "case":
                self.cases[words[1]] = Case(*map(float, words[2:]))

    def seconds(self, case: str, turn: float = 0.2) -> float:
        """Return the seconds of one run: the mean of a turn of about `turn` seconds."""
        if case not in self._counts:
            self._counts[case] = max(1, min(2000, int(turn / self._take(case, 1))))
        return self._take(case, self._counts[case]) / self._counts[case]

    def once(self, case: str) -> float:
        """Return the seconds of a single run."""
        return self._take(case, 1)

    def speed(self, case: str) -> float:
        """Return millions of unknowns per second and core."""
        return self.cases[case].unknowns / RANKS / self.seconds(case) / 1e6

    def __enter__(self) -> Program:  # noqa: PYI034 Python 3.10 has no Self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def _take(self, case: str, count: int) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{case} {count}\n")
        self._process.stdin.flush()
        words = self._line()
        while words[0] != "took":
            self.said[words[0]] = float(words[1])
            words = self._line()
        if (took := float(words[2])) < 0:
            raise RuntimeError(f"{self._process.args!r}: no case {case}")
        return took

    def _line(self) -> list[str]:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if words := line.split():
                return words
        raise RuntimeError(f"{self._process.args!r}: ended with status {self._process.wait()}")


def launch(*command: str) -> list[str]:
    """Return the launch on two ranks, each on its own core."""
    return [str(report_toolchain().launcher), "-n", str(RANKS), "--bind-to", "core", *command]


def aij() -> Path:
    """Build PETSc's assembled matrix."""
    made = build_fem(quiet=True)  # poisson's problems; PETSc comes with it
    return _compiled(PEERS / "petsc_aij.cpp", [*made.compile_flags, *made.link_flags], made.directory)


def ours() -> Path:
    """Build our operators."""
    made = build_fem(quiet=True)
    return _compiled(PEERS / "ours.cpp", [*made.compile_flags, *made.link_flags], made.directory)


def poisson(arguments: Sequence[str], inject: Sequence[str] = ()) -> dict[str, float]:
    """Return the values that poisson prints on two ranks, under `haloscope inject` if given its options."""
    command = launch(str(build_fem(quiet=True).poisson), *arguments)
    if inject:
        command = [str(HALOSCOPE), "inject", *inject, "--", *command]
    done = subprocess.run(command, env=MPI_ENVIRONMENT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr[-2000:]}")
    rows = [line.split() for line in done.stdout.splitlines()]
    numbers = [row for row in rows if len(row) >= 2 and _is_number(row[1])]
    return {row[0]: float(row[1]) for row in numbers}


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def roofline() -> Path:
    """Build STREAM's triad and multiply-adds."""
    return _compiled(HERE / "roofline.cpp", [])


def toy() -> Path:
    """Build the chain of cells."""
    library = build_overlap(quiet=True)
    include = HERE.parents[1] / "include"
    words = ["-O3", f"-I{include}", str(library), "-lstdc++", "-lm"]
    return _compiled(HERE / "toy.c", words, library, compiler="mpicc")


def virtual() -> Path:
    """Build one rank of the overlap library with a virtual clock."""
    root = HERE.parents[1]
    folders = [root / "include", *(root / "src" / "hide" / name for name in ("overlap", "inject")), HERE]
    return build_executable("virtual", SOURCES, folders, quiet=True)


def dealii() -> Path:
    """Build deal.II's operators, by CMake, which has deal.II's flags."""

    def build(directory: Path) -> None:
        scratch = directory / "build"
        configure = [
            build_tool("cmake"),
            "-S",
            str(PEERS),
            "-B",
            str(scratch),
            "-G",
            "Ninja",
            "-DCMAKE_BUILD_TYPE=Release",
            f"-DCMAKE_MAKE_PROGRAM={build_tool('ninja')}",
        ]
        log = cache() / "dealii-build.log"
        run_logged(configure, "building deal.II's operators", log, build_environment())
        compile_it = [build_tool("cmake"), "--build", str(scratch)]
        run_logged(compile_it, "building deal.II's operators", log, build_environment())
        (scratch / "dealii").rename(directory / "dealii")

    if not any(Path(place, "deal.II/base/config.h").is_file() for place in _includes()):
        raise ComponentError("deal.II: install it (Debian: apt-get install libdeal.ii-dev)")
    sources = [PEERS / name for name in ("dealii.cpp", "turns.hpp", "CMakeLists.txt")]
    return build_once(f"dealii-{fingerprint(sources, _processor())}", build) / "dealii"


def _includes() -> Iterable[str]:
    named = os.environ.get("DEAL_II_DIR")
    return [f"{named}/include"] if named else ["/usr/include", "/usr/local/include"]


def _processor() -> str:
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    return next((line for line in text.splitlines() if line.startswith("flags")), "")


def _compiled(source: Path, words: list[str], *depends: Path, compiler: str | None = None) -> Path:
    wrapper = report_toolchain().compiler
    if compiler is not None:
        wrapper = wrapper.with_name(compiler)
    flags = FLAGS if compiler is None else ()
    key = fingerprint(
        [source, PEERS / "turns.hpp"],
        *flags,
        *words,
        *map(str, depends),
        _processor(),
        compiler_identity(str(wrapper)),
    )
    build: Callable[[Path], None] = lambda directory: run_logged(  # noqa: E731
        [str(wrapper), *flags, str(source), *words, "-o", str(directory / source.stem)],
        f"building {source.name}",
        cache() / f"{source.stem}-build.log",
        dict(os.environ),
    )
    return build_once(f"bench-{source.stem}-{key}", build) / source.stem
