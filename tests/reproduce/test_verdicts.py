"""Verdicts on published numbers and claims, from a run's data, and only where these can show it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from haloscope import OutputError, UsageError
from haloscope.base import paths
from haloscope.cli import haloscope as command
from haloscope.reproduce.study import (
    Reproduced,
    Study,
    Verdicts,
    judge_study,
    read_study,
    run_study,
    studies,
    write_reproduced,
    write_study_page,
)
from support.pages import Look

SCRIPT = """
import sys
from pathlib import Path
from haloscope.reproduce.study import Reproduced, Tested, find_originals, write_reproduced
def number(name, value, **more):
    return Reproduced(name, value, "{source}", **more)
{text}
"""
FOUND = """
numbers = [number("exact", 691200), number("off", 2100.0, low=2000, high=2200), number("close", 19.5)]
numbers += [number("rounded", 1234), number("negative", -37.6), number("none", None, why="needs 512 ranks")]
claims = [Tested("yes", True, "3 of 3"), Tested("no", False, "0 of 3"), Tested("open", None, "2 cores")]
write_reproduced("part", numbers, claims)
"""
STUDY = """
title = "Study"
paper = "Paper"
[[part]]
name = "part"
title = "Part"
script = "script.py"
minutes = 1
"""
PUBLISHED = """
[[numbers]]
part = "part"
where = "Table IV"
unit = "B"
reason = "counts are exact"
timed = {timed}
[numbers.values]
exact = "691,200"
off = "1.6e3"
close = "19.4"
rounded = "1.23e3"
negative = "-38"
none = "7"
[[claims]]
part = "part"
where = "section 4"
name = "yes"
text = "Default is best"
timed = {timed}
[[claims]]
part = "part"
where = "section 4"
name = "no"
text = "<b>Kripke</b> is fastest"
[[claims]]
part = "part"
where = "section 5"
name = "open"
text = "It scales"
"""


def made(
    folder: Path,
    text: str = FOUND,
    published: str = PUBLISHED,
    *,
    source: str = "counted",
    timed: bool = False,
) -> Study:
    folder.mkdir(parents=True)
    (folder / "script.py").write_text(SCRIPT.format(text=text, source=source))
    (folder / "study.toml").write_text(STUDY)
    (folder / "published.toml").write_text(published.format(timed=str(timed).lower()))
    return read_study(folder)


def judged(study: Study, out: Path) -> Verdicts:
    return judge_study(study, out, run_study(study, out))


def test_each_number_and_claim_has_a_verdict(tmp_path: Path, look: Look) -> None:
    study, out = made(tmp_path / "study"), tmp_path / "out"
    verdicts = judged(study, out)
    assert {one.name: one.state for one in verdicts.numbers} == {
        "exact": "equal",
        "off": "differs",
        "close": "within 10 %",
        "rounded": "equal",  # to the three printed digits
        "negative": "equal",
        "none": "not reproduced",
    }
    assert [one.state for one in verdicts.claims] == ["holds", "does not hold", "cannot be tested here"]
    assert verdicts.summary() == (
        "Of 6 published numbers 3 equal, 1 within 10 %, 1 differs, 1 not reproduced. "
        "Of 3 claims 1 holds, 1 does not hold, 1 cannot be tested here."
    )
    write_study_page(study, out, tmp_path / "page.html")
    page = look(tmp_path / "page.html")
    worst, *others = page.locator("#numbers table").first.locator("tbody tr").all_inner_texts()
    assert worst.split("\t")[:4] == ["off", "1.6e3 B", "2100 [2000, 2200] B", "+31.2 %"]
    # The reason is next to the verdict: a narrow page shows it without scrolling.
    assert worst.split("\t")[4:] == ["differs", "counts are exact", "Table IV", "counted"]
    assert [row.split("\t")[4:] for row in others] == [
        ["not reproduced", "needs 512 ranks", "Table IV", "counted"],
        ["within 10 %", "counts are exact", "Table IV", "counted"],
    ]
    claims = page.locator("#claims tbody tr").all_inner_texts()
    assert claims[0].split("\t") == ["<b>Kripke</b> is fastest", "section 4", "does not hold", "0 of 3"]
    assert verdicts.summary() in page.locator("#answer").inner_text()
    assert page.locator("#conditions tbody tr").count() == 1


def busy(out: Path, share: float | None) -> None:
    """Make the results those of a machine of which other programs used this share."""
    file = out / "outcomes.json"
    read = json.loads(file.read_text())
    read["ended"]["part"]["conditions"]["others"] = share
    file.write_text(json.dumps(read))


@pytest.mark.parametrize(
    ("source", "timed", "share", "is_judged"),
    [
        ("measured", True, 0.3, False),
        ("emulated nodes", True, 0.3, False),
        ("measured", True, 0.01, True),
        ("measured", True, None, True),
        ("measured", False, 0.3, True),
        ("simulated", True, 0.3, True),
        ("counted", True, 0.3, True),
    ],
)
def test_times_of_a_busy_machine_are_not_judged(
    tmp_path: Path, source: str, timed: bool, share: float | None, is_judged: bool
) -> None:
    text = FOUND.replace('"3 of 3")', f'"3 of 3", {source!r})')
    study, out = made(tmp_path / "study", text, source=source, timed=timed), tmp_path / "out"
    run_study(study, out)
    busy(out, share)
    verdicts = judge_study(study, out, run_study(study, out))
    assert (verdicts.numbers[0].state == "equal") == is_judged
    assert (verdicts.claims[0].state == "holds") == is_judged
    if not is_judged:
        reason = "other programs used 30 % of the processors (at most 5 %)"
        assert verdicts.numbers[0].why == verdicts.claims[0].evidence == reason


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('number("exact", 691200), ', "", "part.reproduced.json has no number 'exact'"),
        ('number("exact"', 'number("exakt", 1), number("exact"', "has an unpublished number 'exakt'"),
        ('Tested("open", None, "2 cores")', "", "has no claim 'open'"),
        ("write_reproduced", "print", "has no number 'close'"),
        ("691200", "float('nan')", "ValueError: part: 'exact' is nan"),
        ('number("off"', 'number("exact"', "ValueError: part: 'exact' is given twice"),
    ],
)
def test_results_that_are_not_those_of_the_paper_are_a_failure(
    tmp_path: Path, old: str, new: str, reason: str
) -> None:
    study, out = made(tmp_path / "study", FOUND.replace(old, new)), tmp_path / "out"
    (outcome,) = run_study(study, out)
    assert outcome.state == "failed"
    assert reason in outcome.why
    verdicts = judge_study(study, out, [outcome])
    assert {one.state for one in verdicts.numbers} == {"not reproduced"}
    assert {one.state for one in verdicts.claims} == {"cannot be tested here"}


HUGE = {"name": "x", "value": 10**400, "source": "counted"}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"numbers": [1], "claims": [], "originals": []}',
        json.dumps({"numbers": [HUGE], "claims": [], "originals": []}),
        "{}",
    ],
)
def test_damaged_results_are_one_line(tmp_path: Path, text: str) -> None:
    study, out = made(tmp_path / "study"), tmp_path / "out"
    outcomes = run_study(study, out)
    (out / "part.reproduced.json").write_text(text)
    with pytest.raises(OutputError, match="not the results of a part; remove it and run again"):
        judge_study(study, out, outcomes)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"19.4"', '"many"', "could not convert"),
        ('"19.4"', "19.4", "should be a valid string"),
        ('"19.4"', '"1e999"', "1e999 is not a finite number"),
        ('part = "part"', 'part = "other"', "there is no part 'other'"),
        ('name = "no"', 'name = "yes"', "'yes' is there 2 times"),
        ("unit =", "units =", "Extra inputs"),
    ],
)
def test_wrong_published_data_is_one_line(tmp_path: Path, old: str, new: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as raised:
        made(tmp_path / "study", published=PUBLISHED.replace(old, new))
    assert "\n" not in str(raised.value)


ORIGINAL = """
[[part]]
name = "originals"
title = "Original"
script = "original.py"
originals = ["kripke"]
minutes = 1
"""
RUNS_IT = SCRIPT.format(
    source="counted",
    text="""
