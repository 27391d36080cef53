"""Many profiles read together, and the views of papers on scaling."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import haloscope
from haloscope import ProfileError, UsageError
from haloscope.explain import Ensemble, Profile, ensembles
from haloscope.explain.ensembles import Speeds
from support.pages import page_data
from support.profiles import Draft, draft, path_rows, process_rows
from support.sample import halo_profile

GRIDS = ((2, 1, 1), (2, 2, 1), (2, 2, 2), (3, 2, 1))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Runs on 2, 4, 8 and 6 ranks, the second and third on several hosts."""
    folder = tmp_path_factory.mktemp("runs")
    hosts = (64, 2, 4, 64)
    pairs = enumerate(zip(GRIDS, hosts, strict=True))
    return [halo_profile(g, ranks_a_host=h, seed=n).write(folder / f"run-{n}.halo") for n, (g, h) in pairs]


def alone(runs: Sequence[Path], name: str, exclusive: bool, region: str | None) -> pl.DataFrame:
    """Return the profiles' own tables, concatenated."""
    tables = []
    for path in runs:
        with Profile(path) as profile:
            table = profile.table(name, exclusive=exclusive, region=region)
            tables.append(table.select(pl.lit(str(path)).alias("profile"), pl.all()))
    return pl.concat(tables)


@pytest.mark.parametrize("name", ["regions", "sizes"])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("region", [None, "solve", "level 1", "solve/level 2/halo"])
def test_tables_made_at_once_are_those_of_each(
    runs: list[Path], name: str, exclusive: bool, region: str | None
) -> None:
    made = haloscope.open_all(runs).table(name, exclusive=exclusive, region=region)
    expected = alone(runs, name, exclusive, region)
    assert_frame_equal(made.select(expected.columns), expected)


def damaged(path: Path, output: Path) -> Path:
    content = bytearray(path.read_bytes())
    content[100] ^= 255
    output.write_bytes(content)
    return output


def test_unreadable_runs_are_left_out_and_named(runs: list[Path], tmp_path: Path) -> None:
    bad = damaged(runs[1], tmp_path / "bad.halo")
    no_profile = tmp_path / "text.halo"
    no_profile.write_text("no profile")
    ensemble = haloscope.open_all([bad, *runs, tmp_path / "none.halo", no_profile])
    table = ensemble.table("regions")
    assert table["profile"].unique(maintain_order=True).to_list() == [str(path) for path in runs]
    assert len(ensemble.skipped) == 3
    for name in ("bad.halo", "none.halo", "text.halo"):
        assert sum(name in line and "\n" not in line for line in ensemble.skipped) == 1
    assert ensemble.runs["profile"].to_list() == [str(path) for path in runs]
    with pytest.raises(ProfileError, match=r"bad\.halo"):
        haloscope.open_all([bad]).table("regions")


def test_damage_that_is_found_later_removes_a_run_from_all_tables(runs: list[Path], tmp_path: Path) -> None:
    """In one run the table of sizes is damaged, but not the regions."""
    written = halo_profile((2, 1, 1))
    written.tables["sizes"] = {**written.tables["sizes"], "path": [99] * len(written.tables["sizes"]["path"])}
    bad = written.write(tmp_path / "bad.halo")
    ensemble = haloscope.open_all([bad, runs[0]])
    assert ensemble.table("regions")["profile"].n_unique() == 2
    assert ensemble.table("sizes")["profile"].unique().to_list() == [str(runs[0])]
    assert ensemble.table("regions")["profile"].unique().to_list() == [str(runs[0])]
    assert "names a region that does not exist" in ensemble.skipped[0]


def test_metadata_are_columns(tmp_path: Path) -> None:
    for number, said in enumerate(({"nx": "8"}, {"nx": "16", "cluster": "orfeo"})):
        draft({"metadata": said}, paths=path_rows()).write(tmp_path / f"{number}.halo")
    told = haloscope.open_all(f"{tmp_path}/*.halo").runs
    assert told["nx"].to_list() == ["8", "16"]
    assert told["cluster"].to_list() == [None, "orfeo"]


