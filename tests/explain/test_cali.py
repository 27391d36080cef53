"""Caliper's files that a program asked for, written from a profile and read by Caliper's readers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import caliperreader
import pytest

from haloscope import OutputError, explain
from haloscope.explain import Profile
from support.profiles import Draft, draft, path_rows, process_rows

Read = Callable[[Draft], Profile]

METADATA = {"mesh": "a=b, c\\d\nnext", "iterations": "12", "tolerance": "0.5", "gcc": "1.10", "year": "007"}


def in_regions(**entries: tuple[float, int, int]) -> list[dict[str, Any]]:
    """Rows of `ranks` for rank 0 and 1, by the number of the path: seconds, instances, messages."""
    return [
        {
            "path": int(path[1:]),
            "rank": rank,
            "time": seconds * (1 + rank),
            "instances": instances,
            "sends": messages * (1 + rank),
            "recvs": messages,
            "bytes_sent": 8 * messages * (1 + rank),
            "bytes_recv": 8 * messages,
            "dest_ranks": 1,
            "src_ranks": 1,
            "dest_ranks_exclusive": 1,
            "src_ranks_exclusive": 1,
            "coll_time": 0.25,
            **{f"{name}_instance_{end}": messages for name in ("sends", "recvs") for end in ("min", "max")},
        }
        for path, (seconds, instances, messages) in entries.items()
        for rank in (0, 1)
    ]


def marked_draft(asked: str = "") -> Draft:
    """A loop with halo regions inside its iterations and next to them, on two ranks.

    `asked` is the program's configuration of Caliper.
    """
    loop = "main/loop"
    inside = f"{loop}/iteration#loop"
    paths = path_rows("main", loop, inside, f"{inside}/halo", f"{loop}/halo", "main/a=b")
    for row in paths:
        row["communication"] = int(row["name"] == "halo")
    call = {"call": "MPI_Send", "calls": 6, "bytes": 48, "time_total": 0.5, "time_max": 0.1}
    config = {"caliper.config": asked} if asked else {}
    return draft(
        {"metadata": METADATA | config, "ranks": 2, "program": "app"},
        paths=paths,
        processes=process_rows("alpha", "beta"),
        ranks=in_regions(
            p0=(10, 1, 0),
            p1=(8, 1, 0),
            p2=(6, 1, 0),
            p3=(4, 3, 0),
            p4=(2, 3, 6),
            p5=(1, 1, 1),
            p6=(0.5, 1, 0),
        ),
        calls=[{"path": path, **call} for path in (3, 4)],
    )


@pytest.fixture
def marked(read: Read) -> Profile:
    return read(marked_draft())


def records(path: Path) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Return records by path, columns by alias, and the metadata of the run."""
    reader = caliperreader.CaliperReader()
    reader.read(str(path))
    found = {}
    for record in reader.records:
        where = "/".join(record.pop("path"))
        assert where not in found
        values = {name: value for name, value in record.items() if "#" in name}
        found[where] = {
            reader.attribute(name).get("attribute.alias") or name: float(value)
            for name, value in values.items()
        }
    return found, reader.globals


def test_a_loop_holds_what_its_iterations_hold(marked: Profile, tmp_path: Path) -> None:
    assert explain.write_cali(marked, tmp_path / "f.cali") == 4
    found, _ = records(tmp_path / "f.cali")
    assert set(found) == {"main", "main/loop", "main/loop/halo", "main/a=b"}
    halo = found["main/loop/halo"]
    assert (halo["Sends (total)"], halo["Recvs (total)"], halo["Bytes sent (total)"]) == (21, 14, 168)
    assert (halo["Total time"], halo["Min time/rank"], halo["Max time/rank"]) == (9, 3, 6)
    assert (halo["Calls/rank (max)"], halo["Calls (total)"]) == (4, 8)
    assert (halo["Sends (min)"], halo["Sends (max)"], halo["Dst ranks (avg)"]) == (1, 6, 1)
    assert found["main/loop"]["Total time (exc)"] == 18 - 9
    assert not {name for name in found["main/loop"] if "Sends" in name}


def test_sums_are_those_of_the_table(marked: Profile, tmp_path: Path) -> None:
    explain.write_cali(marked, tmp_path / "f.cali", program=True)
    found, _ = records(tmp_path / "f.cali")
    table = {row["path"]: row for row in marked.table("regions").iter_rows(named=True)}
    assert sum(row["Total time (exc)"] for row in found.values()) == pytest.approx(
        2 * table["<program>"]["time_mean"]
    )
    for path in ("<program>", "main", "main/a=b"):
        row = found["<program>" if path == "<program>" else f"<program>/{path}"]
        for ours, theirs in (("time_mean", "Avg"), ("time_min", "Min"), ("time_max", "Max")):
            assert row[f"{theirs} time/rank"] == table[path][ours]
    halos = [row for path, row in table.items() if path.endswith("halo")]
    written = [row for path, row in found.items() if path.endswith("halo")]
    for ours, theirs in (("sends_total", "Sends (total)"), ("bytes_recv_total", "Bytes recv (total)")):
        assert sum(row[theirs] for row in written) == sum(row[ours] for row in halos)


