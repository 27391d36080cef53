"""Rules files: a call meets the algorithm that was chosen for it, in each form that a library reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haloscope import RecorderError
from haloscope.predict.bench import Algorithm
from haloscope.predict.tune import Candidate, Point, verify, write_rules
from support.emulated_tuning import (
    COLLECTIVES,
    emulated_bench,
    json_choice,
    own_leaf,
    read_text,
    text_choice,
    tree_leaf,
)

Chosen = dict[Point, Candidate]
UNSIZED = {"barrier"}


@st.composite
def choices(draw: st.DrawFn, collectives: tuple[str, ...] = tuple(COLLECTIVES)) -> Chosen:
    """Chosen algorithms at some points; number 0 is the library's own choice."""
    points = draw(
        st.sets(
            st.builds(
                Point,
                st.sampled_from(collectives),
                st.integers(2, 9),
                st.sampled_from((1, 2, 7, 8, 100, 4096)),
            ),
            min_size=1,
            max_size=12,
        )
    )
    made: Chosen = {}
    for point in points:
        number = draw(st.integers(0, 7))
        where = Point(point.collective, point.ranks, 0 if point.collective in UNSIZED else point.bytes)
        segment = draw(st.sampled_from((0, 1024)))
        made[where] = Candidate(f"way{number}", number, segment) if number else Candidate()
    return made


calls = st.builds(Point, st.sampled_from(tuple(COLLECTIVES)), st.integers(1, 12), st.integers(0, 1 << 16))


def expected(chosen: Chosen, call: Point) -> Candidate | None:
    """What a call should meet. None: between two sizes with different choices either may be met."""
    line = sorted(p for p in chosen if (p.collective, p.ranks) == (call.collective, call.ranks))
    if call.collective in UNSIZED and line:
        return chosen[line[0]]
    below = [p for p in line if p.bytes <= call.bytes]
    above = [p for p in line if p.bytes >= call.bytes]
    if not below or not above:
        return Candidate()
    one, other = chosen[below[-1]], chosen[above[0]]
    return one if one == other or call in chosen else Candidate()


def written(directory: Path, form: str, chosen: Chosen) -> str:
    file = directory / ("rules.conf" if form == "openmpi-text" else "rules.json")
    file.unlink(missing_ok=True)
    made = write_rules(emulated_bench(directory, form), chosen, file, None)
    assert file.exists() == bool(made.tuned)
    return file.read_text() if made.tuned else ""


def forms_agree(directory: Path, chosen: Chosen, points: list[Point]) -> None:
    """Assert that the text and the JSON select the expected algorithm for each call."""
    text, tree = written(directory, "openmpi-text", chosen), written(directory, "openmpi-json", chosen)
    for point in points:
        wanted = expected(chosen, point)
        assert wanted is not None
        if text:
            assert text_choice(read_text(text), point) == (wanted.number, wanted.segment), (chosen, point)
            assert json_choice(tree, point) == (wanted.number, wanted.segment), (chosen, point)
        else:
            assert wanted == Candidate()


@given(chosen=choices(), call=calls)
@settings(max_examples=60)
def test_a_call_meets_what_was_chosen(
    tmp_path_factory: pytest.TempPathFactory, chosen: Chosen, call: Point
) -> None:
    """At each point its choice; between two points with one choice that one; elsewhere the library's own."""
    forms_agree(tmp_path_factory.getbasetemp(), chosen, [*chosen, call])


def test_neighbouring_bytes_have_no_gap(tmp_path: Path) -> None:
    chosen = {Point("bcast", 4, size): Candidate(f"way{size - 5}", size - 5) for size in (7, 8)}
    chosen |= {
        Point("allgather", 4, 64): Candidate("way1", 1),
        Point("allgather", 4, 128): Candidate("way1", 1),
    }
    beside = [Point("bcast", 4, 6), Point("bcast", 4, 9), Point("bcast", 5, 7), Point("allgather", 4, 65)]
    forms_agree(tmp_path, chosen, [*chosen, *beside, Point("allgather", 4, 129), Point("allgather", 4, 63)])


def test_the_text_never_leaves_out_size_0_and_names_fan_outs(tmp_path: Path) -> None:
    bench = emulated_bench(tmp_path)
    chosen = {Point("bcast", 8, size): Candidate("way2", 2, 4096, 3) for size in (1024, 2048)}
    write_rules(bench, chosen, tmp_path / "rules.conf", None)
    lines = (tmp_path / "rules.conf").read_text().splitlines()
    words = [line.partition("#")[0].split() for line in lines]
    assert words == [
        ["1"],
        ["7"],
        ["2"],
        ["8"],
        ["3"],
        ["0", "0", "0", "0"],
        ["1024", "2", "3", "4096"],
        ["2049", "0", "0", "0"],
        ["9"],
        ["1"],
        ["0", "0", "0", "0"],
    ]


def test_json_has_inclusive_ranges_of_numbers(tmp_path: Path) -> None:
    text = written(
        tmp_path, "openmpi-json", {Point("bcast", 4, size): Candidate("way2", 2, 4096, 3) for size in (1, 99)}
    )
    whole = json.loads(text)
    assert whole["rule_file_version"] == 3
    (entry,) = whole["collectives"]["bcast"]
    assert (entry["comm_size_min"], entry["comm_size_max"]) == (4, 4)
    assert entry["rules"] == [
        {"msg_size_min": 1, "msg_size_max": 99, "alg": 2, "seg_size": 4096, "faninout": 3}
    ]


@given(chosen=choices(("bcast", "alltoall", "barrier")))
@settings(max_examples=40)
def test_mpichs_tree_chooses_what_was_chosen(
    tmp_path_factory: pytest.TempPathFactory, chosen: Chosen
) -> None:
    text = written(tmp_path_factory.getbasetemp(), "mpich-json", chosen)
    for point, one in chosen.items() if text else ():
        name = f"MPIR_{point.collective.capitalize()}_intra_{one.name}"
        assert tree_leaf(json.loads(text), point) == (name if one.number else own_leaf(point))
        for ranks in (point.ranks - 1, point.ranks + 1):
            other = Point(point.collective, ranks, point.bytes)
            if not any((p.collective, p.ranks) == (other.collective, other.ranks) for p in chosen):
                assert tree_leaf(json.loads(text), other) == own_leaf(other)


def test_a_rule_that_a_call_of_mpich_does_not_meet_is_noticed(tmp_path: Path) -> None:
    """Seen by what the library does with a tree that is broken there."""
    bench, file = emulated_bench(tmp_path, "mpich-json"), tmp_path / "rules.json"
    write_rules(bench, {Point("bcast", 4, size): Candidate("way2", 2) for size in (100, 999)}, file, None)
    asked = Algorithm("bcast", "way2", 2)
    before = file.read_text()
    verdicts = verify(bench, file, {Point("bcast", 4, 512): asked, Point("alltoall", 4, 512): asked})
    assert verdicts[Point("bcast", 4, 512)].verified
    assert file.read_text() == before
    assert "matches no rule" in str(verdicts[Point("alltoall", 4, 512)].problem)


def test_an_mpich_without_a_tree_is_reported(tmp_path: Path) -> None:
    bench = emulated_bench(tmp_path, "mpich-json")
    bench.file.write_bytes(b'\0{"collective=bcast":{}}\0')
    with pytest.raises(RecorderError, match="tree of algorithms"):
        write_rules(bench, {Point("bcast", 4, 8): Candidate("way2", 2)}, tmp_path / "rules.json", None)
