"""Many profiles as one frame: columns per profile, their costs, and slow hosts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import haloscope
from haloscope import ProfileError, UsageError, explain
from support.command import Command
from support.profiles import Draft, draft, path_rows
from support.terminals import print_on_terminal

DAY = 86400.0


def written(path: Path, **info: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return draft({"version": "0.1.0", **info}, paths=path_rows()).write(path)


def roll_up(hosts: dict[str, tuple[int, float]], **sums: float) -> dict[str, Any]:
    return {
        "hosts": len(hosts),
        "host_names": list(hosts),
        "host_ranks": [ranks for ranks, _ in hosts.values()],
        "host_compute": [compute for _, compute in hosts.values()],
        **sums,
    }


@pytest.fixture
def year(tmp_path: Path) -> Path:
    written(
        tmp_path / "a" / "1.halo", start=20.0, rollup=roll_up({"x": (2, 1.0)}, rank_time=4.0, mpi_time=2.0)
    )
    two = roll_up({"x": (3, 1.0), "y": (1, 2.0)}, rank_time=8.0, mpi_time=4.0)
    written(tmp_path / "b" / "2.halo", start=10.0, program="lmp", ranks=4, rollup=two, job={"job_id": "7"})
    written(tmp_path / "3.halo", start=30.0)
    return tmp_path


def test_each_profile_is_a_row(year: Path) -> None:
    frame = haloscope.history(year)
    assert frame["profile"].to_list() == [str(year / name) for name in ("b/2.halo", "a/1.halo", "3.halo")]
    assert frame["program"].to_list() == ["lmp", "cg", "cg"]
    assert frame["mpi_time"].to_list() == [4.0, 2.0, None]
    assert frame["host_names"].to_list() == [["x", "y"], ["x"], None]
    assert frame["job_id"].to_list() == ["7", None, None]


def test_costs_add_up(year: Path) -> None:
    frame = haloscope.history(year)
    by_program = explain.costs(frame, "program").to_dicts()
    assert [(row["program"], row["runs"], row["mpi_time"]) for row in by_program] == [
        ("lmp", 1, 4.0),
        ("cg", 2, 2.0),
    ]
    by_host = {row["host"]: row for row in explain.costs(frame, "host").to_dicts()}
    assert {host: row["mpi_time"] for host, row in by_host.items()} == {"x": 5.0, "y": 1.0}
    assert {host: row["ranks"] for host, row in by_host.items()} == {"x": 5, "y": 1}
    for by in explain.COSTS:
        costs = explain.costs(frame, by)
        assert costs["mpi_time"].sum() == pytest.approx(6.0)
        assert costs["share"].sum() == pytest.approx(1.0)


def test_files_that_are_no_profiles_are_named(year: Path, command: Command) -> None:
    (year / "empty.halo").touch()
    (year / "text.halo").write_text("no profile")
    (year / "short.halo").write_bytes((year / "3.halo").read_bytes()[:-9])
    (year / "link.halo").symlink_to(year / "nowhere")
    os.mkfifo(year / "pipe.halo")
    (year / "other.txt").write_text("not looked at")
    written(year / "odd.halo", ranks="two")
    written(year / "uneven.halo", rollup={"host_names": ["x"], "host_ranks": []})
    found = explain.read_history(year)
    assert len(found.frame) == 3
    names = {Path(reason.partition(":")[0]).stem for reason in found.unreadable}
    assert names == {"empty", "text", "short", "link", "pipe", "odd", "uneven"}
    done = command("history", year)
    assert "7 files could not be read" in done.stderr
    assert "lmp" in done.stdout


def test_a_directory_without_profiles(tmp_path: Path, command: Command) -> None:
    done = command("history", tmp_path)
    assert (done.stdout, done.stderr) == ("", f"haloscope: {tmp_path}: has no profiles\n")
    assert command("history", tmp_path, "--json").stdout.strip() == "[]"


def test_a_long_name_of_an_mpi_leaves_times_at_80_columns(tmp_path: Path, haloscope: Path) -> None:
    written(tmp_path / "1.halo", mpi_library=f"Open MPI v4.1.4, package: {40 * 'x'}", start=1767225600.0)
    shown = print_on_terminal(haloscope, "history", tmp_path, "--by", "run").decode()
    assert all(title in shown for title in ("ranks' time", "in MPI", "sent"))


def test_a_missing_directory() -> None:
    with pytest.raises(UsageError, match="no such directory"):
        haloscope.history("/nowhere")


@pytest.mark.parametrize("strings", [0, 20_000])
def test_the_head_is_that_of_the_whole_file(tmp_path: Path, strings: int) -> None:
    names = [f"region {i}" for i in range(strings)]
    path = draft({"program": "a\u2028b"}, paths=path_rows(*names)).write(tmp_path / "a.halo")
    with haloscope.open(path) as profile:
        assert explain.read_info(str(path)) == profile.info
    damaged = bytearray(path.read_bytes())
    damaged[-40] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ProfileError, match="checksum"):
        explain.read_info(str(path))


@pytest.mark.parametrize("key", ["start", "duration"])
def test_a_number_that_is_too_large_is_damage(tmp_path: Path, key: str) -> None:
    path = draft({key: 10**400}, paths=path_rows()).write(tmp_path / "a.halo")
    with pytest.raises(ProfileError, match=f"info {key}"):
        haloscope.open(path).table("info")
    assert f"info {key} has the wrong type" in explain.read_history(tmp_path).unreadable[0]


def test_a_file_of_another_tool_without_regions_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "a.cali").write_text("__rec=node,id=12,attr=10,data=64,parent=3\n")
    assert len(explain.read_history(tmp_path).unreadable) == 1


def test_another_order_of_the_directory(tmp_path: Path) -> None:
    class Turned(Draft):
        def bytes(self) -> bytes:
            from support.profiles import MAGIC, seal

            return seal(
                MAGIC + bytes(Draft({}).bytes()[8:16]), json.dumps({"tables": [], "info": self.info}).encode()
            )

    path = Turned({}, {"program": "cg"}).write(tmp_path / "a.halo")
    assert explain.read_info(str(path)) == {"program": "cg"}


@pytest.mark.parametrize("by", ["program", "host", "mpi", "run"])
def test_a_table_for_people(year: Path, by: str, command: Command) -> None:
    done = command("history", year, "--by", by)
    assert "no host is suspect" in done.stdout


@pytest.mark.parametrize("by", ["program", "host", "mpi", "run"])
@pytest.mark.parametrize("form", ["csv", "json"])
def test_forms(year: Path, by: str, form: str, command: Command) -> None:
    done = command("history", year, "--by", by, "--format", form)
    printed = done.stdout.encode()
    frame = pl.read_csv(printed) if form == "csv" else pl.read_json(printed)
    assert len(frame) == {"program": 2, "host": 2, "mpi": 1, "run": 3}[by]


def runs(seed: int, slow: float = 0.0, hosts: int = 12, count: int = 400) -> pl.DataFrame:
    """Runs of three programs on one to three hosts, of which n3 takes longer."""
    random = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        program, size = int(random.integers(3)), int(random.choice([1, 1, 2, 3]))
        chosen = random.choice(hosts, size, replace=False)
        common = (
            program + 0.05 * random.standard_normal() + (random.random() < 0.05) * random.exponential(0.5)
        )
        own = 0.02 * random.standard_normal(size) + 0.1 * np.arange(size) + (chosen == 3) * np.log1p(slow)
        rows.append(
            {
                "profile": f"{number}.halo",
                "program": f"p{program}",
                "command": f"p{program}",
                "ranks": size,
                "hosts": size,
                "start": float(random.uniform(0, 90 * DAY)),
                "partial": bool(number % 50 == 0),
                "host_names": [f"n{host}" for host in chosen],
                "host_ranks": [1] * size,
                "host_compute": np.exp(common + own).tolist(),
            }
        )
    return pl.DataFrame(rows, schema=explain.HISTORY)


def test_a_slow_host_is_found() -> None:
    table = explain.find_suspect_hosts(runs(1, slow=0.1))
    assert table.filter(pl.col("suspect"))["host"].to_list() == ["n3"]
    row = table.row(0, named=True)
    assert row["slowdown_low"] <= 0.1 <= row["slowdown_high"]
    assert row["slowdown_low"] <= row["slowdown"] <= row["slowdown_high"]
    (sentence,) = explain.describe_suspect_hosts(table)
    assert sentence.startswith("n3 computes")


def test_false_alarms_are_rare() -> None:
    # 5 % of 20 are false alarms; more than 3 have a probability of 2 %.
    tables = [explain.find_suspect_hosts(runs(seed, count=200)) for seed in range(20)]
    assert sum(bool((table["p_value"] <= 0.05).any()) for table in tables) <= 3
    assert all(len(table) == 12 for table in tables)


def two_hosts(seed: int, slow: float = 0.0) -> pl.DataFrame:
    """Three programs on each of two hosts on each of twelve days. Days differ, and n1 is slower."""
    random = np.random.default_rng(seed)
    days = 0.03 * random.standard_normal((12, 2))
    rows = [
        {
            "profile": f"{day}-{program}-{host}.halo",
            "program": f"p{program}",
            "command": f"p{program}",
            "ranks": 1,
            "hosts": 1,
            "start": DAY * (20_000 + day),
            "partial": False,
            "host_names": [f"n{host}"],
            "host_ranks": [1],
            "host_compute": [
                float(np.exp(days[day, host] + 0.05 * random.standard_normal() + host * np.log1p(slow)))
            ],
        }
        for day in range(12)
        for program in range(3)
        for host in range(2)
    ]
    return pl.DataFrame(rows, schema=explain.HISTORY)


def test_two_hosts_are_enough() -> None:
    """Intervals and p-values keep their level if the runs of both hosts scatter equally."""
    tables = [explain.find_suspect_hosts(two_hosts(seed, slow=0.1)) for seed in range(20)]
    rows = [table.row(by_predicate=pl.col("host") == "n1", named=True) for table in tables]
    # 95 % of 20 intervals cover the truth; less than 17 have a probability of 2 %.
    assert sum(row["slowdown_low"] <= 0.1 <= row["slowdown_high"] for row in rows) >= 17
    assert sum(row["suspect"] for row in rows) >= 17
    assert not any(table.filter(pl.col("host") == "n0")["suspect"][0] for table in tables)
    alike = [explain.find_suspect_hosts(two_hosts(seed)) for seed in range(20)]
    assert 1 <= sum(bool((table["p_value"] <= 0.3).any()) for table in alike) <= 11
    assert sum(bool((table["p_value"] <= 0.05).any()) for table in alike) <= 3


def test_nothing_to_compare() -> None:
    for frame in (runs(0, count=0), runs(0, hosts=3, count=2), runs(0, count=5)):
        table = explain.find_suspect_hosts(frame)
        assert table.is_empty()
        assert explain.describe_suspect_hosts(table) == ["no host is suspect; none could be compared"]


def test_memory_is_bounded(tmp_path: Path) -> None:
    """A directory of 100 MB, as of a run with millions of names, is not read into memory."""
    from support.profiles import MAGIC, seal

    content = json.dumps({"info": {"program": "big"}}).encode()[:-1] + b', "strings": ["' + b"x" * 100_000_000
    (tmp_path / "big.halo").write_bytes(
        seal(MAGIC + bytes(Draft({}).bytes()[8:16]), content + b'"], "tables": []}')
    )
    script = (
        "import resource, sys, haloscope\n"
        "from haloscope.explain import read_info\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "assert read_info(sys.argv[1]) == {'program': 'big'}\n"
        "assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000\n"
    )
    subprocess.run([sys.executable, "-c", script, tmp_path / "big.halo"], check=True)


def test_profiles_of_other_tools_are_in_it(year: Path) -> None:
    rows = [{"path": 0, "rank": rank, "instances": 1, "time": 1.0 + rank} for rank in range(3)]
    ours = draft({"ranks": 3, "program": "amg"}, paths=path_rows(), ranks=rows).write(year / "amg.halo")
    for form in ("cali", "cali-ranks"):
        haloscope.export(ours, form, year / f"{form}.cali")
    (year / "archive").mkdir()
    (year / "archive" / "traces.otf2").write_bytes(b"\0\0OTF2")
    (year / "other.cali").write_text("nothing of the kind")
    found = explain.read_history(year)
    runs = found.frame.filter(program="amg", rank_time=6.0)
    assert set(runs["profile"]) == {str(year / "cali.cali"), str(year / "cali-ranks.cali")}
    assert set(runs["ranks"]) == {3}
    archive, other = sorted(found.unreadable)
    assert "history does not read OTF2 archives" in archive
    assert "other.cali: is not a file of Caliper" in other
    assert "\n" not in archive + other
