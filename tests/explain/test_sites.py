"""Call sites: the program's frame of a stack, sums that add up, symbols stored in a profile."""

from __future__ import annotations

import math
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from haloscope import OutputError, explain
from haloscope.explain import Profile
from haloscope.explain.reporting import make_flame_boxes
from support.missing import missing
from support.processes import run_program
from support.profiles import Draft, columns_of, draft, path_rows, process_rows

SOURCE = Path(__file__).with_name("programs") / "nested.cpp"
PROGRAM, MPI, PETSC, OTHER, BINDING = "00000001", "00000002", "00000003", "00000004", "00000005"
PATHS = {
    PROGRAM: "/home/ada/bin/solver",
    MPI: "/opt/mpi/lib/libmpi.so.40.30.4",
    PETSC: "/usr/lib/libpetsc_real.so.3.18",
    OTHER: "/home/ada/lib/libsteps.so",
    BINDING: "/opt/python/mpi4py/MPI.cpython-311-x86_64-linux-gnu.so",
}
MODULES = [
    {"module": key, "file": path, "build": "", "is_program": int(key == PROGRAM)}
    for key, path in PATHS.items()
]
SYMBOLS = [
    {
        "module": PROGRAM,
        "offset": 0x10,
        "depth": 0,
        "function": "give(int)",
        "file": "/src/halo.cpp",
        "line": 41,
    },
    {"module": PROGRAM, "offset": 0x10, "depth": 1, "function": "step()", "file": "/src/step.cpp", "line": 7},
    {"module": PROGRAM, "offset": 0x20, "depth": 0, "function": "main", "file": "/src/main.cpp", "line": 12},
    {"module": PETSC, "offset": 0x30, "depth": 0, "function": "VecNorm", "file": "", "line": 0},
    # A symbol of each module prevents reading its file.
    *({"module": key, "offset": 0xFFFF, "function": "f"} for key in PATHS),
]


def site(stack: str, path: int = 0, call: str = "MPI_Send", **more: Any) -> dict[str, Any]:
    """A row of one rank: by default one call of 100 bytes and one second."""
    row = {"path": path, "stack": stack, "call": call, "ranks": 1, "calls": 1, "bytes": 100}
    return row | {"time_total": 1.0, "time_squares": 1.0, "time_max": 1.0} | more


def written(*rows: dict[str, Any], symbols: list[dict[str, Any]] | None = SYMBOLS) -> Draft:
    tree = path_rows("solve", "solve/halo", "halo")
    made = draft(paths=tree, processes=process_rows("a", "b"), modules=MODULES, sites=rows)
    if symbols is not None:
        made.tables |= {"symbols": columns_of("symbols", symbols)}
    made.version = (1, 2)
    return made