def scaling(tmp_path: Path, **more: Any) -> Ensemble:
    """Two runs on each of 1, 2, 4 and 8 ranks, whose times and messages are known."""
    paths = path_rows("main", "main/halo")
    for ranks in (1, 2, 4, 8):
        for turn in (0, 1):
            rows = [
                {"path": path, "rank": rank, "instances": 1, "time": 8.0 / ranks - path + 2 + 0.5 * turn}
                | (
                    {"sends": 3, "bytes_sent": 300 * ranks, "p2p_time": 0.5, "coll_time": 0.25}
                    if path == 2
                    else {}
                )
                for path in range(3)
                for rank in range(ranks)
            ]
            sizes = [
                {
                    "path": 2,
                    "kind": "p2p",
                    "bytes": 100 * ranks,
                    "bytes_upper": 100 * ranks,
                    "messages": 3 * ranks,
                    "time_total": 1.0,
                }
            ]
            info = {"ranks": ranks, "metadata": {"zones": str(10 * ranks)}, **more}
            hosts = process_rows(*["host"] * ranks)
            made = draft(info, paths=paths, processes=hosts, ranks=rows, sizes=sizes)
            made.write(tmp_path / f"run-{ranks}-{turn}.halo")
    return haloscope.open_all(f"{tmp_path}/*.halo")


def test_quantities_against_ranks_and_against_metadata(tmp_path: Path) -> None:
    ensemble = scaling(tmp_path)
    frame = ensembles.over(ensemble, "time", ["<program>"]).frame
    assert frame["run_ranks"].to_list() == [1, 2, 4, 8]
    assert frame["runs"].to_list() == [2] * 4
    assert frame["mean"].to_list() == pytest.approx([10.25, 6.25, 4.25, 3.25])
    assert (frame["largest"] - frame["least"]).to_list() == pytest.approx([0.5] * 4)
    zones = ensembles.over(ensemble, "time", ["<program>"], against="zones").frame
    assert zones["zones"].to_list() == [10, 20, 40, 80]
    sent = ensembles.over(ensemble, "bytes", ["halo"]).frame
    assert sent["mean"].to_list() == [300, 1200, 4800, 19200]
    rate = ensembles.over(ensemble, "bandwidth", ["halo"]).frame
    assert rate["mean"][0] == pytest.approx((300 / 8.0 + 300 / 8.5) / 2)
    with pytest.raises(UsageError, match="unknown quantity 'speed'"):
        ensembles.over(ensemble, "speed")
    with pytest.raises(UsageError, match="no run has the column 'nx'"):
        ensembles.over(ensemble, against="nx")


def test_every_quantity_is_a_frame_and_a_figure(runs: list[Path]) -> None:
    ensemble = haloscope.open_all(runs)
    for quantity in ensembles.QUANTITIES:
        view = ensembles.over(ensemble, quantity, ["solve", "<program>"])
        lines = view.figure().data
        assert len(lines) == 2
        assert sum(len(line.x) for line in lines) == len(view.frame) == 8


def test_shares_of_time_sum_to_all_of_it(runs: list[Path]) -> None:
    ensemble = haloscope.open_all(runs)
    frame = ensembles.shares(ensemble, "solve").frame
    assert frame.select(pl.sum_horizontal("compute", "p2p", "collective", "other")).to_series().to_list() == (
        pytest.approx([1.0] * 4)
    )
    whole = ensemble.table("regions", region="solve").sort("run_ranks")
    assert frame["time"].to_list() == pytest.approx(whole["time_mean"].to_list())
    bars = ensembles.shares(ensemble, "solve").figure().data
    assert [sum(parts) for parts in zip(*(bar.y for bar in bars), strict=True)] == pytest.approx([100.0] * 4)


def test_a_name_at_several_places_asks_for_a_path(runs: list[Path]) -> None:
    with pytest.raises(UsageError, match="several regions: solve/level 0/halo, "):
        ensembles.shares(haloscope.open_all(runs), "halo")


def test_efficiency_of_the_same_work_and_of_work_that_grows(tmp_path: Path) -> None:
    frame = ensembles.efficiency(scaling(tmp_path)).frame
    assert frame["speedup"].to_list() == pytest.approx([1, 10.25 / 6.25, 10.25 / 4.25, 10.25 / 3.25])
    assert frame["strong"].to_list() == pytest.approx(
        [s / n for s, n in zip(frame["speedup"], (1, 2, 4, 8), strict=True)]
    )
    assert frame["weak"].equals(frame["speedup"].alias("weak"))


