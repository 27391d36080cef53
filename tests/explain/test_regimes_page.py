"""`haloscope regimes` in process, and its page in a real browser."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray
from playwright.sync_api import Page

from haloscope import TimingsError, UsageError, explain
from haloscope.cli import haloscope
from haloscope.markov import MachineModel, RegimeModel, RegimeOptions, Timings, analyse
from haloscope.markov import regimes as find
from haloscope.markov.figures import heat_maps
from support.pages import Look, page_data, wait_until
from support.profiles import draft, path_rows, process_rows
from support.timings import make_timings

HOSTILE = "<img src=x onerror=alert(1)></script><b>é %{x} {{data}}"
RANKS, INSTANCES = 24, 400


def run(*arguments: str | Path) -> str:
    """Run the command; errors are raised."""
    done = CliRunner().invoke(haloscope, ["regimes", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(scope="module")
def methods(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The paper's three methods, the baseline first."""
    directory = tmp_path_factory.mktemp("methods")
    names = ("fixed", "dynamic", "test")
    return [make_timings(name, RANKS, INSTANCES).save(directory / f"{name}.npz") for name in names]


@pytest.fixture
def show(look: Look) -> Callable[[Path], Page]:
    """`show(page)` opens a page and waits until all figures are drawn."""

    def opened(path: Path, place: str = "sections") -> Page:
        page = look(path)
        page.locator(f"#{place}[data-waiting='0']").wait_for(state="attached")
        return page

    return opened


def marks(page: Page, section: str) -> list[int]:
    """Return the number of drawn marks per figure of a section."""
    drawn = ".points path, .js-line, .heatmaplayer image, .boxes path, .js-fill, .bars path"
    return [plot.locator(drawn).count() for plot in page.locator(f"#{section} .plot").all()]


def is_drawn(page: Page, section: str) -> bool:
    """Return whether a section has figures, and each of them has marks."""
    counts = marks(page, section)
    return bool(counts) and all(count > 0 for count in counts)


def data(page: Page, section: str, plot: int, what: str) -> Any:
    """Return the value of a JavaScript expression for each trace `t` of a figure."""
    plots = f"document.querySelectorAll('#{section} .plot')"
    return page.evaluate(f"Array.from({plots})[{plot}]._fullData.map(t => {what})")


def test_the_page_of_one_run(methods: list[Path], tmp_path: Path, show: Callable[[Path], Page]) -> None:
    page_path = tmp_path / "a page.html"
    found = find(methods[0], RegimeOptions(states="elbow"), output=page_path, values=("t_in", "t_out"))
    assert "chosen by the elbow" in "".join(found.describe())
    page = show(page_path)
    sections = [one.get_attribute("id") for one in page.locator("main section").all()]
    assert sections == [
        "answer",
        "tables",
        "values",
        "heat",
        "median-rank",
        "slowest",
        *(["episodes"] if "episodes" in sections else []),
        "boxes",
        "sums",
        "medians",
        "cdfs",
        "regime-cdfs",
        "goodness",
        "criteria",
        "fits",
    ]
    for section in map(str, sections):
        if section not in ("answer", "tables", "episodes", "fits"):  # these are text and tables
            assert is_drawn(page, section), section
    for plot in page.locator(".plot").all():
        titles = plot.locator(".infolayer text[class$='title']").all()
        axes = {str(title.get_attribute("class"))[0] for title in titles}
        assert axes >= {"x", "y"}
    for caption in page.locator("figcaption").all_text_contents():
        assert len(caption) > 20
    for width in (1400, 420):
        page.set_viewport_size({"width": width, "height": 900})
        wait_until(page, "document.documentElement.scrollWidth <= innerWidth")


