"""`export`: formats, places of files, and no names in anonymous exports."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import haloscope
from haloscope import OutputError, ProfileError, UsageError
from haloscope.base.files import write_directory
from haloscope.base.schema import STORED
from haloscope.cli import haloscope as command
from haloscope.explain.export import EXPORTS, Aliases, AnonymousProfile, TracedProfile
from support.otf2_tools import need_otf2
from support.profiles import draft, path_rows, process_rows
from support.traces import Script

HARMLESS = set("call operation kind module stack protocol cpus numa_nodes sockets".split())
INFO = {
    "program": "hidden-program",
    "command": "mpiexec ./hidden-program --input hidden-text",
    "mpi_library": "Open MPI v4.1.4, package: Open MPI hidden-user@hidden-host Distribution",
    "ended_in": "hidden-text",
    "metadata": {"hidden-key": "hidden-text"},
    "environment": {"USER": "hidden-user"},
    "unheard_of": "hidden-text",
    "heard": ["hidden-text"],
}


def secret_profile(path: Path) -> Path:
    """A profile whose every name has `hidden` in it."""
    values = [{"path": 1, "name": "hidden-value", "value": 1.0}]
    called = {"path": 2, "calls": 3, "call": "MPI_Isend", "time_total": 1.0}
    return draft(
        INFO,
        paths=path_rows("hidden-region", "hidden-region/hidden-inner"),
        processes=process_rows("hidden-host", "hidden-host-2"),
        ranks=[
            {"path": at, "rank": rank, "instances": 1, "time": 1.0} for at in range(3) for rank in range(2)
        ],
        calls=[called],
        communicators=[{"name": "hidden-comm", "size": 2, "ranks": 2}],
        values=values,
    ).write(path)


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown format; choose from"):
        haloscope.export(tmp_path / "a.halo", "punch-cards")
    with pytest.raises(UsageError, match="takes one run"):
        haloscope.export([tmp_path / "a.halo", tmp_path / "b.halo"], "cali")
    with pytest.raises(UsageError, match="no profile"):
        haloscope.export([], "cali")
    with pytest.raises(ProfileError, match=r"a\.halo"):
        haloscope.export(tmp_path / "a.halo", "cali")


def test_the_default_name_is_the_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    profile = secret_profile(tmp_path / "runs" / "a.b.halo")
    assert haloscope.export(profile, "cali") == Path("a.b.cali")
    assert haloscope.export(profile, "cali", anonymous=True) == Path("profile-1.cali")
    done = CliRunner().invoke(command, ["export", str(profile), "--to", "cali", "-o", "c.cali"])
    assert (done.exit_code, done.output) == (0, "haloscope: c.cali is written\n")
    assert (tmp_path / "c.cali").read_bytes() == (tmp_path / "a.b.cali").read_bytes()


def test_every_text_of_a_profile_is_an_alias_unless_it_is_known_to_be_harmless(tmp_path: Path) -> None:
    with haloscope.open(secret_profile(tmp_path / "a.halo")) as profile:
        hidden = AnonymousProfile(profile, Aliases())
        for table in ("regions", "ranks", "info", "calls", "communicators"):
            assert "hidden" in str(profile.table(table).rows())
            assert "hidden" not in str(hidden.table(table).rows())
        assert "hidden" not in f"{hidden.path} {dict(hidden.info)}"
        assert hidden.info["mpi_library"] == "Open MPI v4.1.4"
        numbers = pl.selectors.numeric()
        assert hidden.table("regions").select(numbers).equals(profile.table("regions").select(numbers))


def secret_trace() -> TracedProfile:
    """A trace whose every name has `hidden` in it."""
    script = Script(2, hosts=["hidden-host", "hidden-host-2"])
    script.region(0, 0, 50, script.path("hidden-region"))
    part = script.communicator([1, 0], "hidden-comm")
    script.send(script.call(0, "MPI_Send", 10, 20), 1, 8, communicator=part)
    script.receive(script.call(1, "MPI_Recv", 10, 30), 0, 8, communicator=part)
    return TracedProfile(script.trace(), INFO)


def texts_of(place: Path) -> str:
    """Return all texts below a path, including the names of files."""
    found = []
    for path in [place, *place.rglob("*")]:
        found.append(path.name)
        if path.suffix == ".parquet":
            found.append(str(pl.read_parquet(path, hive_partitioning=False).to_dict(as_series=False)))
        elif path.is_file():
            found.append(path.read_bytes().decode("latin-1"))
    return "\n".join(found)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "otf2")) for name in EXPORTS]
)
def test_no_name_is_left_in_any_format(name: str, tmp_path: Path) -> None:
    form = EXPORTS[name]
    if name == "otf2":
        need_otf2()
    profile = secret_profile(tmp_path / "hidden-run.halo")
    for anonymous in (False, True):
        place = tmp_path / str(anonymous)
        if form.about == "trace":
            traced = secret_trace()
            form.load()(traced.anonymous(Aliases()) if anonymous else traced, place)
        else:
            haloscope.export(profile, name, place, anonymous=anonymous)
        # GOAL has no names at all.
        assert ("hidden" in texts_of(place)) == (not anonymous and name != "goal")


def test_aliases_are_consistent_and_do_not_collide() -> None:
    aliases = Aliases()
    texts = ["a", "b", "host 1", "<program>", "", None, "a"]
    found = aliases.column("host", pl.Series("host", texts)).to_list()
    assert found == ["host 1", "host 2", "host 3", "<program>", "", None, "host 1"]
    assert aliases.of("host", "b") == "host 2"
    assert aliases.of("region", "b") == "region 1"


def test_new_columns_of_text_are_hidden_unless_listed() -> None:
    """Every column of text that the schema has is an alias, or is listed as harmless."""
    columns = [
        (table, column.name) for table, found in STORED.items() for column in found if column.type == "string"
    ]
    kept = set()
    for table, column in columns:
        frame = Aliases().frame(table, pl.DataFrame({column: ["hidden"]}))
        kept |= {(table, column)} if frame[column][0] == "hidden" else set()
    assert {column for _, column in kept} == HARMLESS


@pytest.mark.parametrize("what", ["new", "empty", "ours"])
def test_a_directory_is_written_whole(tmp_path: Path, what: str) -> None:
    target = tmp_path / "out"
    if what != "new":
        target.mkdir()
    if what == "ours":
        (target / "sign").touch()
        (target / "older").touch()
    with write_directory(target, "sign", "thing") as directory:
        (directory / "sign").write_text("new")
        assert not (target / "sign").exists() or (target / "sign").read_text() == ""
    assert [path.name for path in target.iterdir()] == ["sign"]
    assert list(tmp_path.iterdir()) == [target]


def test_a_foreign_directory_is_never_replaced(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "thesis.tex").touch()
    with pytest.raises(OutputError, match="is no thing"), write_directory(target, "sign", "thing"):
        pass
    with pytest.raises(OutputError), write_directory(target / "thesis.tex", "sign", "thing"):
        pass
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "thesis.tex"]


def test_a_failed_export_leaves_the_old_directory(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "sign").write_text("old")
    with pytest.raises(ZeroDivisionError), write_directory(target, "sign", "thing") as directory:
        (directory / "sign").write_text(str(1 // len(list(directory.iterdir()))))
    assert (target / "sign").read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
