"""OSU's and IMB's output, and sweeps, come into the same table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from haloscope import HaloscopeError
from haloscope.predict import Sweep, read_imb, read_osu
from haloscope.predict.bench import read_any, write_osu
from support.command import Command
from support.pages import page_text

_OSU = """\

# OSU MPI Allreduce Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
1                       1.23              1.10              1.40        1000
4                       1.25              1.12              1.41        1000
1048576               512.50            500.25            530.75         100
"""
_OLD_OSU = """\
# OSU MPI All-to-All Personalized Exchange Latency Test v5.6.2
# Size       Avg Latency(us)
1                       2.50
2                       2.75
"""
_BARRIER = """\
# OSU MPI Barrier Latency Test v7.4
# Avg Latency(us)
             0.75
"""
_IMB = """\
#------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part
#------------------------------------------------------------
#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
# ( 2 additional processes waiting in MPI_Barrier)
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.21         0.00
#----------------------------------------------------------------
# Benchmarking Reduce_scatter
# #processes = 4
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0         1000         0.03         0.04         0.03
           64         1000         1.10         1.30         1.20

#---------------------------------------------------
# Benchmarking Barrier
# #processes = 2
#---------------------------------------------------
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         0.50         0.54         0.52


# All processes entering MPI_Finalize
"""


def _written(directory: Path, text: str) -> Path:
    path = directory / "output.txt"
    path.write_text(text)
    return path


def test_osu(tmp_path: Path) -> None:
    points = read_osu(_written(tmp_path, _OSU), ranks=8).points
    assert points["collective"].unique().to_list() == ["allreduce"]
    assert points["bytes"].to_list() == [1, 4, 1048576]
    assert points["ranks"].to_list() == [8, 8, 8]
    assert points["iterations"].to_list() == [1000, 1000, 100]
    assert points["time"].to_list() == pytest.approx([1.23e-6, 1.25e-6, 512.5e-6])
    assert points["time_max"].to_list() == pytest.approx([1.4e-6, 1.41e-6, 530.75e-6])
    assert points["median"].to_list() == [None] * 3


def test_old_osu_and_barrier(tmp_path: Path) -> None:
    old = read_osu(_written(tmp_path, _OLD_OSU)).points
    assert old.select("collective", "ranks", "bytes", "time").rows() == [
        ("alltoall", None, 1, pytest.approx(2.5e-6)),
        ("alltoall", None, 2, pytest.approx(2.75e-6)),
    ]
    barrier = read_osu(_written(tmp_path, _BARRIER)).points
    assert barrier.select("collective", "bytes", "time").rows() == [("barrier", 0, pytest.approx(0.75e-6))]


def test_imb(tmp_path: Path) -> None:
    points = read_imb(_written(tmp_path, _IMB)).points
    columns = ("collective", "ranks", "bytes", "iterations", "time_min", "time_max", "time")
    rows = points.select(columns).rows()
    assert rows[0] == ("reduce_scatter", 4, 0, 1000, *map(pytest.approx, (3e-8, 4e-8, 3e-8)))
    assert rows[1] == ("reduce_scatter", 4, 64, 1000, *map(pytest.approx, (1.1e-6, 1.3e-6, 1.2e-6)))
    assert rows[2] == ("barrier", 2, 0, 1000, *map(pytest.approx, (5e-7, 5.4e-7, 5.2e-7)))
    assert len(rows) == 3  # no ping-pong


_POINT = {
    "record": "point",
    "collective": "bcast",
    "algorithm": "chain",
    "number": 2,
    "segment": 0,
    "fanout": 0,
    "ranks": 2,
    "nodes": 1,
    "mapping": None,
    "bytes": 8,
    "iterations": 3,
    "status": "ok",
    "samples_ns": [[1000, 3000, 2000], [2000, 2000, 5000]],
}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello\n", "neither a sweep"),
        ("# OSU MPI Allreduce Latency Test v7.4\n", "no results of an OSU"),
        ("# OSU MPI Latency Test v7.4\n# Size  Latency (us)\n1  2\n", "neither a sweep"),
        (_OSU.replace("512.50", "oops"), "line 7: 'oops' is not a number"),
        (_OSU.replace("Allreduce", "Non-blocking Allreduce"), "Non-blocking Allreduce is not one of"),
        (_OSU.replace("Max Latency(us)", "Overall(us)    "), "line 4: the column 'overall"),
        ('{"record":"point"}\n', "no environment record"),
        ('{"record":"environment"}\n{"record":"point","status":"ok","samples_ns":3}\n', "damaged"),
        ('{"record":"environment","method":[]}\n', "line 1 is damaged: method"),
        *(
            (f'{{"record":"environment"}}\n{json.dumps({**_POINT, **change})}\n', "line 2 is damaged")
            for change in (
                {"bytes": "8"},
                {"bytes": 1 << 63},
                {"ranks": None},
                {"algorithm": ["chain"]},
                {"status": 5},
                {"samples_ns": [[10**30]]},
                {"samples_ns": [[1, 2], 3]},
            )
        ),
        ('{"record":"environment"}\n{"rec\n{"record":"point"}\n', "line 2 is not JSON"),
    ],
)
def test_what_is_none_of_them(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(HaloscopeError, match=said) as raised:
        read_any(_written(tmp_path, text))
    assert "\n" not in str(raised.value)


def test_a_sweep(tmp_path: Path) -> None:
    failed = {**_POINT, "bytes": 16, "status": "timeout", "reason": "slow", "samples_ns": []}
    lines = [{"record": "environment", "library": "X"}, {**_POINT, "iterations": 9}, failed, _POINT]
    text = "".join(json.dumps(line) + "\n" for line in lines) + '{"record":"poi'
    sweep = Sweep.read(_written(tmp_path, text))
    assert sweep.environment["library"] == "X"
    assert sweep.points["bytes"].to_list() == [8, 16]  # the later one of the same counts
    row = sweep.points.row(0, named=True)
    assert row["iterations"] == 3
    assert (row["time_min"], row["time_max"]) == pytest.approx((2e-6, 3e-6))
    assert row["time"] == pytest.approx(2.5e-6)
    # The slowest rank's times are 2, 3 and 5 µs.
    assert (row["ci_low"], row["median"], row["ci_high"]) == pytest.approx((2e-6, 3e-6, 5e-6))
    assert sweep.samples(0).tolist() == _POINT["samples_ns"]
    assert sweep.points.row(1, named=True)["time"] is None
    assert not sweep.samples(1).size


def test_the_interval_holds_the_median_as_often_as_it_says() -> None:
    """400 points of each number of iterations, whose times are exponential with a mean of a millisecond."""
    random = np.random.default_rng(1)
    for count in (20, 200):
        times = (1e6 * random.exponential(size=(400, count))).astype(int)
        records = [
            {**_POINT, "bytes": number, "samples_ns": [one.tolist()]} for number, one in enumerate(times)
        ]
        points = Sweep.of({"record": "environment"}, records).points
        assert len(points) == 400
        hits = points.filter(pl.lit(1e-3 * np.log(2)).is_between("ci_low", "ci_high"))
        assert 0.93 <= len(hits) / 400 <= 0.99


def test_own_output_is_read_back(command: Command, tmp_path: Path) -> None:
    sweep = _written(tmp_path, '{"record":"environment"}\n' + json.dumps(_POINT) + "\n")

    printed = tmp_path / "printed.txt"
    with printed.open("w") as file:
        write_osu(Sweep.read(sweep), file, full=True)
    again = read_osu(printed).points.row(0, named=True)
    for name in ("collective", "algorithm", "number", "ranks", "bytes", "iterations"):
        assert again[name] == _POINT[name]
    assert again["time"] == pytest.approx(2.5e-6)
    for source in (sweep, printed):
        page = tmp_path / "page.html"
        command("report", source, "-o", page)
        assert "chain (2)" in page_text(page)
    (row,) = json.loads(command("show", printed, "--format", "json").stdout)
    assert (row["ranks"], row["time_max"]) == (2, 3e-6)
    assert "chain" in command("show", sweep).stdout
    refused = command("show", sweep, "--table", "ranks", status=2)
    assert refused.stdout == ""
    assert "--table" in refused.stderr
