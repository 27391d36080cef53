"""Studies: each part runs once, its results are shown, and its output is treated as text."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest
from click.testing import CliRunner

from haloscope import OutputError, UsageError
from haloscope.base import paths
from haloscope.cli import haloscope as command
from haloscope.markov.figures import Figure, array, axis
from haloscope.reproduce.study import Study, read_study, run_study, studies, write_figures, write_study_page
from support.limits import HANG
from support.pages import Look, page_data

EVIL = "<img src=x onerror=alert(1)>"
SCRIPT = """
import sys, time
from pathlib import Path
with open("runs", "a") as runs:
    print(sys.argv[1], file=runs)
while sys.argv[1] == "slow" and not Path("go-on").exists():
    time.sleep(0.05)
if sys.argv[1] == "fails":
    sys.exit("no such machine")
if sys.argv[1] == "elsewhere":
    print("namespaces need root")
    sys.exit(4)
rows = ("region,published,ours,equal", "<img src=x onerror=alert(1)>,3,3,true", "b,,1.5,")
Path(sys.argv[1] + ".csv").write_text("\\n".join(rows))
if sys.argv[1] == "crash":
    raise RuntimeError("in the midst")
"""
PART = """
[[part]]
name = "{name}"
title = "Part {name}"
script = "script.py"
arguments = ["{name}"]
tables = ["{name}.csv"]
minutes = 0.1
large = {large}
text = ["Told of {name}."]
"""


def made(folder: Path, *names: str, large: tuple[str, ...] = ()) -> Study:
    folder.mkdir(parents=True)
    (folder / "script.py").write_text(SCRIPT)
    parts = "".join(PART.format(name=name, large=str(name in large).lower()) for name in names)
    (folder / "study.toml").write_text(f'title = "A {EVIL}"\npaper = "Somebody, Something"\n{parts}')
    return read_study(folder)


def runs(directory: Path) -> list[str]:
    return (directory / "runs").read_text().split()


def test_each_part_runs_once(tmp_path: Path) -> None:
    study = made(tmp_path / "study", "same", "other", "fails", "long", large=("long",))
    out = tmp_path / "out"
    ended = run_study(study, out)
    assert [outcome.state for outcome in ended] == ["done", "done", "failed", "not run"]
    assert ended[2].why.startswith("no such machine (exit status 1; see ")
    assert runs(out) == ["same", "other", "fails"]
    # Experiments that failed, or whose results are missing, run again. Results of the others are read.
    (out / "other.csv").unlink()
    run_study(study, out, large=True)
    assert runs(out) == ["same", "other", "fails", "other", "fails", "long"]


def test_the_page_is_the_same_from_the_same_results(tmp_path: Path, look: Look) -> None:
    study = made(tmp_path / "study", "same", "other", "fails")
    out = tmp_path / "out"
    run_study(study, out)
    pages = [tmp_path / f"{number}.html" for number in range(2)]
    for page in pages:
        write_study_page(study, out, page)
    assert pages[0].read_bytes() == pages[1].read_bytes()
    shown = look(pages[0])
    assert shown.locator("h1").inner_text() == f"A {EVIL}"
    assert shown.locator("#part-same table tbody tr").all_inner_texts()[0].split("\t") == [
        EVIL,
        "3",
        "3",
        "+0.0 % ✓",
        "✓",
    ]
    second = shown.locator("#part-same table tbody tr").all_inner_texts()[1].split("\t")
    assert second == ["b", "–", "1.5", "", "–"]
    assert "no such machine (exit status 1; see fails.log)" in shown.locator("#warnings").inner_text()
    states = shown.locator("#answer tbody td:nth-child(2)").all_inner_texts()
    assert states == ["✓ done", "✓ done", "✗ failed"]
    assert shown.locator("#figures dd").inner_text().startswith("2 of 3")
    assert shown.locator("#answer tbody tr").count() == 3
    assert shown.locator("body img").count() == 0


@pytest.mark.parametrize(
    ("columns", "titles"),
    [
        ("mean,our_mean", ["mean, paper", "mean, here", "difference"]),
        ("mean_printed,mean_found", ["mean, paper", "mean, here", "difference"]),
        ("published,ours", ["paper", "here", "difference"]),
        ("mean,time", ["mean", "time"]),
        ("our_mean,time", ["our mean", "time"]),
    ],
)
def test_paper_and_here_are_side_by_side(tmp_path: Path, columns: str, titles: list[str]) -> None:
    study, out = made(tmp_path / "study", "same"), tmp_path / "out"
    file = study.folder / "study.toml"
    file.write_text(file.read_text() + 'units = {mean = "s"}\n')
    study = read_study(study.folder)
    run_study(study, out)
    rows = ("2e-3,2.1e-3", "2e-3,2.2e-3", "0,1", ",1")
    (out / "same.csv").write_text("\n".join([columns, *rows]))
    write_study_page(study, out, tmp_path / "page.html")
    (section,) = (one for one in page_data(tmp_path / "page.html")["sections"] if one["name"] == "part-same")
    (table,) = section["tables"]
    assert [title for title, _ in table["columns"]] == titles
    assert ("✓: at most 5 % apart" in table["caption"]) == ("difference" in titles)
    last = [row[-1][1] for row in table["rows"]]
    assert (last == ["+5.0 % ✓", "+10.0 % ✗", "", ""]) == ("difference" in titles)
    first = table["rows"][0][0][1]
    assert first == ("2.00 ms" if titles[0].startswith("mean") else "0.002")


def png() -> bytes:
    """One black pixel."""
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"\0\0")),
        (b"IEND", b""),
    )
    chunks = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def test_a_picture_is_in_the_page(tmp_path: Path, look: Look) -> None:
    study, out = made(tmp_path / "study", "same"), tmp_path / "out"
    file = study.folder / "study.toml"
    file.write_text(file.read_text() + 'pictures = ["same.png"]\n')
    study = read_study(study.folder)
    out.mkdir()
    (out / "same.png").write_bytes(png())
    run_study(study, out)
    write_study_page(study, out, tmp_path / "page.html")
    picture = look(tmp_path / "page.html").locator("#part-same img.picture")
    assert picture.get_attribute("alt") == "Part same: same.png"
    assert picture.evaluate("image => image.naturalWidth") == 1


def test_figures_are_drawn_on_the_page(tmp_path: Path, look: Look) -> None:
    study, out = made(tmp_path / "study", "same"), tmp_path / "out"
    file = study.folder / "study.toml"
    file.write_text(file.read_text() + 'figures = ["same.json"]\n')
    study = read_study(study.folder)
    out.mkdir()
    trace = {"type": "scatter", "x": [1, 2], "y": array([3.0, 4.0]), "name": "b"}
    drawn = Figure(f"Said: {EVIL}", [trace], {"height": 300, "xaxis": axis("ranks")}, "Two points")
    write_figures([drawn, drawn], out / "same.json")
    assert [one.state for one in run_study(study, out)] == ["done"]
    pages = [tmp_path / "0.html", tmp_path / "1.html"]
    for page in pages:
        write_study_page(study, out, page)
    assert pages[0].read_bytes() == pages[1].read_bytes()
    shown = look(pages[0])
    shown.locator("#sections[data-waiting='0']").wait_for()
    assert shown.locator("#part-same figure .main-svg").count() >= 2
    assert shown.locator("#part-same figcaption").all_inner_texts() == [f"Said: {EVIL}"] * 2
    assert shown.locator("#part-same figure h3").all_inner_texts() == ["Two points"] * 2
    # A file without a list of figures gives an error of one line.
    for text in ("{", "[1]", '[{"caption": "", "traces": [NaN], "layout": {}, "title": ""}]', "3", "[[]]"):
        (out / "same.json").write_text(text)
        with pytest.raises(OutputError, match=r"same\.json: not a list of figures; remove it and run again"):
            write_study_page(study, out, pages[0])


def test_what_cannot_run_here_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study, out = made(tmp_path / "share" / "studies" / "one", "elsewhere"), tmp_path / "out"
    for _ in range(2):  # it is tried again
        (outcome,) = run_study(study, out)
        assert (outcome.state, outcome.why) == ("not run", "namespaces need root")
    assert runs(out) == ["elsewhere", "elsewhere"]
    monkeypatch.setattr(paths, "root", lambda: tmp_path / "share")
    done = CliRunner().invoke(command, ["study", "one", "-o", str(tmp_path)], standalone_mode=False)
    assert done.return_value == 0
    assert "namespaces need root" in done.output
    assert "not run: namespaces need root" in json.dumps(page_data(tmp_path / "one" / "index.html"))


def test_a_killed_study_goes_on(tmp_path: Path) -> None:
    study, out = made(tmp_path / "study", "same", "slow"), tmp_path / "out"
    program = (
        "from pathlib import Path; from haloscope.reproduce.study import read_study, run_study;"
        f"run_study(read_study(Path({str(study.folder)!r})), Path({str(out)!r}))"
    )
    with subprocess.Popen([sys.executable, "-c", program], start_new_session=True) as running:
        end = time.monotonic() + HANG
        while not (out / "runs").exists() or len(runs(out)) < 2:
            assert time.monotonic() < end
            time.sleep(0.05)
        os.killpg(running.pid, signal.SIGKILL)
    assert json.loads((out / "outcomes.json").read_text())["ended"].keys() == {"same"}
    (out / "go-on").touch()
    assert [outcome.state for outcome in run_study(study, out)] == ["done", "done"]
    assert runs(out) == ["same", "slow", "slow"]


def test_what_crashed_has_no_result(tmp_path: Path) -> None:
    """Even if its table exists, as it may be incomplete."""
    study, out = made(tmp_path / "study", "crash"), tmp_path / "out"
    for _ in range(2):
        (outcome,) = run_study(study, out)
        assert (out / "crash.csv").is_file()
        assert (outcome.state, outcome.why[:26]) == ("failed", "RuntimeError: in the midst")
    assert runs(out) == ["crash", "crash"]


DAEMON = """
import os, time
reading, writing = os.pipe()
if not os.fork():
    os.setsid()
    if not os.fork():
        while time.process_time() < 0.5:
            pass
        os.write(writing, b"done")
    os._exit(0)
