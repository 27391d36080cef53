"""Traces in the format of docs/format.md, written by hand, correct and damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import haloscope
from haloscope.explain import Profile
from support.command import Command
from support.pages import page_data
from support.profiles import Draft
from support.traced import matched
from support.traced_drafts import CALL, PART, WORLD, packed_column, symbol, traced_draft, words_of

GAPS, DURATIONS = [10, 20, 30, 100, 20, 30], [1, 2, 3, 1, 2, 3]
ENDS = np.cumsum(np.add(GAPS, DURATIONS))
TIMES = np.column_stack([ENDS - DURATIONS, ENDS])


def message_to_the_next(
    offsets: tuple[float, float] = (0.0, 0.0), machines: tuple[int, int] = (1, 1), talking: bool = True
) -> Draft:
    """Two ranks. Each twice posts a receive from the other, sends to it, and waits.

    `offsets` are those of rank 1's clock. Unless `talking`, the calls have no messages.
    """
    what = {"communicator": WORLD, "partner": 1, "tag": 5, "size": 8}
    symbols = [
        symbol(0, CALL, call="MPI_Irecv", action=4, **what),
        symbol(1, CALL, call="MPI_Send", action=1, bytes=8, **what),
        symbol(2, PART, action=8, request=1, **what),
        symbol(3, CALL, call="MPI_Wait"),
    ]
    if not talking:
        symbols = [symbol(number, CALL, call="MPI_Wtime") for number in range(3)]
    return traced_draft(
        symbols,
        [TIMES, TIMES],
        machines=machines,
        zeros=(1000, 5000),
        nanoseconds=(2_000_000, 9_000_000),
        offsets=((0.0, 0.0), offsets),
    )


def opened(written: Draft, directory: Path) -> Profile:
    return haloscope.open(written.write(directory / "trace.halo"))


def test_events_messages_and_partners(tmp_path: Path) -> None:
    trace = opened(message_to_the_next(), tmp_path).trace()
    assert trace.calls["call"].to_list() == ["MPI_Irecv", "MPI_Send", "MPI_Wait"] * 4
    assert trace.calls["bytes"].to_list() == [0, 8, 8] * 4
    assert trace.sends.select("rank", "started", "completed", "partner", "tag", "bytes").rows() == [
        (0, 1, 1, 1, 5, 8),
        (0, 4, 4, 1, 5, 8),
        (1, 7, 7, 0, 5, 8),
        (1, 10, 10, 0, 5, 8),
    ]
    assert trace.receives.select("rank", "started", "completed", "partner").rows() == [
        (0, 0, 2, 1),
        (0, 3, 5, 1),
        (1, 6, 8, 0),
        (1, 9, 11, 0),
    ]
    spans = trace.calls.filter(trace.calls["rank"] == 0).select("begin", "end").rows()
    assert spans == [(10, 11), (31, 33), (63, 66), (166, 167), (187, 189), (219, 222)]
    assert trace.communicators.rows() == [(0, "MPI_COMM_WORLD", [0, 1])]


def test_ranks_of_one_machine_have_one_clock(tmp_path: Path) -> None:
    """Rank 1 began 4000 ticks later by this clock, whatever its own offset to nanoseconds is."""
    trace = opened(message_to_the_next(), tmp_path).trace()
    begins = trace.calls.group_by("rank", maintain_order=True).first()["begin"].to_list()
    assert begins == [10, 4010]


def begins(written: Draft, directory: Path) -> list[list[int]]:
    """Return the begins of each rank's calls, in nanoseconds."""
    calls = opened(written, directory).trace().calls
    return [calls.filter(calls["rank"] == rank)["begin"].to_list() for rank in (0, 1)]


def test_clocks_of_two_machines_are_aligned(tmp_path: Path) -> None:
    """The second clock is 6.99 ms ahead, so its events are 10 us later by the first clock."""
    first, second = begins(message_to_the_next((-0.00699, -0.00699), (1, 2), talking=False), tmp_path)
    assert first == TIMES[:, 0].tolist()
    assert second == [10_000 + begin for begin in first]


def test_messages_correct_the_rest_of_clock_errors(tmp_path: Path) -> None:
    """By its offsets the second rank is 10 us late, so its messages arrive before they are sent."""
    profile = opened(message_to_the_next((-0.00699, -0.00699), machines=(1, 2)), tmp_path)
    trace = profile.trace()
    both = matched(trace)
    begin = trace.calls["begin"].gather(both["started"])
    assert (trace.calls["end"].gather(both["completed_received"]) >= begin).all()
    table = profile.table("clocks")
    assert table["machine"].to_list() == [0, 1]
    assert table["offset_end"].to_list() == [0, -0.00699]
    # Sends and receives give bounds for the shift, and it is not larger than needed.
    assert table["shift"][0] == 0
    assert -1e-5 <= table["shift"][1] <= -0.9e-5
    spans = (trace.calls["end"] - trace.calls["begin"]).to_list()
    assert min(spans) >= 0