def test_functions_take_their_time_from_their_region(marked: Profile, tmp_path: Path) -> None:
    explain.write_cali(marked, tmp_path / "f.cali", functions=True, communication=False)
    found, _ = records(tmp_path / "f.cali")
    assert found["main/loop/MPI_Send"]["Calls (total)"] == 6
    assert found["main/loop/halo/MPI_Send"]["Total time"] == 0.5
    # Two ranks, with 0.25 s of MPI in the iterations and 0.25 s in the loop itself.
    assert found["main/loop"]["Total time (exc)"] == 9 - 4 * 0.25
    assert not {name for row in found.values() for name in row if "Sends" in name}


def test_metadata_keep_their_type(marked: Profile, tmp_path: Path) -> None:
    explain.write_cali(marked, tmp_path / "f.cali")
    _, run = records(tmp_path / "f.cali")
    assert run["mesh"] == METADATA["mesh"]
    assert (run["mpi.world.size"], run["jobsize"], run["numhosts"], run["hostlist"]) == (
        "2",
        "2",
        "2",
        "alpha,beta",
    )
    text = (tmp_path / "f.cali").read_text("utf-8")
    kinds = dict(re.findall(r"attr=8,data=(\w+),parent=(\d+)", text))
    properties = dict(re.findall(r"id=(\d+),attr=10,data=588,parent=(\d)", text))
    assert {key: properties[kinds[key]] for key in METADATA} == {
        "mesh": "3",
        "iterations": "2",
        "tolerance": "5",
        "gcc": "3",
        "year": "3",
    }


def test_a_program_without_regions_is_one(read: Read, tmp_path: Path) -> None:
    ranks = in_regions(p0=(3, 1, 2))
    bare = read(draft(paths=path_rows(), ranks=ranks, processes=process_rows("a", "a")))
    assert explain.write_cali(bare, tmp_path / "f.cali") == 1
    assert list(records(tmp_path / "f.cali")[0]) == ["<program>"]


def test_an_output_that_cannot_be_written_is_one_line(marked: Profile, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"nowhere/f\.cali: cannot be written: No such file"):
        explain.write_cali(marked, tmp_path / "nowhere" / "f.cali")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("spot(output=F.cali)", {"F.cali": ""}),
        ("spot(output=F.cali,profile.mpi,comm.stats)", {"F.cali": "functions messages"}),
        (
            "comm.stats=false,spot(comm.stats,output=F.cali) , runtime-report(output=stdout),profile.mpi",
            {"F.cali": "functions messages"},
        ),
        ('spot(output="a,(b).cali")', {"a,(b).cali": ""}),
        (r"spot(output=a\,b)", {"a,b": ""}),
        ("spot(output=x", {"x": ""}),
        ("", {}),
        (",,()", {}),
        ("event-trace", {}),
    ],
)
def test_configurations_are_read(
    read: Read, text: str, expected: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`expected` has the written files, and the options of each."""
    profile = read(marked_draft(text))
    folder = tmp_path / "written"
    folder.mkdir()
    monkeypatch.chdir(folder)
    explain.write_caliper_outputs(profile)
    found = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
    options = {"functions": "MPI_Send", "messages": "Sends (total)"}
    assert {
        name: " ".join(option for option, sign in options.items() if sign in content)
        for name, content in found.items()
    } == expected


@pytest.mark.parametrize("asked", ["spot(output=stdout)", "spot(output=stderr)", "spot(output.format=json)"])
def test_other_services_of_caliper_write_no_file(
    read: Read, asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = read(marked_draft(asked))
    before = sorted(tmp_path.iterdir())
    monkeypatch.chdir(tmp_path)
    (remark,) = explain.write_caliper_outputs(profile)
    option = asked.partition("(")[2].rstrip(")")
    assert remark == f"caliper.config: spot with {option} is not supported; give a file with the suffix .cali"
    assert sorted(tmp_path.iterdir()) == before


def test_where_files_of_caliper_are_written(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Next to the profile, or in the folder that was asked for."""
    (tmp_path / "folder").mkdir()
    profile = read(marked_draft("runtime-profile,hatchet-region-profile(outdir=folder,output=F.cali)"))
    monkeypatch.chdir(tmp_path)
    remarks = explain.write_caliper_outputs(profile)
    places = [profile.path.with_suffix(".cali"), Path("folder", "F.cali")]
    assert remarks == [f"{place}: 4 records, as configured for Caliper" for place in places]
    assert all(place.is_file() for place in places)


def test_requested_files_are_written(read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = "spot(output=F.cali),runtime-report,spot(output=no/F.cali)"
    profile = read(
        draft({"metadata": {"caliper.config": asked}}, paths=path_rows("a"), ranks=in_regions(p1=(1, 1, 0)))
    )
    remarks = explain.write_caliper_outputs(profile)
    assert (tmp_path / "F.cali").is_file()
    assert [remark.partition(":")[0] for remark in remarks] == ["F.cali", "caliper.config", "no/F.cali"]
    plain = read(draft(paths=path_rows("a"), ranks=in_regions(p1=(1, 1, 0))))
    assert explain.write_caliper_outputs(plain) == []