def test_a_site_has_its_line_and_its_stack(read: Callable[[Draft], Profile]) -> None:
    stack = f"{PROGRAM}+10\n{PROGRAM}+20"
    (row,) = read(written(site(stack))).table("sites", exclusive=True).to_dicts()
    assert row == {
        "region": "<program>",
        "site": "halo.cpp:41",
        "file": "/src/halo.cpp",
        "line": 41,
        "function": "give(int)",
        "stack": "main (main.cpp:12);step() (step.cpp:7);give(int) (halo.cpp:41)",
        "call": "MPI_Send",
        "calls": 1,
        "bytes": 100,
        "time_total": 1.0,
        "share": 1.0,
        "time_cv": 0.0,
    }


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        (f"{PROGRAM}+10\n{PROGRAM}+20", "halo.cpp:41"),
        (f"{MPI}+1\n{PROGRAM}+20", "main.cpp:12"),
        (f"{MPI}+1\n{PETSC}+30\n{PETSC}+31\n{PROGRAM}+20", "main.cpp:12"),
        (f"{OTHER}+ab\n{PROGRAM}+20", "libsteps.so+0xab"),
        (f"{PROGRAM}+77", "solver+0x77"),
        (f"{PETSC}+30", f"VecNorm ({Path(PATHS[PETSC]).name}+0x30)"),
        (f"{MPI}+1", "libmpi.so.40.30.4+0x1"),
        (
            f"{BINDING}+1\npython\t/home/ada/run.py\t17\tsolve\npython\t/home/ada/run.py\t40\t<module>",
            "run.py:17",
        ),
        ("python\t/x/site-packages/mpi4py/util/pool.py\t9\tmap\npython\trun.py\t3\tf", "run.py:3"),
        ("python\t/x/dist-packages/h5py-3.egg/h5py/a.py\t9\tmap\npython\trun.py\t3\tf", "run.py:3"),
        ("python\t/home/ada/mpi4py/run.py\t5\tf\npython\tmain.py\t3\tg", "run.py:5"),
        ("python\t/x/site-packages/model/h5py/out.py\t5\tf\npython\tmain.py\t3\tg", "out.py:5"),
        ("deadbeef+10", "?+10"),
        (f"{PROGRAM}+ten", f"{PROGRAM}+ten"),
        ("python\tno line", "no line:0"),
        ("", ""),
    ],
)
def test_the_site_is_the_first_place_outside_the_libraries(
    read: Callable[[Draft], Profile], stack: str, expected: str
) -> None:
    profile = read(written(site(stack)))
    assert profile.table("sites")["site"].to_list() == [expected]
    assert profile.table("sites")["calls"].to_list() == [1]


LIBRARIES = (
    "libmpi.so.12 libmpi_mpifh.so.40 libmpich.so.12 libpetsc.so.3 libHYPRE.so libp4est-2.3.so "
    "libfftw3_mpi.so.3 libhdf5_openmpi.so libc.so.6"
).split()
NO_LIBRARIES = (
    "liblammps.so.0 libgromacs_mpi.so.7 solver libmine.so libscience.so libcg.so libmodel.so libmultigrid.so "
    "mpirun-tests python3_solver pythonic"
).split()
INTERPRETERS = "python3 python3.11 python pypy3".split()


def sites_by_file(read: Callable[[Draft], Profile], names: list[str], is_program: bool) -> dict[str, str]:
    """Return the sites of calls from each file, called by the program's main function or by a script."""
    modules = [
        {"module": f"{number + 16:08x}", "file": f"/lib/{name}", "build": "", "is_program": int(is_program)}
        for number, name in enumerate(names)
    ]
    outer = "python\trun.py\t3\tf" if is_program else f"{PROGRAM}+20"
    rows = [site(f"{module['module']}+1\n{outer}", bytes=number) for number, module in enumerate(modules)]
    # A symbol of each file prevents reading it.
    known = [{"module": module["module"], "offset": 0xFFFF, "function": "f"} for module in modules]
    made = written(*rows, symbols=[*SYMBOLS, *known])
    made.tables |= {"modules": columns_of("modules", [*MODULES, *modules])}
    table = read(made).table("sites", exclusive=True)
    return {names[number]: site for number, site in table.select("bytes", "site").iter_rows()}


def test_libraries_are_no_sites(read: Callable[[Draft], Profile]) -> None:
    found = sites_by_file(read, LIBRARIES, is_program=False)
    assert found == dict.fromkeys(LIBRARIES, "main.cpp:12")


def test_other_files_are_sites(read: Callable[[Draft], Profile]) -> None:
    found = sites_by_file(read, NO_LIBRARIES, is_program=False)
    assert found == {name: f"{name}+0x1" for name in NO_LIBRARIES}


def test_a_program_is_a_site_whatever_its_name(read: Callable[[Draft], Profile]) -> None:
    names = [*LIBRARIES, *NO_LIBRARIES]
    assert sites_by_file(read, names, is_program=True) == {name: f"{name}+0x1" for name in names}


def test_python_is_no_program(read: Callable[[Draft], Profile]) -> None:
    found = sites_by_file(read, INTERPRETERS, is_program=True)
    assert found == dict.fromkeys(INTERPRETERS, "run.py:3")