def test_table_four(runs: list[Path]) -> None:
    ensemble = haloscope.open_all(runs)
    frame = ensembles.totals(ensemble).frame
    whole = ensemble.table("regions", region="<program>").sort("run_ranks")
    for ours, theirs in (
        ("bytes", "bytes_sent_total"),
        ("sends", "sends_total"),
        ("largest_send", "largest_message"),
        ("mean_send", "mean_message"),
    ):
        assert frame[ours].to_list() == pytest.approx(whole[theirs].to_list())


CLASSES = ["below 100 B", "100 B to 1000 B", "1000 B to 10.0 kB", "10.0 kB and more"]


def test_size_classes_have_all_messages_once(runs: list[Path]) -> None:
    ensemble = haloscope.open_all(runs)
    frame = ensembles.size_classes(ensemble).frame
    sizes = ensemble.table("sizes", region="<program>").filter(kind="p2p")
    expected = sizes.group_by("run_ranks").agg(
        pl.col("messages").sum().cast(pl.Float64),
        bytes=(pl.col("messages") * pl.col("bytes")).sum().cast(pl.Float64),
        time=pl.col("time_total").sum(),
    )
    found = frame.group_by("run_ranks").agg(pl.col("messages", "bytes", "time").sum())
    assert_frame_equal(found.sort("run_ranks"), expected.sort("run_ranks"))
    assert set(frame["size"]) == set(CLASSES)
    with pytest.raises(UsageError, match="must be positive and ascending"):
        ensembles.size_classes(ensemble, edges=(100, 10))


def test_size_classes_are_listed_by_size(tmp_path: Path) -> None:
    """Also if the first run has large messages only."""
    few, many = halo_profile((2, 1, 1)), halo_profile((2, 2, 2))
    rows = few.tables["sizes"]
    kept = [at for at, size in enumerate(rows["bytes"]) if size >= 1000]
    few.tables["sizes"] = {name: [values[at] for at in kept] for name, values in rows.items()}
    runs = haloscope.open_all([few.write(tmp_path / "few.halo"), many.write(tmp_path / "many.halo")])
    drawn = ensembles.size_classes(runs).drawn
    assert drawn is not None
    names = [trace["name"] for trace in drawn.traces]
    assert names == [name for name in CLASSES if name in names]
    assert names[0] in CLASSES[:2]


def test_speeds_are_shown_with_those_of_the_machine(tmp_path: Path) -> None:
    machine = Speeds("a machine", lambda size: 1e-3 + size * 1e-6)
    frame = ensembles.size_classes(scaling(tmp_path), "halo", machine=machine).frame
    assert frame["size"].to_list() == ["100 B to 1000 B"] * 4
    assert frame["messages"].to_list() == [3, 6, 12, 24]
    assert frame["speed"].null_count() == 4  # these runs have no trace
    assert frame["machine_speed"].to_list() == pytest.approx(
        [100 * n / (1e-3 + 1e-4 * n) for n in (1, 2, 4, 8)]
    )


def test_maps_of_time_sum_to_the_time_in_messages(runs: list[Path]) -> None:
    view = ensembles.time_maps(haloscope.open_all(runs), "solve")
    for path in runs:
        with Profile(path) as profile:
            expected = profile.table("partners", region="solve")["time"].sum()
        assert view.frame.filter(profile=str(path))["time"].sum() == pytest.approx(expected)
    assert [len(one.z) for one in view.figure().data] == [2, 4, 6, 8]


def test_families_are_regions_that_differ_by_a_number(runs: list[Path]) -> None:
    ensemble = haloscope.open_all(runs)
    known = ensembles.families(ensemble)
    assert known["family"].unique().sort().to_list() == ["solve/level #", "solve/level #/halo"]
    frame = ensembles.levels(ensemble, "solve/level #", "bytes").frame
    assert frame["level"].unique().sort().to_list() == [0, 1, 2]
    one = frame.filter(level=2)["mean"].to_list()
    assert one == ensembles.over(ensemble, "bytes", ["level 2"]).frame["mean"].to_list()
    with pytest.raises(
        UsageError, match="unknown family 'level'; families: solve/level #, solve/level #/halo"
    ):
        ensembles.levels(ensemble, "level")


