"""Performance over commits: what changed, what did not, the page and the badge."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import haloscope
from haloscope import UsageError, explain
from support.command import Command
from support.pages import Look
from support.profiles import draft, path_rows

HOSTILE = "<b>1234567</b>"


def frame(times: dict[str, list[float]], communication: float = 0.25, **columns: Any) -> pl.DataFrame:
    """The history of runs of one program on 4 ranks, by commit."""
    rows = [
        {
            "program": "cg",
            "ranks": 4,
            "start": float(number),
            "duration": seconds,
            "rank_time": 4 * seconds,
            "mpi_time": 4 * seconds * communication,
            "metadata": json.dumps({"commit": commit}),
            **columns,
        }
        for number, (commit, seconds) in enumerate(
            (commit, seconds) for commit, runs in times.items() for seconds in runs
        )
    ]
    return pl.DataFrame(rows, schema=explain.HISTORY, orient="row")


def noisy(mean: float, runs: int, seed: int) -> list[float]:
    draws: list[float] = np.random.default_rng(seed).normal(mean, 0.02 * mean, runs).tolist()
    return draws


def test_a_slower_commit_is_named_once() -> None:
    times = {f"c{n}": noisy(1.0 if n < 3 else 1.2, 6, n) for n in range(6)}
    rows = explain.commits(frame(times))
    changed = rows.filter(pl.col("change").is_not_null())
    assert changed["commit"].to_list() == ["c3"]
    (row,) = changed.to_dicts()
    assert row["slower_low"] < 0.2 < row["slower_high"]
    assert re.match(
        r"time \d+\.\d % \[\d+\.\d, \d+\.\d\] longer; computing .* longer; MPI .* longer", row["change"]
    )
    faster = explain.commits(frame({"old": noisy(1.2, 6, 1), "new": noisy(1.0, 6, 2)}))
    assert faster["change"].to_list()[0] is None
    assert faster["change"].to_list()[1].startswith("time 1")
    assert "shorter" in faster["change"].to_list()[1]


@pytest.mark.slow
def test_equal_commits_are_rarely_called_changed() -> None:
    """The rate is that of series: 5 % at most of those of ten commits."""
    wrong = 0
    for seed in range(60):
        times = {f"c{n}": noisy(1.0, 4, 1000 * seed + n) for n in range(10)}
        wrong += explain.commits(frame(times))["change"].is_not_null().any()
    assert wrong <= 7  # of 60, more than which 5 % have once in 100 times


@pytest.mark.parametrize("runs", [1, 2])
def test_a_single_run_has_no_interval(runs: int) -> None:
    rows = explain.commits(frame({"a": [1.0] * runs, "b": [2.0]}))
    assert rows["slower"].to_list() == [None, 1.0]
    assert rows["slower_low"].to_list() == [None, None]
    assert rows["change"].to_list() == [None, None]


def test_efficiency_and_share_are_of_the_ranks_time() -> None:
    rows = explain.commits(frame({"a": [1.0, 3.0, 2.0]}, communication=0.4))
    (row,) = rows.to_dicts()
    assert (row["runs"], row["duration"], row["duration_low"], row["duration_high"]) == (3, 2.0, 1.0, 3.0)
    assert row["efficiency"] == pytest.approx(0.6)
    assert row["mpi_share"] == pytest.approx(0.4)


def test_programs_and_ranks_are_not_compared_with_each_other() -> None:
    both = pl.concat([frame({"a": [1.0, 1.0]}), frame({"b": [9.0, 9.1]}, ranks=8)])
    assert explain.commits(both)["slower"].to_list() == [None, None]


@pytest.mark.parametrize(
    "columns", [{"partial": True}, {"metadata": "{}"}, {"metadata": None}, {"rank_time": None}]
)
def test_runs_without_commit_or_end_are_left_out(columns: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="HALOSCOPE_META_COMMIT"):
        explain.commits(frame({"a": [1.0]}, **columns))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for number, commit in enumerate(["a1", "a1", "b2", "b2", HOSTILE]):
        seconds = 1.0 + 0.01 * number
        told = {
            "start": 1e9 + number,
            "duration": seconds,
            "ranks": 2,
            "metadata": {"commit": commit},
            "rollup": {"rank_time": 2 * seconds, "mpi_time": 0.2 * seconds},
        }
        draft({"version": "0.1.0", **told}, paths=path_rows()).write(tmp_path / f"{number}.halo")
    return tmp_path


def test_the_page_of_commits(command: Command, directory: Path, tmp_path: Path, look: Look) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        command("history", directory, "--by", "commit", "--format", "html").stdout, encoding="utf-8"
    )
    chosen: list[tuple[int, Literal["light", "dark"]]] = [(1400, "light"), (700, "dark")]
    for width, scheme in chosen:
        seen = look(page, width, scheme)
        assert seen.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert HOSTILE in seen.locator("#figures").inner_text()
        assert seen.locator("table tbody tr").count() == 3
        # The series has program and ranks in its title, and its changes as text.
        titles = ["commit", "start", "runs", "time", "efficiency", "MPI", "slower by"]
        assert seen.locator("table thead th").all_inner_texts() == titles
        assert seen.locator("table tbody tr").nth(1).locator("td").nth(2).inner_text() == "2"
        section = seen.locator("#series-0")
        assert "No significant change between commits." in section.inner_text()
        assert "1 commit with a single run" in section.inner_text()
        seen.wait_for_selector("#sections[data-waiting='0']")
        assert section.locator(".plot .scatterlayer").count() == 2


def test_the_badge_is_an_image(command: Command, directory: Path) -> None:
    image = command("history", directory, "--by", "commit", "--format", "svg").stdout
    tree = ElementTree.fromstring(image)
    texts = [element.text for element in tree.iter() if element.tag.endswith("}text")]
    assert texts == ["parallel efficiency", "90 %"]
    assert HOSTILE in (tree.get("aria-label") or "")


def test_tables_are_for_commits_and_pages_only_for_them(command: Command, directory: Path) -> None:
    told = json.loads(command("history", directory, "--by", "commit", "--json").stdout)
    assert told == explain.commits(haloscope.history(directory)).to_dicts()
    for form in ("html", "svg"):
        done = command("history", directory, "--format", form, status=2)
        assert f"--format {form} is for --by commit" in done.stderr