TIMES = st.floats(0, 1e5, allow_subnormal=False)
ROWS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from([f"{PROGRAM}+10", f"{PROGRAM}+20", f"{MPI}+1\n{PROGRAM}+20", "python\tx.py\t1\tf"]),
        st.sampled_from(["MPI_Send", "MPI_Recv"]),
        st.lists(TIMES, min_size=1, max_size=4),
    ),
    max_size=12,
    unique_by=lambda row: row[:3],
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(ROWS)
def test_sites_add_up_to_calls(tmp_path: Path, rows: list[tuple[int, str, str, list[float]]]) -> None:
    """Sites add up per region and function, inclusive and exclusive; so do shares and flame graphs."""
    made = written(
        *(
            site(
                stack,
                path,
                call,
                ranks=len(times),
                calls=len(times),
                bytes=10 * len(times),
                time_total=math.fsum(times),
                time_squares=math.fsum(t * t for t in times),
            )
            for path, stack, call, times in rows
        )
    )
    calls = [
        {"path": path, "call": call, "calls": len(t), "bytes": 10 * len(t), "time_total": math.fsum(t)}
        for path, _, call, t in rows
    ]
    made.tables |= {"calls": draft(calls=calls).tables["calls"]}
    profile = explain.open(made.write(tmp_path / "run.halo"))
    for exclusive in (True, False):
        told = profile.table("calls", exclusive=exclusive).drop("time_max", "memory").sort("region", "call")
        keys, sums = ["region", "call"], ["calls", "bytes", "time_total"]
        sites = profile.table("sites", exclusive=exclusive)
        added = sites.group_by(keys).agg(pl.col(sums).sum()).sort(keys)
        assert added.drop("time_total").equals(told.drop("time_total"))
        assert added["time_total"].to_list() == pytest.approx(told["time_total"].to_list())
    whole = profile.table("sites", exclusive=True)
    if whole["time_total"].sum() > 0:
        assert whole["share"].sum() == pytest.approx(1)
    boxes = make_flame_boxes(profile)
    roots = [time for time, parent in zip(boxes["time"], boxes["parent"], strict=True) if parent < 0]
    assert sum(roots) == pytest.approx(1e9 * float(whole["time_total"].sum()), rel=1e-6, abs=12)
    for number, time in enumerate(boxes["time"]):
        above = [t for t, p in zip(boxes["time"], boxes["parent"], strict=True) if p == number]
        assert sum(above) <= time
        assert boxes["parent"][number] < number


@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_variation_over_ranks(tmp_path: Path, times: list[float]) -> None:
    made = written(
        site(
            f"{PROGRAM}+10",
            ranks=len(times),
            calls=len(times),
            time_total=math.fsum(times),
            time_squares=math.fsum(t * t for t in times),
        )
    )
    (told,) = explain.open(made.write(tmp_path / "run.halo")).table("sites", exclusive=True)["time_cv"]
    assert told == pytest.approx(float(np.std(times) / np.mean(times)), rel=1e-5, abs=1e-6)


def test_merged_rows_have_no_variation(read: Callable[[Draft], Profile]) -> None:
    """Inclusive regions, and two addresses on one line, have no variation; all other rows have."""
    same = {
        "module": PROGRAM,
        "offset": 0x18,
        "depth": 0,
        "function": "main",
        "file": "/src/main.cpp",
        "line": 12,
    }
    rows = [site(f"{PROGRAM}+20", path) for path in (1, 2)] + [
        site(f"{PROGRAM}+{at}", 3) for at in ("18", "20")
    ]
    profile = read(written(*rows, symbols=[*SYMBOLS, same]))
    table = profile.table("sites")
    told = {row["region"]: (row["calls"], row["time_cv"]) for row in table.to_dicts()}
    assert told == {"<program>": (4, None), "solve": (2, None), "solve/halo": (1, 0.0), "halo": (2, None)}


