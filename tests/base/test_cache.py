"""The cache of builds: one at a time, complete or not at all, and never changed afterwards."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from haloscope import RecorderError
from haloscope.base.cache import build_once, is_whole

# Builds `thing-1`: writes a file, and waits for a second one. It sets the signals that the tests may ignore.
_BUILDER = """\
import signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
from pathlib import Path
from haloscope.base.cache import build_once
place = Path(sys.argv[1])
def build(directory):
    with (place / "built").open("a") as log:
        log.write("x")
    (directory / "library.so").write_bytes(b"code")
    while not (place / "go").exists():
        time.sleep(0.01)
print(build_once("thing-1", build, "building the thing", quiet=False))
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALOSCOPE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HALOSCOPE_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.getuid", lambda: 54321)  # nobody in the list of users
    with pytest.raises(RecorderError, match="set HALOSCOPE_CACHE to a directory"):
        build_once("thing-1", thing)


def start(place: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _BUILDER, str(place)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(file: Path) -> None:
    while not file.exists():
        time.sleep(0.01)


def thing(directory: Path) -> None:
    (directory / "library.so").write_bytes(b"code")


def test_several_launches_build_once(cache: Path, tmp_path: Path) -> None:
    running = [start(tmp_path) for _ in range(4)]
    wait_for(tmp_path / "built")
    (tmp_path / "go").touch()
    ends = [process.communicate() for process in running]
    assert {out for out, _ in ends} == {f"{cache / 'thing-1'}\n"}
    assert (tmp_path / "built").read_text() == "x"
    printed = [line for _, lines in ends for line in lines.splitlines()]
    assert [line for line in printed if "building the thing, once: it can take" in line]
    assert all(line.startswith("haloscope: ") for line in printed)
    assert len(printed) <= 4


def test_a_build_that_was_killed_leaves_nothing(cache: Path, tmp_path: Path) -> None:
    killed = start(tmp_path)
    wait_for(tmp_path / "built")
    killed.kill()
    killed.communicate()
    assert len(list(cache.glob(".building-*"))) == 1
    build_once("thing-2", thing)
    assert sorted(path.name for path in cache.iterdir()) == [".thing.lock", "thing-2"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_build_that_was_interrupted_leaves_nothing(
    cache: Path, tmp_path: Path, number: signal.Signals
) -> None:
    interrupted = start(tmp_path)
    wait_for(tmp_path / "built")
    interrupted.send_signal(number)
    _, output = interrupted.communicate()
    assert interrupted.returncode != 0
    assert "building the thing, once: it can take" in output
    assert [path.name for path in cache.iterdir()] == [".thing.lock"]


@pytest.mark.parametrize("damage", [b"", b"cod", b"coDe", None])
def test_what_is_damaged_is_built_anew(cache: Path, damage: bytes | None) -> None:
    made = build_once("thing-1", thing)
    assert is_whole(made)
    if damage is None:
        (made / "library.so").unlink()
    else:
        (made / "library.so").write_bytes(damage)
    assert not is_whole(made)
    assert (build_once("thing-1", thing) / "library.so").read_bytes() == b"code"
    assert is_whole(made)


def test_sums_are_those_of_sha256sum(cache: Path) -> None:
    made = build_once("thing-1", thing)
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=made, check=True)


def test_the_error_says_what_to_remove(cache: Path) -> None:
    made = build_once("thing-1", thing)
    (made / "library.so").write_bytes(b"")

    def full(directory: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(RecorderError, match="No space left on device") as caught:
        build_once("thing-1", full)
    assert f"{made} is damaged: remove it" in str(caught.value)
    assert not list(cache.glob(".building-*"))


def test_how_long_it_takes_is_what_it_took(
    cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 42.0, 50.0, 60.0])
    # Its own module `time`, as others may ask the real one meanwhile.
    ours = SimpleNamespace(monotonic=lambda: next(clock))
    monkeypatch.setattr("haloscope.base.cache.time", ours)
    build_once("thing-1", thing, "building the thing", quiet=False)
    build_once("thing-2", thing, "building the thing", quiet=False)
    first, second = capsys.readouterr().err.splitlines()
    assert first == "haloscope: building the thing, once: it can take a minute or two"
    assert second == "haloscope: building the thing, once: the last one took 42 s"


def test_quiet_builds_say_nothing(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build_once("thing-1", thing, "building the thing", quiet=True)
    assert capsys.readouterr().err == ""


def test_a_file_system_without_locks(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("haloscope.base.cache.fcntl.flock", no_locks)
    assert is_whole(build_once("thing-1", thing))
