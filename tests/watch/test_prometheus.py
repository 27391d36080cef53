"""`haloscope top --prometheus`: its output, read by Prometheus's own parser; and the panel for it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

import haloscope
from haloscope import OutputError
from haloscope.watch import RunningProgram, exposition, write_exposition
from support.mpi import CHECKOUT

Program = Callable[..., RunningProgram]
SUMS = {
    **dict.fromkeys(("rma_time", "io_time", "other_time", "poll_time", "coll_bytes", "polls"), 0),
    "p2p_time": 1.5,
    "coll_time": 0.25,
    "wait_time": 1.0,
    "sends": 7,
    "recvs": 6,
    "bytes_sent": 700,
    "bytes_recv": 600,
    "colls": 3,
}
CALL = {
    "function": "MPI_Recv",
    "what": "receive",
    "kind": "",
    "partner": 1,
    "source": None,
    "tag": None,
    "communicator": None,
    "count": 0,
    "bytes": None,
    "since": 2.5,
    "mark": 0,
}
PANEL = CHECKOUT / "docs" / "how-to" / "grafana-haloscope.json"


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """`program(NAME, ranks, states)` is what `haloscope top` prints of ranks in MPI_Recv."""
    file = tmp_path_factory.mktemp("top") / "top.json"

    def made(name: str, ranks: int = 2, states: Sequence[str] = ("running", "running")) -> RunningProgram:
        thread = {"region": ["solve"], "call": CALL, "idle": None, "mark": 0, "tid": 1, "sums": SUMS}
        processes = [
            {
                "path": f"/haloscope-4711/{rank}-{7 + rank}.live",
                "world": "1",
                "rank": rank,
                "size": ranks,
                "pid": 7 + rank,
                "host": "node",
                "program": name,
                "command": "",
                "output": "",
                "start": 0.0,
                "elapsed": 9.0,
                "finalized": False,
                "watched": True,
                "state": states[rank],
                "threads": [thread],
                "communicators": [],
                "partners": [],
            }
            for rank in range(ranks)
        ]
        file.write_text(json.dumps({"haloscope_top": 1, "programs": [{"after": processes}]}))
        (running,) = haloscope.top(files=[file])
        return running

    return made


def samples(text: str) -> dict[tuple[str, str], list[tuple[dict[str, str], float]]]:
    """Names and types with their labels and values."""
    found: dict[tuple[str, str], list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation.endswith(".")
        for sample in family.samples:
            found.setdefault((sample.name, family.type), []).append((dict(sample.labels), sample.value))
    return found


def test_what_is_counted_is_written(program: Program) -> None:
    text = exposition([program("app")])
    found = samples(text)
    own = {"run": "4711", "program": "app", "host": "node", "rank": "1"}
    assert ({**own, "part": "p2p"}, 1.5) in found["haloscope_mpi_seconds_total", "counter"]
    assert (own, 700.0) in found["haloscope_sent_bytes_total", "counter"]
    assert (own, 2.5) in found["haloscope_call_seconds", "gauge"]
    mpi = [
        value for labels, value in found["haloscope_mpi_seconds_total", "counter"] if labels["rank"] == "0"
    ]
    assert sum(mpi) == SUMS["p2p_time"] + SUMS["coll_time"]
    assert len(found["haloscope_rank_up", "gauge"]) == 2
    names = {name for name, _ in found}
    assert all(re.fullmatch(r"haloscope_[a-z_]+", name) for name in names)
    assert all(name.endswith("_total") == (kind == "counter") for name, kind in found)


@given(st.text(max_size=20))
def test_any_name_is_a_label(program: Program, name: str) -> None:
    found = samples(exposition([program(name, 1)]))
    (labels, _) = found["haloscope_rank_up", "gauge"][0]
    assert labels["program"] == name.encode(errors="replace").decode()


def test_nothing_runs() -> None:
    assert samples(exposition([])) == {}


def test_the_file_is_replaced_at_once(program: Program, tmp_path: Path) -> None:
    output = tmp_path / "haloscope.prom"
    for ranks in (1, 2):
        write_exposition([program("app", ranks)], output)
        assert output.read_text() == exposition([program("app", ranks)])
        assert list(tmp_path.iterdir()) == [output]
    with pytest.raises(OutputError, match="is not a file"):
        write_exposition([], tmp_path)


def test_the_dead_are_down(program: Program) -> None:
    found = samples(exposition([program("app", 2, ["dead", "running"])]))["haloscope_rank_up", "gauge"]
    assert [value for _, value in found] == [0.0, 1.0]


def test_the_panels_ask_for_what_is_written(program: Program) -> None:
    """Grafana's dashboard is JSON, each panel has a title, a place and queries of metrics that there are."""
    board = json.loads(PANEL.read_text())
    names = {name for name, _ in samples(exposition([program("app")]))}
    assert board["title"]
    assert isinstance(board["schemaVersion"], int)
    asked = set()
    for panel in board["panels"]:
        assert panel["title"]
        assert panel["type"] in ("timeseries", "table", "stat", "heatmap")
        assert set(panel["gridPos"]) == {"h", "w", "x", "y"}
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
        for target in panel["targets"]:
            asked |= set(re.findall(r"haloscope_\w+", target["expr"]))
    assert asked
    assert asked <= names
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