os.wait()
os.read(reading, 4)
"""


def test_the_time_of_daemons_is_that_of_the_part(tmp_path: Path) -> None:
    """Otherwise it would be the time of other programs, and no time of this part would be judged."""
    study = made(tmp_path / "study", "same")
    script = tmp_path / "study" / "script.py"
    script.write_text(DAEMON + script.read_text())
    before = os.times()
    assert [outcome.state for outcome in run_study(study, tmp_path / "out")] == ["done"]
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    assert used >= 0.5


@pytest.mark.parametrize("number", ["1e999", "nan"])
def test_results_that_are_no_numbers_are_unknown(tmp_path: Path, number: str) -> None:
    study, out = made(tmp_path / "study", "same"), tmp_path / "out"
    run_study(study, out)
    (out / "same.csv").write_text(f"name,paper,ours\na,{number},1\nb,1,{number}\n")
    write_study_page(study, out, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().rstrip().endswith("</html>")


def test_results_of_another_study_stay(tmp_path: Path) -> None:
    one, other = made(tmp_path / "one", "same"), made(tmp_path / "other", "same")
    run_study(one, tmp_path / "out")
    with pytest.raises(UsageError, match="contains results of the study one"):
        run_study(other, tmp_path / "out")
    (tmp_path / "out" / "outcomes.json").write_text("{")
    with pytest.raises(UsageError, match="not a list of outcomes"):
        run_study(one, tmp_path / "out")
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="give another directory with -o"):
        run_study(one, tmp_path / "file")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "title: Field required"),
        ('title = "a"\npaper = "b"\n', "part: Field required"),
        ('title = "a"\npaper = "b"\nnew = 1\n' + PART.format(name="a", large="false"), "new: Extra inputs"),
        (
            'title = "a"\npaper = "b"\n' + PART.format(name="../a", large="false"),
            "part.0.name: String should",
        ),
        ("title =", "Invalid value"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(UsageError, match=said) as raised:
        read_study(tmp_path)
    assert str(raised.value).startswith(str(tmp_path / "study.toml"))


def test_the_studies_that_come_with_it() -> None:
    there = studies()
    assert len(there) == 5
    for study in there.values():
        assert all((study.folder / part.script).is_file() for part in study.parts)
    done = CliRunner().invoke(command, ["study"])
    assert (done.exit_code, len(done.output.splitlines())) == (0, 5)


def test_the_verb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path / "share" / "studies" / "one", "same", "long", large=("long",))
    made(tmp_path / "share" / "studies" / "two", "other")
    monkeypatch.setattr(paths, "root", lambda: tmp_path / "share")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(command, ["study", "one"], standalone_mode=False)
    assert done.return_value == 0
    assert done.stdout.splitlines() == [
        "one: Part same: done",
        "one: Part long: not run",
        "page: studies-here/one/index.html",
    ]
    done = CliRunner().invoke(command, ["study", "all", "-o", "there"], standalone_mode=False)
    assert done.return_value == 0
    assert (tmp_path / "there" / "two" / "index.html").is_file()
    assert CliRunner().invoke(command, ["study", "three"]).exit_code == 2