def test_a_program_has_its_colour_and_name_also_alone(tmp_path: Path) -> None:
    """One of two programs sends nothing, so a figure of messages has only one line."""
    for program, sends in (("a", 0), ("b", 3)):
        for ranks in (1, 2):
            rows = [
                {"path": 0, "rank": rank, "instances": 1, "time": 1.0, "sends": sends, "bytes_sent": sends}
                for rank in range(ranks)
            ]
            hosts = process_rows(*("a",) * ranks)
            told = {"program": program, "ranks": ranks}
            draft(told, paths=path_rows(), processes=hosts, ranks=rows).write(
                tmp_path / f"{program}{ranks}.halo"
            )
    runs = haloscope.open_all(f"{tmp_path}/*.halo")
    both, one = (ensembles.over(runs, quantity, ["<program>"]).drawn for quantity in ("sends", "mean_send"))
    assert both is not None
    assert one is not None
    assert [trace["name"] for trace in both.traces] == ["a", "b"]
    assert [trace["name"] for trace in one.traces] == ["b"]
    assert one.traces[0]["line"] == both.traces[1]["line"]
    assert one.layout["showlegend"]


def test_programs_and_systems_are_lines_of_their_own(tmp_path: Path) -> None:
    for cluster in ("a", "b"):
        (tmp_path / cluster).mkdir()
        scaling(tmp_path / cluster, program=f"app-{cluster}", metadata={"cluster": cluster})
    ensemble = haloscope.open_all(f"{tmp_path}/*/*.halo")
    for by, names in (("program", ["app-a", "app-b"]), ("cluster", ["a", "b"])):
        figure = ensembles.over(ensemble, "time", ["<program>"], by=by).figure()
        assert [line.name for line in figure.data] == names


def test_runs_with_missing_ranks_are_in_no_view(tmp_path: Path) -> None:
    ensemble = scaling(tmp_path)
    frame = ensembles.over(ensemble, "time", ["<program>"]).frame
    lacking = draft(
        {"ranks": 8, "missing_ranks": [3], "partial": True},
        paths=path_rows("main"),
        processes=process_rows("a"),
    )
    lacking.write(tmp_path / "run-9.halo")
    again = haloscope.open_all(f"{tmp_path}/*.halo")
    assert_frame_equal(ensembles.over(again, "time", ["<program>"]).frame, frame)
    assert again.runs["missing_ranks"].sum() == 1


@pytest.mark.parametrize("key", ["x", "runs", "time", "series", "path", "^.*$", "a/b\n"])
def test_metadata_may_have_any_name(tmp_path: Path, key: str) -> None:
    for number in (1, 2):
        info = {"metadata": {key: str(number)}}
        rows = [{"path": 0, "rank": 0, "instances": 1, "time": float(number), "sends": 1, "bytes_sent": 8}]
        draft(info, paths=path_rows(), ranks=rows, processes=process_rows("a")).write(
            tmp_path / f"{number}.halo"
        )
    ensemble = haloscope.open_all(f"{tmp_path}/*.halo")
    for view in (
        ensembles.over(ensemble, against=key),
        ensembles.shares(ensemble, against=key),
        ensembles.totals(ensemble, against=key, by=key),
    ):
        place = key if key not in ("x", "runs", "time", "series", "path") else None
        names = [place] if place else ["x", key]
        assert [1, 2] in [view.frame[name].to_list() for name in names if name in view.frame.columns]
    haloscope.report(ensemble.paths, tmp_path / "page.html", against=key, by=key)


def test_each_run_by_itself(tmp_path: Path) -> None:
    ensemble = scaling(tmp_path)
    frame = ensembles.shares(ensemble, "halo", against="profile").frame
    assert frame["profile"].to_list() == sorted(path.name for path in ensemble.paths)


def test_runs_of_several_cases_are_not_silently_repetitions(tmp_path: Path) -> None:
    for ranks in (1, 2):
        for size in (8, 16):
            rows = [{"path": 0, "rank": rank, "instances": 1, "time": 1.0} for rank in range(ranks)]
            info = {"ranks": ranks, "metadata": {"nx": str(size)}}
            hosts = process_rows(*"a" * ranks)
            made = draft(info, paths=path_rows(), processes=hosts, ranks=rows)
            made.write(tmp_path / f"{ranks}-{size}.halo")
    told = "treated as repetitions: runs of equal ranks that differ in nx; see --by"
    assert told in notes_of(tmp_path)
    assert told not in notes_of(tmp_path, by="nx")


@pytest.mark.parametrize(("cpus", "is_told"), [("0-3", False), ("0-1", True), ("", False)])
def test_ranks_that_shared_cpus_are_a_remark(tmp_path: Path, cpus: str, is_told: bool) -> None:
    for grid in ((2, 1, 1), (2, 2, 1)):
        made = halo_profile(grid)
        ranks = grid[0] * grid[1]
        made.tables["processes"] = {**made.tables["processes"], "cpus": [cpus] * ranks}
        made.write(tmp_path / f"{ranks}.halo")
    told = (
        "4 ranks shared 2 CPUs: counts are exact, but times on 4 ranks and more do not show how the program"
        " scales"
    )
    assert notes_of(tmp_path) == [told] * is_told