def compiled(folder: Path) -> Path:
    """A program with debug information."""
    program = folder / "program"
    subprocess.run(["g++", "-g", "-O1", str(SOURCE), "-o", str(program)], check=True)
    return program


def main_of(program: Path) -> int:
    if shutil.which("nm") is None:
        missing("no nm: apt-get install binutils")
    listed = run_program(["nm", program]).stdout
    return next(int(line.split()[0], 16) for line in listed.splitlines() if line.endswith(" T main"))


def calling_from(program: Path) -> Draft:
    """A profile with a call from the program's main function, without symbols."""
    modules = [{"module": PROGRAM, "file": str(program), "build": "", "is_program": 1}]
    start = {"start": 4e9}  # later than the program was changed
    made = draft(
        start, paths=path_rows(), modules=modules, sites=[site(f"{PROGRAM}+{main_of(program) + 5:x}")]
    )
    made.tables |= {"symbols": columns_of("symbols", [])}
    return made


@pytest.mark.slow
def test_symbols_stay_in_the_profile(tmp_path: Path) -> None:
    program = compiled(tmp_path)
    path = calling_from(program).write(tmp_path / "run.halo")
    path.chmod(0o640)
    (tmp_path / "link.halo").symlink_to(path)
    with explain.open(path) as before:
        tables = {name: before.table(name) for name in explain.TABLES}
    assert tables["sites"]["file"].to_list() == [str(SOURCE)]
    assert explain.keep_symbols(tmp_path / "link.halo") == []
    assert (tmp_path / "link.halo").is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    program.unlink()
    with explain.open(path) as after:
        after.verify()
        assert all(after.table(name).equals(frame) for name, frame in tables.items())
        assert not after.frame("symbols").is_empty()
    content = path.read_bytes()
    assert explain.keep_symbols(path) == []
    assert path.read_bytes() == content
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link.halo", "run.halo"]


def test_a_program_that_is_gone_is_named(tmp_path: Path) -> None:
    path = written(site(f"{PROGRAM}+10"), site(f"{PETSC}+30"), symbols=None).write(tmp_path / "run.halo")
    with explain.open(path) as profile:
        assert profile.table("sites")["site"].to_list() == ["libpetsc_real.so.3.18+0x30", "solver+0x10"]
    content = path.read_bytes()
    # Only the program's file is named, as lines of libraries are not needed.
    assert explain.keep_symbols(path) == [f"{PATHS[PROGRAM]}: does not exist any more"]
    assert path.read_bytes() == content


@pytest.mark.slow
def test_a_profile_that_was_replaced_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = calling_from(compiled(tmp_path)).write(tmp_path / "run.halo")
    run = subprocess.run

    def replace_first(*words: Any, **options: Any) -> Any:
        """Replace the profile while a process reads the debug information."""
        (tmp_path / "new").write_bytes(b"another one")
        (tmp_path / "new").replace(path)
        return run(*words, **options)

    monkeypatch.setattr(subprocess, "run", replace_first)
    with pytest.raises(OutputError, match="was replaced while it was read"):
        explain.keep_symbols(path)
    assert path.read_bytes() == b"another one"


def test_the_summary_names_the_costliest(read: Callable[[Draft], Profile]) -> None:
    rows = [
        site(f"{PROGRAM}+10", call="MPI_Waitall", time_total=5.0),
        site(f"{PROGRAM}+10", 2, call="MPI_Waitall", time_total=1.0),
        site(f"{PROGRAM}+20", call="MPI_Send", time_total=3.0),
        site(f"{OTHER}+1", call="MPI_Recv", time_total=0.9),
        site(f"{OTHER}+2", call="MPI_Recv", time_total=0.1),
    ]
    lines = explain.summary(read(written(*rows)))
    assert (
        "  by source line: halo.cpp:41 give (MPI_Waitall) 60.0 %, main.cpp:12 main (MPI_Send) 30.0 %,"
        " libsteps.so+0x1 (MPI_Recv) 9.0 %"
    ) in lines
    assert not [line for line in explain.summary(read(written())) if "by source line" in line]
