"""Bad settings and environments: the program continues, and one line reports the loss."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from support.missing import missing
from support.mounting import Mount
from support.mpi import Mpi
from support.processes import run_program
from support.programs import Compiler
from support.recorder import join, library
from support.watched import Traffic, Watched, program, watch

RING = Traffic(20, 240, 20, 240, 1, 1)


@pytest.fixture(scope="module")
def during(any_mpi: Mpi, compiler: Compiler) -> Path:
    """The program of nearly all tests: `during [COMMAND]`."""
    return program(compiler, any_mpi, "during.c")


def fill(place: Path) -> Path:
    """Takes all the room there is."""
    file = place / "fill"
    with file.open("wb", buffering=0) as out:
        try:
            while out.write(bytes(1 << 12)):
                pass
        except OSError:
            pass
    return file


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What Haloscope had to say: each a whole line, and no word from Python."""
    assert "Traceback" not in done.stderr
    assert "[Errno" not in done.stderr
    return [line for line in done.stderr.splitlines() if "haloscope:" in line]


def run(
    haloscope: Path, mpi: Mpi, profile: Path, command: Sequence[str | Path], live: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a program on two ranks under the command, where no profile is expected."""
    variables = {"HALOSCOPE_LIVE": str(live)} if live else {}
    words = [haloscope, "run", "-o", profile, "--", *mpi.launch(2), *command]
    return run_program(words, env=mpi.environment(variables), status=None)


def check_whole(watched: Watched) -> None:
    """Nothing is missing in a profile of `during`."""
    assert watched.info["partial"] == "false"
    assert watched.traffic("before") == watched.traffic("after") == RING


def test_disk_that_is_full(any_mpi: Mpi, during: Path, haloscope: Path, mount: Mount, live: Path) -> None:
    full = mount("full", "size=64k")
    hog = fill(full)
    done = run(haloscope, any_mpi, full / "run.halo", [during], live)
    assert (done.returncode, done.stdout) == (0, "end\n")
    lost, kept = said(done)
    (records,) = live.iterdir()
    assert f"{full / 'run.halo'} could not be written: " in lost
    assert "No space left on device" in lost
    assert str(records) in lost
    assert kept.startswith(f"haloscope: {records}: could not be joined")
    assert kept.endswith("the records are kept for haloscope recover")
    assert list(full.iterdir()) == [hog]
    assert len(list(records.glob("*.live"))) == 2
    hog.unlink()  # what the message is for
    profile = full / "run.halo"
    check_whole(Watched(join(library(any_mpi), records, profile), profile))


def test_a_limit_that_only_the_program_has(
    any_mpi: Mpi, during: Path, haloscope: Path, tmp_path: Path, live: Path
) -> None:
    """`haloscope run` writes what the program could not."""
    profile = tmp_path / "run.halo"
    done = run(haloscope, any_mpi, profile, [str(during), "prlimit --pid $PPID --fsize=0"], live)
    assert (done.returncode, done.stdout) == (0, "end\n")
    lost = next(line for line in said(done) if "could not be written" in line)
    assert "haloscope run tries again" in lost
    assert "recover" not in done.stderr
    check_whole(Watched(done, profile))


@pytest.mark.parametrize("command", ["rm -r {}", "mount -o remount,ro {}"])
def test_directory_that_goes_away(
    any_mpi: Mpi, during: Path, haloscope: Path, mount: Mount, live: Path, command: str
) -> None:
    directory = mount("place", "size=1m")
    if command.startswith("rm"):
        directory /= "inner"
        directory.mkdir()
    profile = directory / "run.halo"
    done = run(haloscope, any_mpi, profile, [str(during), command.format(directory)], live)
    assert (done.returncode, done.stdout) == (0, "end\n")
    (records,) = live.iterdir()
    lost, kept = said(done)
    assert f"{profile} could not be written: " in lost
    assert str(records) in lost
    assert str(records) in kept
    profile = live / "run.halo"
    check_whole(Watched(join(library(any_mpi), records, profile), profile))


def test_disk_that_can_only_be_read(
    any_mpi: Mpi, during: Path, haloscope: Path, mount: Mount, tmp_path: Path
) -> None:
    """Known beforehand: nothing is started."""
    profile = mount("place", "ro") / "run.halo"
    started = tmp_path / "started"
    done = run(haloscope, any_mpi, profile, [str(during), f"touch {started}"])
    assert done.returncode == 1
    (line,) = said(done)
    assert str(profile.parent) in line
    assert "Read-only file system" in line
    assert not started.exists()


@pytest.mark.parametrize("place", ["missing", "a file", "read-only", "full"])
def test_no_place_for_live_records(
    any_mpi: Mpi, during: Path, mount: Mount, tmp_path: Path, place: str
) -> None:
    where = tmp_path / place
    if place == "a file":
        where.touch()
    elif place != "missing":
        where = mount(place, "ro" if place == "read-only" else "size=64k")
    watched = watch(any_mpi, 2, [during], tmp_path, env={"HALOSCOPE_LIVE": str(where)})
    assert watched.done.stdout == "end\n"
    lines = said(watched.done)
    assert all(str(where) in line and "HALOSCOPE_LIVE" in line for line in lines)
    assert 1 <= len(lines) <= 2  # each rank has its own
    check_whole(watched)
    if place == "full":
        assert list(where.iterdir()) == []


def test_live_records_that_fill_the_disk(
    any_mpi: Mpi, compiler: Compiler, mount: Mount, tmp_path: Path
) -> None:
    """No signal where there is no room, but records that count as dropped."""
    where = mount("small", "size=600k")
    command = [str(program(compiler, any_mpi, "many_names.c")), "5000"]
    watched = watch(any_mpi, 1, command, tmp_path, env={"HALOSCOPE_LIVE": str(where)})
    assert said(watched.done) == []
    assert int(watched.info["dropped"]) > 0
    # Events without a region of their own count for the one around them.
    assert watched.traffic("<program>") == Traffic(5001, 20008, 5001, 20008, 1, 1)
    assert list(where.iterdir()) == []


def test_no_place_for_anything(any_mpi: Mpi, during: Path, haloscope: Path, mount: Mount) -> None:
    full = mount("full", "size=64k")
    fill(full)
    done = run(haloscope, any_mpi, full / "run.halo", [during], full)
    assert (done.returncode, done.stdout) == (0, "end\n")
    assert any("could not be written" in line for line in said(done))
    assert "are kept" not in done.stderr
    assert "MPI_Init" not in done.stderr


def test_one_rank_without_memory(any_mpi: Mpi, during: Path, haloscope: Path, tmp_path: Path) -> None:
    options = ["-o", str(tmp_path / "run.halo"), "--"]
    limited = ["bash", "-c", f"ulimit -v 8000000; exec {during}"]
    command = [*any_mpi.launch(1), str(during), ":", "-n", "1", *limited]
    done = run_program(
        [str(haloscope), "run", *options, *command], env=any_mpi.environment({"HALOSCOPE_MEMORY": "60000"})
    )
    assert done.stdout == "end\n"
    (line,) = [line for line in said(done) if "no memory" in line]
    assert "rank 1" in line
    watched = Watched(done, tmp_path / "run.halo")
    assert (watched.info["partial"], watched.info["unwatched_ranks"]) == ("false", "[1]")
    assert [row["rank"] for row in watched.select("ranks", region="before")] == [0]


# Each is refused by itself: tests/watch/test_settings.py.
NONSENSE = {
    "HALOSCOPE_MEMORY": "lots",
    "HALOSCOPE_EXACT_TIMES": "yes",
    "HALOSCOPE_RUN": "../../escape",
    "HALOSCOPE_SLICE": "1 s",
    "HALOSCOPE_AFTER": "soon",
    "HALOSCOPE_UNTIL": "-1",
    "HALOSCOPE_SYNC_COLLECTIVES": "1.5",
    "HALOSCOPE_SIZE_LIMIT": "1 MiB",
    "HALOSCOPE_RANKS": "all",
}


def hand_run(
    mpi: Mpi, during: Path, directory: Path, variables: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Two ranks with the recorder preloaded and settings that no command has looked at."""
    settings = {
        "HALOSCOPE_OUTPUT": str(directory / "run.halo"),
        "HALOSCOPE_LIVE": str(directory),
        **variables,
    }
    words = [f"{name}={value}" for name, value in settings.items()]
    look = f"stat -c %s {directory}/haloscope-*/0-*.live > {directory}/size"
    command = ["env", f"LD_PRELOAD={library(mpi)}", *words, str(during), look]
    return mpi.run(2, command, cwd=directory, status=None)


def test_settings_that_make_no_sense(any_mpi: Mpi, during: Path, live: Path) -> None:
    done = hand_run(any_mpi, during, live, NONSENSE)
    assert (done.returncode, done.stdout) == (0, "end\n")
    lines = said(done)
    assert len(lines) == len(NONSENSE)
    for name, value in NONSENSE.items():
        (line,) = [line for line in lines if name in line and f"'{value}'" in line]
        assert line.endswith("using the default")
    watched = Watched(done, live / "run.halo")
    check_whole(watched)
    assert watched.info["exact_times"] == "false"
    assert watched.info["sync_collectives"] == "0"
    assert len(watched.rows("slices")) >= 2
    assert (live / "size").read_text() == f"{16 << 20}\n"
    assert sorted(path.name for path in live.iterdir()) == ["run.halo", "size"]


@pytest.mark.parametrize(
    "odd",
    [
        {
            "HALOSCOPE_COMMAND": "x" * 100_000,
            "HALOSCOPE_SERIES": "\n\n/\n//x\n" + "y" * 10_000,
            "HALOSCOPE_SLICE": "1e-9",
            "HALOSCOPE_AFTER": "-0",
            "HALOSCOPE_UNTIL": "1e8",
            "HALOSCOPE_RUN": "r" * 200,
        },
        {
            "HALOSCOPE_COMMAND": '\udcff\x01"\\\n\t',
            "HALOSCOPE_SERIES": "\udcff",
            "HALOSCOPE_ONLY": "\n",
            "HALOSCOPE_MEMORY": "",
            "HALOSCOPE_EXACT_TIMES": "",
            "HALOSCOPE_RUN": "",
        },
    ],
)
def test_odd_settings_that_are_taken(any_mpi: Mpi, during: Path, live: Path, odd: dict[str, str]) -> None:
    done = hand_run(any_mpi, during, live, odd)
    assert (done.returncode, done.stdout) == (0, "end\n")
    assert said(done) == []
    check_whole(Watched(done, live / "run.halo"))


def test_a_time_that_ends_before_it_begins(any_mpi: Mpi, during: Path, live: Path) -> None:
    variables = {"HALOSCOPE_AFTER": "0.5", "HALOSCOPE_UNTIL": "0.5"}
    done = hand_run(any_mpi, during, live, variables)
    (line,) = said(done)
    assert "HALOSCOPE_UNTIL='0.5' is not later than HALOSCOPE_AFTER; using the default" in line
    watched = Watched(done, live / "run.halo")
    assert (watched.info["from"], watched.info["until"]) == ("0.5", "0")


@pytest.mark.parametrize("output", ["{}/missing/run.halo", "{}", "/dev/full/run.halo"])
def test_an_output_that_makes_no_sense(any_mpi: Mpi, during: Path, live: Path, output: str) -> None:
    done = hand_run(any_mpi, during, live, {"HALOSCOPE_OUTPUT": output.format(live)})
    assert (done.returncode, done.stdout) == (0, "end\n")
    (line,) = said(done)
    assert f"the profile {output.format(live)} could not be written" in line
    (records,) = live.glob("haloscope-*")
    assert str(records) in line
    profile = live / "run.halo"
    check_whole(Watched(join(library(any_mpi), records, profile), profile))


def test_a_name_that_is_too_long_is_cut(any_mpi: Mpi, during: Path, live: Path) -> None:
    done = hand_run(any_mpi, during, live, {"HALOSCOPE_OUTPUT": f"{live}/{'x' * 300}"})
    (line,) = said(done)
    profile = live / ("x" * 255)
    assert line.endswith(f"x is too long: this profile is {profile}")
    check_whole(Watched(done, profile))


@pytest.mark.parametrize("kind", [stat.S_IFCHR, stat.S_IFIFO])
def test_a_device_is_no_place_for_a_profile(
    any_mpi: Mpi, during: Path, haloscope: Path, tmp_path: Path, kind: int
) -> None:
    """For root `-o /dev/null` would be the end of /dev/null."""
    if os.geteuid() != 0:
        missing("making a device needs root")
    device = tmp_path / "null"
    os.mknod(device, kind | 0o666, os.makedev(1, 3))
    done = run(haloscope, any_mpi, device, [str(during), f"touch {tmp_path / 'started'}"])
    assert done.returncode == 1
    (line,) = said(done)
    assert f"{device}: is not a regular file" in line
    done = hand_run(any_mpi, during, tmp_path, {"HALOSCOPE_OUTPUT": str(device)})
    assert (done.returncode, done.stdout) == (0, "end\n")
    (line,) = said(done)
    assert f"{device} could not be written" in line
    assert stat.S_IFMT(device.stat().st_mode) == kind
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("closed", [1, 2])
def test_closed_standard_streams(
    any_mpi: Mpi, during: Path, haloscope: Path, tmp_path: Path, closed: int
) -> None:
    profile = tmp_path / "run.halo"
    command = [str(haloscope), "run", "-o", str(profile), "--", str(during)]
    done = run_program(["sh", "-c", f'"$@" {closed}>&-', "sh", *command], env=any_mpi.environment())
    assert said(done) == []
    assert done.stdout == ("end\n" if closed == 2 else "")
    assert Watched(done, profile).traffic("after") == Traffic(10, 120, 10, 120, 1, 1)


def test_a_percent_sign_in_the_name(any_mpi: Mpi, during: Path, haloscope: Path, tmp_path: Path) -> None:
    for given, written in (("a%%b.halo", "a%b.halo"), ("100%.halo", "100%.halo")):
        done = run(haloscope, any_mpi, tmp_path / given, [during])
        assert (done.returncode, said(done)) == (0, [])
        check_whole(Watched(done, tmp_path / written))


def test_two_programs_of_one_run(any_mpi: Mpi, during: Path, haloscope: Path, tmp_path: Path) -> None:
    """Neither profile takes the other's place; the one of an earlier run makes way."""
    launch = shlex.join([*any_mpi.launch(2), str(during)])
    profile = tmp_path / "run.halo"
    words: list[str | Path] = [haloscope, "run", "-o", profile, "--", "sh", "-c", f"{launch}; {launch}", "sh"]
    words.append(during)
    for _ in range(2):
        done = run_program(words, env=any_mpi.environment())
        assert done.stdout == "end\nend\n"
        second = tmp_path / "run-2.halo"
        assert sorted(tmp_path.iterdir()) == [second, profile]
        (line,) = said(done)
        assert line.startswith(f"haloscope: {profile} is kept")
        assert line.endswith(f"this profile is {second}")
        assert done.stderr.count("\nprofile: ") == 2
        for path in (profile, second):
            check_whole(Watched(done, path))
        second.unlink()


def test_shared_memory_that_can_only_be_read(
    any_mpi: Mpi, during: Path, haloscope: Path, mount: Mount, tmp_path: Path
) -> None:
    """Live records go to /tmp then."""
    mount("needed", "size=64k")  # who may mount here may do so in a name space of its own, mostly
    words = ["unshare", "--mount", "true"]
    own = run_program(words, status=None)
    if own.returncode:  # not where / is no mount point, as in a chroot
        missing(f"mounts of its own: {own.stderr.strip()}")
    seen = tmp_path / "seen"
    command = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        'mount -t tmpfs -o ro none /dev/shm && exec "$@"',
        "sh",
        str(haloscope),
        "run",
        "--quiet",
        "-o",
        str(tmp_path / "run.halo"),
        "--",
        str(during),
        f"ls /tmp/haloscope-*/0-$PPID.live > {seen}",
    ]
    environment = any_mpi.environment({"OMPI_MCA_btl": "self"})
    done = run_program(command, env=environment)
    assert (done.stdout, said(done)) == ("end\n", [])
    assert Watched(done, tmp_path / "run.halo").info["partial"] == "false"
    (record,) = seen.read_text().split()
    assert not Path(record).exists()