def notes_of(folder: Path, by: str = "program") -> list[str]:
    """Return what the page about the runs in a folder remarks."""
    haloscope.report(sorted(folder.glob("*.halo")), folder / "page.html", by=by)
    notes: list[str] = page_data(folder / "page.html")["notes"]
    return notes


def test_a_page_without_figures_states_why(tmp_path: Path) -> None:
    silent: Draft = draft({"ranks": 1}, paths=path_rows(), processes=process_rows("a"))
    silent.write(tmp_path / "a.halo")
    ensemble = haloscope.open_all(tmp_path / "a.halo")
    assert ensembles.size_classes(ensemble).frame.is_empty()
    assert ensembles.dominance(ensemble).frame.is_empty()
    with pytest.raises(UsageError, match="nothing to draw"):
        ensembles.time_maps(ensemble).figure()


@pytest.mark.parametrize("number", [2, 5, 7, 8, 29])
def test_each_level_has_a_colour_of_its_own(tmp_path: Path, number: int) -> None:
    names = ["solve", *(f"solve/level {level}" for level in range(number))]
    rows = [{"path": path, "rank": 0, "instances": 1, "time": 1.0} for path in range(len(names) + 1)]
    for turn in (0, 1):
        made = draft({"ranks": 1}, paths=path_rows(*names), processes=process_rows("a"), ranks=rows)
        made.write(tmp_path / f"{turn}.halo")
    view = ensembles.levels(haloscope.open_all(f"{tmp_path}/*.halo"), "solve/level #")
    colours = [line.line.color for line in view.figure().data]
    assert len(colours) == len(set(colours)) == number
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours)
    if number == 7:  # from cold to warm
        assert colours == ["#31408f", "#2e78b7", "#2fa4b5", "#7fb069", "#e69f00", "#c23b22", "#7a1f5c"]


def test_a_level_of_any_panel_is_in_the_legend_once(tmp_path: Path) -> None:
    for cluster, number in (("few", 2), ("many", 4)):
        names = ["solve", *(f"solve/level {level}" for level in range(number))]
        rows = [{"path": path, "rank": 0, "instances": 1, "time": 1.0} for path in range(len(names) + 1)]
        told = {"ranks": 1, "metadata": {"cluster": cluster}}
        made = draft(told, paths=path_rows(*names), processes=process_rows("a"), ranks=rows)
        made.write(tmp_path / f"{cluster}.halo")
    runs = haloscope.open_all(f"{tmp_path}/*.halo")
    drawn = ensembles.levels(runs, "solve/level #", by="cluster").figure()
    assert len(drawn.data) == 6
    assert [line.name for line in drawn.data if line.showlegend] == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    "regions",
    [
        (
            "main",
            "main/solve",
            "main/solve/sweep_comm",
            "main/solve/sweep_comm/sweep_zones",
            "main/solve/balance",
        ),
        ("main", "main/timestep", "main/refine", "main/checksum"),
    ],
    ids=["sweep", "amr"],
)
def test_programs_without_numbered_regions_have_no_levels(tmp_path: Path, regions: tuple[str, ...]) -> None:
    """The regions of the bundled programs `sweep` and `amr`, as they mark them."""
    for ranks in (1, 2):
        rows = [
            {"path": path, "rank": rank, "instances": 1, "time": 1.0}
            for path in range(len(regions) + 1)
            for rank in range(ranks)
        ]
        written = draft(
            {"ranks": ranks}, paths=path_rows(*regions), processes=process_rows(*("a",) * ranks), ranks=rows
        )
        written.write(tmp_path / f"{ranks}.halo")
    ensemble = haloscope.open_all(f"{tmp_path}/*.halo")
    assert ensembles.families(ensemble).is_empty()
    with pytest.raises(UsageError, match="families: none"):
        ensembles.levels(ensemble, "main/solve #")
    haloscope.report([tmp_path / "1.halo", tmp_path / "2.halo"], tmp_path / "page.html")
    sections = page_data(tmp_path / "page.html")["sections"]
    assert sections
    assert not any(section["title"].startswith("Levels") for section in sections)
