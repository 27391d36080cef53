"""`haloscope report`: what a file is, its content says, and an error names what may be given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from haloscope import MachineError, UsageError
from haloscope.predict import find_kind, write_machine_page
from haloscope.predict.tune import Gains
from support.command import run_command
from support.page_kinds import GAIN
from support.pages import page_text
from support.sample import halo_profile

MACHINE = "name: box\nlevels: [{name: box, cores: 4, latency: 1 us, bandwidth: 1 GB/s}]\n"
POINT = {
    "record": "point",
    "collective": "bcast",
    "algorithm": "chain",
    "ranks": 2,
    "bytes": 8,
    "status": "ok",
    "samples_ns": [[1000, 3000, 2000], [2000, 2000, 5000]],
}
SWEEP = "".join(json.dumps(one) + "\n" for one in ({"record": "environment", "library": "X"}, POINT))
OSU = "# OSU MPI Broadcast Latency Test v7.3\n# Size       Avg Latency(us)\n8                    1.25\n"
IMB = (
    "# Benchmarking Bcast\n# #processes = 2\n"
    "#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n8 1000 1.0 2.0 1.5\n"
)
GAINS = Gains("Open MPI 4.1.4", "1 of 1 points have a rule", {"Rules": "rules.conf"}, [GAIN])
TEXTS = {"machine": MACHINE, "sweep": SWEEP, "osu": OSU, "imb": IMB}
KINDS = {"machine": "machine", "sweep": "sweep", "osu": "sweep", "imb": "sweep"}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """One file of each kind, with names that say nothing."""
    made = {}
    for name, text in TEXTS.items():
        made[name] = tmp_path / f"{name}.txt"
        made[name].write_text(text)
    made["gains"] = tmp_path / "gains.txt"
    GAINS.save(made["gains"])
    made["profile"] = tmp_path / "profile.txt"
    halo_profile((2, 1, 1)).write(made["profile"])
    return made


def told(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    status = run_command(*words)
    lines = capsys.readouterr().err
    assert lines.count("\n") == (status != 0)
    return status, lines


def test_names_do_not_matter(files: dict[str, Path]) -> None:
    found = {name: find_kind(path) for name, path in files.items()}
    assert found == {**KINDS, "gains": "gains", "profile": "profile"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("machine", "eager limit"),
        ("sweep", "bcast on 2 processes"),
        ("osu", "bcast"),
        ("imb", "bcast on 2 processes"),
        ("gains", "bcast: gain"),
        ("profile", "Haloscope"),
    ],
)
def test_a_page_of_each(
    files: dict[str, Path], tmp_path: Path, name: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert told(["report", str(files[name]), "-o", str(page)], capsys) == (0, "")
    assert words in page_text(page)


def test_a_page_without_a_name_replaces_nothing(
    files: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "machine.html").write_text("mine")
    for page in ("machine-2.html", "machine-3.html"):
        assert run_command("report", files["machine"]) == 0
        assert capsys.readouterr().out == f"page: {page}\n"
        assert "eager limit" in page_text(tmp_path / page)
    assert (tmp_path / "machine.html").read_text() == "mine"
    assert run_command("report", files["sweep"], files["imb"]) == 0
    assert capsys.readouterr().out == "page: report.html\n"


def test_a_page_is_opened(files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > "{tmp_path}/opened"\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    monkeypatch.chdir(tmp_path)
    assert run_command("report", files["machine"], "--open") == 0
    assert (tmp_path / "opened").read_text() == f"{(tmp_path / 'machine.html').as_uri()}\n"


def test_several_sweeps_are_one_page(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    words = ["report", str(files["sweep"]), str(files["imb"]), "-o", str(page)]
    assert told(words, capsys) == (0, "")
    text = page_text(page)
    assert '"chain"' in text
    assert '"default"' in text


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("sweep", "machine"), "is a machine, but"),
        (("machine", "gains"), "is a gains, but"),
        (("machine", "machine"), "about one machine only"),
        (("gains", "gains"), "about one gains only"),
    ],
)
def test_kinds_are_not_mixed(
    files: dict[str, Path], names: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, line = told(["report", *(str(files[name]) for name in names), "-o", "x.html"], capsys)
    assert status == 2
    assert words in line


@pytest.mark.parametrize(
    "text", ["", "precious\n", "{}\n", "[1]\n", "topology: torus\n", "\0\1\2", "\x89HAL", "levels\n"]
)
def test_other_files_are_refused(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.txt"
    other.write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match="a machine model"):
        find_kind(other)
    status, line = told(["report", str(other), "-o", "x.html"], capsys)
    assert status == 2
    for word in ("a profile", "a sweep", "a machine model", "the gains"):
        assert word in line


def test_a_long_file_is_known_by_its_begin(tmp_path: Path) -> None:
    Gains("MPI", "", {}, [GAIN] * 1000).save(tmp_path / "many")
    assert (tmp_path / "many").stat().st_size > 1 << 17
    assert find_kind(tmp_path / "many") == "gains"


def test_gains_are_read_back(tmp_path: Path) -> None:
    GAINS.save(tmp_path / "g.json")
    assert Gains.read(tmp_path / "g.json") == GAINS
    for text in ("", "{}", '{"record": "gains"}', "[]"):
        (tmp_path / "g.json").write_text(text)
        with pytest.raises(MachineError, match="not a file of gains from haloscope tune"):
            Gains.read(tmp_path / "g.json")


def test_a_machine_without_measured_times_has_a_page(tmp_path: Path) -> None:
    from haloscope.predict import load_machine

    write_machine_page(load_machine("orfeo"), tmp_path / "orfeo.html")
    assert "Latency by level" in page_text(tmp_path / "orfeo.html")