def test_drift_is_removed(tmp_path: Path) -> None:
    """A drift of 1 s in 10 s changes each duration by 10 %."""
    written = message_to_the_next((-0.00699, -0.00699 - 1.0), (1, 2), talking=False)
    first, second = begins(written, tmp_path)
    assert second == [10_000 + round(0.9 * begin) for begin in first]


def test_lengths_of_a_compact_trace(tmp_path: Path) -> None:
    written = message_to_the_next()
    written.info["trace"] = "compact"
    codes = packed_column([127, 128, 129, 255, 256, 300]) + packed_column(DURATIONS, width=1)
    written.tables["trace_pieces"] = {**written.tables["trace_pieces"], "bytes": [len(codes)] * 2}
    written.tables["trace_words"] = {"packed": words_of(codes) * 2}
    first = opened(written, tmp_path).trace().calls.head(6)
    gaps = (first["begin"] - first["end"].shift(1, fill_value=0)).to_list()
    assert gaps == [127, 128, 129, 255, 256, (128 + 44) * 2]


def test_a_stored_order_of_symbols(tmp_path: Path) -> None:
    """If a structure has no rules, threads store the order of its symbols."""
    written = message_to_the_next()
    orders = [bytes([0, 1, 2, 3, 0, 1, 2, 3]), bytes([1, 0, 2, 3, 0, 1, 2, 3])]
    raw = [b"\0" + len(order).to_bytes(4, "little") + order for order in orders]
    packed = [words_of(part) for part in raw]
    written.tables["trace_sequences"] = {
        **written.tables["trace_sequences"],
        "order": [len(part) for part in raw],
    }
    written.tables["trace_orders"] = {
        "rank": [0] * len(packed[0]) + [1] * len(packed[1]),
        "thread": [0] * 2 * len(packed[0]),
        "segment": [0] * 2 * len(packed[0]),
        "position": list(range(len(packed[0]))) * 2,
        "packed": packed[0] + packed[1],
    }
    calls = opened(written, tmp_path).trace().calls
    assert calls["call"].to_list()[6:8] == ["MPI_Send", "MPI_Irecv"]


@pytest.mark.parametrize(
    ("table", "name", "value"),
    [
        ("trace_sequences", "structure", 2),
        ("trace_sequences", "events", 7),
        ("trace_symbols", "symbol", 5),
        ("trace_symbols", "path", 99),
        ("trace_rules", "position", 3),
        ("trace_rules", "packed", -1),
        ("trace_pieces", "bytes", 1 << 40),
        ("trace_pieces", "gaps", 5),
        ("trace_words", "packed", -1),
        ("trace_communicators", "size", 3),
        ("trace_communicators", "count", 1),
        ("trace_communicators", "world", 1 << 40),
        ("trace_clocks", "rank", 4),
        ("trace_clocks", "tick", 0.0),
        ("trace_clocks", "offset_end", 1e308),
    ],
)
def test_damage_is_an_error_of_one_line(
    command: Command, tmp_path: Path, table: str, name: str, value: float
) -> None:
    written = message_to_the_next()
    changed = dict(written.tables[table])
    changed[name] = [value, *list(changed[name])[1:]]
    written.tables[table] = changed
    profile = opened(written, tmp_path)
    with pytest.raises(haloscope.ProfileError) as caught:
        profile.trace()
    assert "\n" not in str(caught.value)
    # The page has everything else, and the reason.
    (remark,) = haloscope.report(profile.path, tmp_path / "page.html")
    data = page_data(tmp_path / "page.html")
    assert remark.startswith("trace.halo: the trace is left out: the profile is damaged: ")
    assert remark in data["warnings"]
    assert (data["timeline"], data["ranks"]) == (None, 2)
    assert command("findings", profile.path).returncode == 0


def test_a_file_that_was_cut_off_anywhere_is_no_profile(tmp_path: Path) -> None:
    path = message_to_the_next().write(tmp_path / "trace.halo")
    whole = path.read_bytes()
    sizes = range(0, len(whole), 97)
    assert len(sizes) > 30
    for size in sizes:
        path.write_bytes(whole[:size])
        with pytest.raises(haloscope.ProfileError), haloscope.open(path) as profile:
            profile.trace()
    path.write_bytes(whole)
    assert len(haloscope.open(path).trace().calls) == 12
