"""`haloscope top --prometheus`: what it writes, as Prometheus's own parser reads it; and the panel for it."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from haloscope.base.errors import OutputError
from haloscope.watch._live import Call, Process, Sums, Thread
from haloscope.watch._prometheus import exposition, write_exposition
from haloscope.watch._rates import Running
from support.mpi import CHECKOUT

SUMS = Sums(
    p2p_time=1.5, coll_time=0.25, wait_time=1.0, sends=7, recvs=6, bytes_sent=700, bytes_recv=600, colls=3
)
PANEL = CHECKOUT / "docs" / "how-to" / "grafana-haloscope.json"


def program(name: str, ranks: int = 2) -> Running:
    thread = Thread(("solve",), Call("MPI_Recv", "receive", 1, since=2.5), sums=SUMS)
    processes = tuple(
        Process(
            f"/{rank}",
            "1",
            rank,
            ranks,
            7 + rank,
            "node",
            name,
            elapsed=9.0,
            state="running",
            threads=(thread,),
        )
        for rank in range(ranks)
    )
    return Running("4711", (), processes, 0.0)


def samples(text: str) -> dict[tuple[str, str], list[tuple[dict[str, str], float]]]:
    """Names and types with their labels and values."""
    found: dict[tuple[str, str], list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation.endswith(".")
        for sample in family.samples:
            found.setdefault((sample.name, family.type), []).append((dict(sample.labels), sample.value))
    return found


def test_what_is_counted_is_written() -> None:
    text = exposition([program("app")])
    found = samples(text)
    own = {"run": "4711", "program": "app", "host": "node", "rank": "1"}
    assert ({**own, "part": "p2p"}, 1.5) in found["haloscope_mpi_seconds_total", "counter"]
    assert (own, 700.0) in found["haloscope_sent_bytes_total", "counter"]
    assert (own, 2.5) in found["haloscope_call_seconds", "gauge"]
    mpi = [
        value for labels, value in found["haloscope_mpi_seconds_total", "counter"] if labels["rank"] == "0"
    ]
    assert sum(mpi) == SUMS.mpi_time
    assert len(found["haloscope_rank_up", "gauge"]) == 2
    names = {name for name, _ in found}
    assert all(re.fullmatch(r"haloscope_[a-z_]+", name) for name in names)
    assert all(name.endswith("_total") == (kind == "counter") for name, kind in found)


@given(st.text(max_size=20))
def test_any_name_is_a_label(name: str) -> None:
    found = samples(exposition([program(name, 1)]))
    (labels, _) = found["haloscope_rank_up", "gauge"][0]
    assert labels["program"] == name.encode(errors="replace").decode()


def test_nothing_runs() -> None:
    assert samples(exposition([])) == {}


def test_the_file_is_replaced_at_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    directory = tmp_path_factory.mktemp("metrics")
    output = directory / "haloscope.prom"
    for ranks in (1, 2):
        write_exposition([program("app", ranks)], output)
        assert output.read_text() == exposition([program("app", ranks)])
        assert list(directory.iterdir()) == [output]
    with pytest.raises(OutputError, match="is not a file"):
        write_exposition([], directory)


def test_the_dead_are_down() -> None:
    running = program("app")
    gone = replace(running, after=(replace(running.after[0], state="dead"), running.after[1]))
    found = samples(exposition([gone]))["haloscope_rank_up", "gauge"]
    assert [value for _, value in found] == [0.0, 1.0]


def test_the_panels_ask_for_what_is_written() -> None:
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