import subprocess
text = subprocess.run([find_originals()["kripke"]], capture_output=True, text=True).stdout
if not text.startswith("sends "):
    sys.exit("kripke: printed no number of sends; is it version 1.2?")
write_reproduced("originals", originals=[number("exact", float(text.split()[1]))])
""",
)


def with_original(folder: Path) -> Study:
    study = made(folder)
    (folder / "original.py").write_text(RUNS_IT)
    (folder / "study.toml").write_text(STUDY + ORIGINAL)
    return read_study(study.folder)


def program(file: Path, text: str) -> Path:
    file.write_text(f"#!/bin/sh\necho {text}\n")
    file.chmod(0o755)
    return file


def test_originals_have_a_column(tmp_path: Path, look: Look) -> None:
    study, out = with_original(tmp_path / "study"), tmp_path / "out"
    outcomes = run_study(study, out)
    assert (outcomes[1].state, outcomes[1].why) == ("not run", "give it --with kripke=PATH")
    assert all(one.original is None for one in judge_study(study, out, outcomes).numbers)

    other = program(tmp_path / "other", "version 2")
    (_, failed) = run_study(study, out, originals={"kripke": other})
    assert failed.why.startswith("kripke: printed no number of sends; is it version 1.2? (exit status 1")
    assert all(one.original is None for one in judge_study(study, out, [outcomes[0], failed]).numbers)

    for value in (691200, 5):
        real = program(tmp_path / f"kripke-{value}", f"sends {value}")
        outcomes = run_study(study, out, originals={"kripke": real})
        assert judge_study(study, out, outcomes).numbers[0].original == value
    # Results are kept without the option.
    outcomes = run_study(study, out)
    assert judge_study(study, out, outcomes).numbers[0].original == 5
    write_study_page(study, out, tmp_path / "page.html")
    page = look(tmp_path / "page.html")
    equal = page.locator("#numbers table").nth(1).locator("tbody tr").first.inner_text().split("\t")
    assert equal[:4] == ["exact", "691,200 B", "691200 B", "5 B"]


@pytest.mark.parametrize(("source", "value"), [("measured", None), ("counted", 5)])
def test_originals_have_no_times_of_a_busy_machine(tmp_path: Path, source: str, value: float | None) -> None:
    text = FOUND.replace("claims)", 'claims, [number("exact", 5)])')
    study, out = made(tmp_path / "study", text, source=source), tmp_path / "out"
    run_study(study, out)
    busy(out, 0.3)
    assert judge_study(study, out, run_study(study, out)).numbers[0].original == value


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"originals", originals', '"original", originals', "it wrote no originals.reproduced.json"),
        ('number("exact"', 'number("exakt"', "has an unpublished original 'exakt'"),
    ],
)
def test_results_of_originals_that_no_page_can_show_are_a_failure(
    tmp_path: Path, old: str, new: str, reason: str
) -> None:
    study, out = with_original(tmp_path / "study"), tmp_path / "out"
    script = study.folder / "original.py"
    script.write_text(script.read_text().replace(old, new))
    real = program(tmp_path / "kripke", "sends 5")
    failed = run_study(study, out, originals={"kripke": real})[1]
    assert failed.state == "failed"
    assert reason in failed.why


def test_kept_results_of_originals(tmp_path: Path) -> None:
    study, out = made(tmp_path / "study"), tmp_path / "out"
    kept = study.folder / "originals.csv"
    kept.write_text("name,value,program,version,date\nexact,691200,Kripke,1.2.7,2026-11-28\n")
    verdicts = judged(study, out)
    assert (verdicts.numbers[0].original, verdicts.originals) == (691200, ("Kripke 1.2.7 (2026-11-28)",))
    kept.write_text("name,value\nexact,691200\n")
    with pytest.raises(UsageError, match="not a table of"):
        judged(study, out)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("kripke", "--with takes NAME=PATH, not kripke"),
        ("lulesh=/bin/true", "no chosen study runs lulesh; known programs: kripke"),
        ("kripke=/bin/none", "not an executable file; give that of kripke with --with"),
        ("kripke=.", "not an executable file"),
    ],
)
def test_wrong_originals_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, reason: str
) -> None:
    made(tmp_path / "share" / "studies" / "first")
    with_original(tmp_path / "share" / "studies" / "one")
    monkeypatch.setattr(paths, "root", lambda: tmp_path / "share")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(command, ["study", "all", "--with", given])
    assert done.exit_code != 0
    assert reason in done.output + str(done.exception)
    assert not (tmp_path / "studies-here").exists()


def test_the_studies_publish_what_their_parts_reproduce() -> None:
    for study in studies().values():
        for group in study.published.numbers:
            assert group.where
            assert group.reason


def test_results_need_unique_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="'a' is given twice"):
        write_reproduced("part", originals=[Reproduced("a", 1, "counted")] * 2)
    assert not list(tmp_path.iterdir())