def test_figures_show_the_numbers(methods: list[Path], tmp_path: Path, show: Callable[[Path], Page]) -> None:
    page_path = tmp_path / "regimes.html"
    told = run(*methods, "--format", "json", "-o", page_path)
    rows = json.loads(told)
    assert [(row["file"], row["regime"]) for row in rows] == [
        (path.stem, regime) for path in methods for regime in (1, 2, 3)
    ]
    for path in methods:
        mine = [row for row in rows if row["file"] == path.stem]
        assert sum(row["instances"] for row in mine) == RANKS * INSTANCES
        durations = np.load(path)["duration"]
        mean = sum(row["mean"] * row["share"] for row in mine)
        assert mean == pytest.approx(durations.mean(), rel=1e-9)
        assert all(row["mean_low"] < row["mean"] < row["mean_high"] for row in mine)
    page = show(page_path)
    cell = page.locator("#tables table").first.locator("tbody tr").first.inner_text()
    assert cell.split()[:2] == ["fixed", "1"]
    # S_K ends with the sum of all maxima.
    sums = data(page, "sums", 0, "t.y[t.y.length - 1]")
    longest = [float(np.load(path)["duration"].max(axis=0).sum()) for path in methods]
    assert [sums[0], sums[1], sums[3]] == pytest.approx(longest, rel=1e-5)
    assert sums[2] == pytest.approx(100 * (longest[1] / longest[0] - 1), abs=0.01)
    # The heat map has all times, a cell each.
    times = data(page, "heat", 0, "Array.from(t.customdata, row => Array.from(row))")[0]
    np.testing.assert_allclose(np.array(times), np.load(methods[0])["duration"], rtol=1e-5)
    assert "Paper" not in page.locator("#sections").inner_text()
    assert page.locator("#comparison .told").count() >= 4


def test_names_are_text(tmp_path: Path, show: Callable[[Path], Page]) -> None:
    made = make_timings("fixed", 6, 200)
    paths = []
    for name in ("<img src=x onerror=alert(1)>", "<b>é %{x} {{data}}"):
        path = tmp_path / f"{name.replace('/', '')}.npz"
        names = {"t<b>in": made.t_in, "t_out": made.durations - made.t_in}
        np.savez(path, duration=made.durations, host=[HOSTILE] * 6, **names)  # type: ignore[arg-type]
        paths.append(path)
    page_path = tmp_path / "page.html"
    find(paths, region=HOSTILE, output=page_path, values=("t<b>in", "t_out"))
    page = show(page_path)
    assert page.locator("body img, main b").count() == 0
    assert "<img src=x onerror=alert(1)>" in page.locator("h1").inner_text()
    assert HOSTILE in page.locator("#command").inner_text()
    assert "t<b>in, ms" in page.locator("#values .xtitle").first.text_content()  # type: ignore[operator]


def test_a_single_series_and_a_reduced_one(
    methods: list[Path], tmp_path: Path, show: Callable[[Path], Page]
) -> None:
    (tmp_path / "one.csv").write_text(
        "duration\n" + "\n".join(map(str, np.load(methods[0])["duration"][0].tolist()))
    )
    for name, options in (("one", [tmp_path / "one.csv"]), ("max", [methods[0], "--reduce", "max"])):
        page_path = tmp_path / f"{name}.html"
        run(*options, "--states", "2", "-o", page_path)
        page = show(page_path)
        assert page.locator("#heat, #median-rank, #cdfs").count() == 0
        assert is_drawn(page, "slowest")
        assert is_drawn(page, "boxes")


def numbers(packed: dict[str, str]) -> NDArray[np.float64]:
    """Return the array that a figure has."""
    raw = np.frombuffer(base64.b64decode(packed["bdata"]), packed["dtype"])
    shape = [int(size) for size in str(packed["shape"]).split(",")]
    return raw.reshape(shape).astype(np.float64)


def test_large_series_are_binned_to_cells() -> None:
    random = np.random.default_rng(0)
    durations = random.lognormal(size=(100, 1000))
    durations[:30, 600:] = np.nan
    found = analyse(Timings.from_matrix(durations), RegimeOptions(states=2, starts=1))
    section = heat_maps([found.view], most_rows=32, most_columns=100)
    assert section is not None
    times, regimes = section.figures
    assert "Each cell is 4 neighbouring ranks × 10 instances" in times.caption
    (trace,) = times.traces
    assert [trace[name] for name in ("dx", "dy", "x0", "y0")] == [10, 4, 4.5, 1.5]
    mean, state = numbers(trace["customdata"]), numbers(regimes.traces[0]["z"])
    assert mean.shape == state.shape == (25, 100)
    assert mean[3, 5] == pytest.approx(durations[12:16, 50:60].mean())
    assert np.isnan(mean[0, 60:]).all()
    assert np.isnan(state[0, 60:]).all()
    assert mean[7, 80] == pytest.approx(durations[30:32, 800:810].mean())
    counts = np.bincount(found.view.whole.states[12:16, 50:60].ravel(), minlength=2)
    assert counts[int(state[3, 5])] == counts.max()


def test_the_default_page_and_its_place(
    methods: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = run(methods[0])
    assert told.splitlines()[-1] == "page: fixed-regimes.html"
    run(methods[0], "--format", "csv")
    assert [path.name for path in tmp_path.iterdir()] == ["fixed-regimes.html"]


def test_csv_is_the_table(methods: list[Path]) -> None:
    told = run(methods[0], "--format", "csv", "--seed", "3")
    assert told == run(methods[0], "--format", "csv", "--seed", "3")
    frame = pl.read_csv(told.encode())
    columns = (
        "file region regime mean std median share instances runs run_length effective mean_low mean_high"
    )
    assert frame.columns == columns.split()
    assert frame["regime"].to_list() == [1, 2, 3]


def test_a_model_is_saved(methods: list[Path], tmp_path: Path) -> None:
    told = run(methods[0], "--emission", "gaussian", "--format", "json", "--model", tmp_path / "model.json")
    means = [row["mean"] for row in json.loads(told)]
    model = RegimeModel.load(tmp_path / "model.json")
    assert model.means_ == pytest.approx(means, rel=0.1)
    with pytest.raises(UsageError, match="one model can be saved, and there are 3 files"):
        run(*methods, "--model", tmp_path / "other.json")


def test_the_whole_machine(tmp_path: Path, show: Callable[[Path], Page]) -> None:
    """All ranks are slow for 10 of each 50 instances, and single ranks at other times."""
    rng = np.random.default_rng(0)
    x = rng.normal(1e-3, 2e-5, (12, 500))
    slow = np.arange(500) % 50 >= 40
    alone = np.zeros_like(x, dtype=bool)
    for rank, first in zip(np.repeat(np.arange(12), 4), rng.integers(0, 490, 48), strict=True):
        alone[rank, first : first + rng.integers(2, 10)] = True
    x[slow | alone] *= 1.5
    np.save(tmp_path / "x.npy", x)
    page, model = tmp_path / "page.html", tmp_path / "model.json"
    options = RegimeOptions(states=2, machine_states=2)
    told = find(tmp_path / "x.npy", options, output=page, model=model).describe()
    assert any(
        line.startswith("machine: in state 2 20 % of the instances, 10 stretches of 10 on average")
        for line in told
    )
    assert MachineModel.load(model).n_machine_states == 2
    section = show(page).locator("#machine")
    rows = section.locator("tbody tr").all_inner_texts()
    assert [row.split("\t")[2:5] for row in rows] == [["80.0 %", "10", "40.0"], ["20.0 %", "10", "10.0"]]
    assert section.locator(".heatmaplayer image").count() == 1
    assert section.locator(".scatterlayer .js-line").count() == 1


def test_a_whole_machine_has_several_ranks(methods: list[Path]) -> None:
    with pytest.raises(UsageError, match="machine_states needs"):
        find(methods[0], RegimeOptions(reduce="max", machine_states=2))


@pytest.mark.long
@pytest.mark.parametrize("emission", ["gamma", "student"])
def test_every_family_has_a_page(methods: list[Path], tmp_path: Path, emission: str) -> None:
    told = run(methods[0], "--emission", emission, "-o", tmp_path / "page.html")
    assert f"3 {emission} regimes" in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--states", "none"], "neither auto nor"),
        (["--states", "0"], "neither auto nor"),
        (["--emission", "poisson"], "poisson"),
        (["--seed", "-1"], "seed"),
    ],
)
def test_wrong_usage(methods: list[Path], arguments: list[str], words: str) -> None:
    done = CliRunner().invoke(haloscope, ["regimes", str(methods[0]), *arguments])
    assert done.exit_code == 2
    assert words in done.output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"starts": 0}, "starts"),
        ({"ranks_fitted": 0}, "ranks_fitted"),
        ({"seed": -1}, "seed"),
        ({"machine_states": 9}, "machine_states"),
        ({"machine_states": 1}, "machine_states"),
    ],
)
def test_options_out_of_range(options: dict[str, int], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        RegimeOptions(**options)  # type: ignore[arg-type]


def test_the_command_has_the_defaults_of_the_function() -> None:
    command = haloscope.get_command(click.Context(haloscope), "regimes")
    assert command is not None
    known = {option.name: option.default for option in command.params}
    options = RegimeOptions()
    assert (known["states"], known["emission"], known["seed"]) == (
        str(options.states),
        options.emission,
        options.seed,
    )
    assert known["reduce"] == str(options.reduce).lower()


def test_a_criterion_chooses_the_number(methods: list[Path]) -> None:
    found = find(methods[0], RegimeOptions(states="bic", starts=1))
    assert any("chosen by BIC" in line for line in found.describe())


def test_methods_need_runs(methods: list[Path]) -> None:
    with pytest.raises(UsageError, match="one side of --"):
        run(methods[0], "--")
    with pytest.raises(UsageError, match="a method has no runs"):
        find([[methods[0]], []])
    with pytest.raises(UsageError, match="methods of 2, 1 runs cannot be compared"):
        run(methods[0], methods[1], "--", methods[2])


def test_missing_values(methods: list[Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no values t_middle; there are: t_in, t_out"):
        find(methods[0], output=tmp_path / "page.html", values=("t_in", "t_middle"))
    with pytest.raises(UsageError, match="is named twice"):
        run(methods[0], methods[0])


@pytest.mark.parametrize("count", [1, 2])
def test_too_few_times_are_an_error(tmp_path: Path, count: int) -> None:
    np.save(tmp_path / "few.npy", np.linspace(1, 2, count))
    with pytest.raises(TimingsError, match=f"few.npy: {count} instances are too few"):
        run(tmp_path / "few.npy", "-o", tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_ranks_that_died_have_a_page(tmp_path: Path, show: Callable[[Path], Page]) -> None:
    durations = make_timings("fixed", 8, 300).durations
    durations[2, 200:], durations[5, 1:] = np.nan, np.nan
    np.save(tmp_path / "died.npy", durations)
    told = run(tmp_path / "died.npy", "-o", tmp_path / "page.html")
    assert "note: ended before the others: ranks 2, 5" in told
    page = show(tmp_path / "page.html")
    for section in ("heat", "slowest", "boxes", "cdfs", "goodness"):
        assert is_drawn(page, section), section


@pytest.mark.parametrize("emission", ["gaussian", "auto"])
def test_doubts_are_one_warning(methods: list[Path], tmp_path: Path, emission: str) -> None:
    options = RegimeOptions(starts=1, emission=emission)
    found = find(methods[0], options, output=tmp_path / "page.html")
    told = [line for line in found.describe() if line.startswith(("warning:", "note:"))]
    assert len(told) == 1
    assert told == page_data(tmp_path / "page.html")["notes"]
    assert ("--emission auto may fit better" in told[0]) == (emission == "gaussian")
    (fit,) = (one for one in page_data(tmp_path / "page.html")["sections"] if one["name"] == "goodness")
    assert fit["text"][0] == told[0].removeprefix("warning: ").partition("; ")[0]


def test_sound_regimes_have_no_warning(tmp_path: Path) -> None:
    np.save(tmp_path / "calm.npy", np.random.default_rng(2).normal(1e-3, 1e-5, (8, 400)))
    found = find(tmp_path / "calm.npy", RegimeOptions(states=1, starts=1), output=tmp_path / "page.html")
    assert not any(line.startswith("warning:") for line in found.describe())
    assert page_data(tmp_path / "page.html")["notes"] == []


def test_few_times_have_a_page(tmp_path: Path) -> None:
    np.save(tmp_path / "few.npy", np.linspace(1, 2, 6))
    assert run(tmp_path / "few.npy", "-o", tmp_path / "page.html").count("warning: ") == 1


@pytest.mark.parametrize("ranks", [1, 3])
def test_constant_times_have_a_page(tmp_path: Path, ranks: int) -> None:
    np.save(tmp_path / "same.npy", np.full((ranks, 50), 1e-3))
    told = run(tmp_path / "same.npy", "-o", tmp_path / "page.html")
    assert "warning" in told


def test_the_report_shows_regimes(tmp_path: Path, show: Callable[..., Page]) -> None:
    made = make_timings("fixed", 4, 300)
    series = [
        {"path": 1, "rank": rank, "instance": k, "start": 0.1 * k, "duration": float(value)}
        for rank, row in enumerate(made.durations)
        for k, value in enumerate(row)
    ]
    hosts = process_rows(*"aabb")
    path = draft({"ranks": 4}, paths=path_rows("halo"), processes=hosts, series=series).write(
        tmp_path / "run.halo"
    )
    bare = draft({"ranks": 4}, paths=path_rows("halo"), processes=hosts).write(tmp_path / "no.halo")
    explain.report(path, tmp_path / "report.html")
    page = show(tmp_path / "report.html", "regimes")
    assert page.locator("#regimes-0 tbody tr").count() == 3
    assert is_drawn(page, "regimes-0") or is_drawn(page, "regimes-0-heat")
    assert page.locator("#links a", has_text="Noise").get_attribute("href") == "#regimes"
    # The figures of a paper are for the page of `regimes`.
    assert "Paper:" not in page.locator("#regimes").inner_text()
    explain.report(bare, tmp_path / "bare.html")
    assert page_data(tmp_path / "bare.html")["regimes"] == []
