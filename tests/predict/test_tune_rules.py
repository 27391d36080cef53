"""Rules files: what is written is read again, and a call meets the rule that the library takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haloscope.base.errors import RecorderError, UsageError
from haloscope.predict.tune._mpich_rules import canary, embedded_tree, read_tree, write_tree
from haloscope.predict.tune._rules import (
    IDENTIFIERS,
    Rule,
    block_bytes,
    closed,
    counted_bytes,
    read_json,
    read_text,
    rule_for,
    write_json,
    write_text,
)
from support.missing import missing
from support.mpi import find

NAMES = {(c, n): f"{c}_{n}" for c in IDENTIFIERS for n in range(1, 8)}
EXAMPLE = """\
1                 # number of collectives
2                 # collective id (allreduce)
2                 # number of communicator sizes
4                 # communicator size
2                 # number of message rules
0      3 0 0      # bytes, algorithm, fan-in/out, segment size
65536  4 0 8192
64
1
0      0 0 0      # the library's own decision
"""
TREE = {
    "collective=bcast": {
        "comm_type=intra": {"avg_msg_size=any": {"algorithm=MPIR_Bcast_intra_binomial": {}}},
        "comm_type=inter": {"algorithm=MPIR_Bcast_inter_remote_send_local_bcast": {}},
    },
    "collective=alltoall": {
        "comm_type=intra": {"algorithm=MPIR_Alltoall_intra_pairwise": {}},
        "comm_type=inter": {"algorithm=MPIR_Alltoall_inter_pairwise_exchange": {}},
    },
    "collective=barrier": {"comm_type=intra": {"algorithm=MPIR_Barrier_intra_smp": {}}},
    "collective=exscan": {"algorithm=MPIR_Exscan_intra_recursive_doubling": {}},
}


@st.composite
def rules(draw: st.DrawFn, collectives: tuple[str, ...] = tuple(IDENTIFIERS)) -> list[Rule]:
    made = []
    places = draw(
        st.sets(
            st.tuples(st.sampled_from(collectives), st.integers(2, 9), st.integers(0, 1 << 20)),
            min_size=1,
            max_size=12,
        )
    )
    for collective, ranks, size in places:
        number = draw(st.integers(0, 7))
        name = NAMES[collective, number] if number else "default"
        segment = draw(st.sampled_from((0, 1024))) if number else 0
        made.append(Rule(collective, ranks, size, name, number, segment))
    return made


calls = st.tuples(st.integers(1, 12), st.integers(0, 1 << 21))


def choice(rule: Rule | None) -> tuple[int, int, int]:
    return (rule.number, rule.segment, rule.fanout) if rule else (0, 0, 0)


@given(rules(), calls)
def test_text_says_what_the_rules_say(made: list[Rule], call: tuple[int, int]) -> None:
    again = read_text(write_text(made), NAMES)
    assert again == closed(made)
    # For what was listed nothing changes; the rest is the library's.
    for collective in {rule.collective for rule in made}:
        ranks, size = call
        listed = any((r.collective, r.ranks) == (collective, ranks) for r in made)
        expected = rule_for(made, collective, ranks, size) if listed else None
        assert choice(rule_for(again, collective, ranks, size)) == choice(expected)


@given(rules(), calls)
def test_json_says_what_the_text_says(made: list[Rule], call: tuple[int, int]) -> None:
    text, again = closed(made), read_json(write_json(made), NAMES)
    for collective in {rule.collective for rule in made}:
        expected = choice(rule_for(text, collective, *call))
        assert choice(rule_for(again, collective, *call)) == expected


def test_json_has_inclusive_ranges_that_do_not_overlap() -> None:
    whole = json.loads(write_json([Rule("bcast", 4, 0, "chain", 2), Rule("bcast", 4, 100)]))
    assert whole["rule_file_version"] == 3
    (entry,) = whole["collectives"]["bcast"]
    assert (entry["comm_size_min"], entry["comm_size_max"]) == (4, 4)
    assert entry["rules"] == [{"msg_size_min": 0, "msg_size_max": 99, "alg": 2}]


def test_published_example_is_read() -> None:
    made = read_text(EXAMPLE)
    assert choice(rule_for(made, "allreduce", 3, 1 << 20)) == (0, 0, 0)
    assert choice(rule_for(made, "allreduce", 4, 65535)) == (3, 0, 0)
    assert choice(rule_for(made, "allreduce", 63, 65536)) == (4, 8192, 0)
    assert choice(rule_for(made, "allreduce", 64, 65536)) == (0, 0, 0)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("1 2 1 4 1 8 3 0 0", "begins at 8 bytes"),
        ("1 2 1 4 2 0 3 0 0", "ends"),
        ("1 17 1 4 1 0 3 0 0", "number 17"),
        ("rule-file-version-2 1 2", "a number"),
        ("", "ends"),
    ],
)
def test_what_the_library_would_ignore_is_refused(text: str, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        read_text(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"rule_file_version": 2, "module": "tuned", "collectives": {}}',
        "[]",
        "{",
        '{"rule_file_version": 3, "module": "tuned", "collectives": {"reducescatter": []}}',
    ],
)
def test_json_that_the_library_would_ignore_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="rules: "):
        read_json(text)


def test_text_never_leaves_out_size_0_and_names_fan_outs() -> None:
    lines = write_text([Rule("bcast", 8, 1024, "chain", 2, 4096)]).splitlines()
    words = [line.partition("#")[0].split() for line in lines]
    assert words == [
        ["1"],
        ["7"],
        ["2"],
        ["8"],
        ["2"],
        ["0", "0", "0", "0"],
        ["1024", "2", "4", "4096"],
        ["9"],
        ["1"],
        ["0", "0", "0", "0"],
    ]


@given(
    st.sampled_from(sorted(set(IDENTIFIERS) - {"barrier", "alltoallv"})),
    st.integers(1, 64),
    st.integers(0, 1 << 20),
)
def test_bytes_come_back(collective: str, ranks: int, size: int) -> None:
    size *= ranks  # a whole number of blocks
    assert block_bytes(collective, ranks, counted_bytes(collective, ranks, size)) == size


@given(rules(("bcast", "alltoall", "barrier")))
def test_mpich_tree_says_what_the_rules_say(made: list[Rule]) -> None:
    # What MPICH compares for alltoall is a destination's bytes; sizes are whole multiples.
    once = {}
    for rule in made:
        size = 0 if rule.collective == "barrier" else rule.bytes * rule.ranks
        once[rule.collective, rule.ranks, size] = Rule(rule.collective, rule.ranks, size, rule.algorithm)
    wanted = closed(list(once.values()))
    tree = write_tree(wanted, TREE)
    changed = {rule.collective for rule in wanted if not rule.default}
    assert {key for key in tree if tree[key] != TREE[key]} == {f"collective={c}" for c in changed}
    again = read_tree(tree, TREE)
    for rule in wanted:
        if rule.collective in changed:
            found = rule_for(again, rule.collective, rule.ranks, rule.bytes)
            assert (found.algorithm if found else "default") == rule.algorithm


def test_canary_breaks_the_one_rule() -> None:
    tree = write_tree([Rule("bcast", 4, 100, "tree"), Rule("bcast", 4, 1000)], TREE)
    broken = canary(tree, "bcast", 4, 512)
    ranks = broken["collective=bcast"]["comm_type=intra"]["comm_size<=4"]
    assert list(ranks["avg_msg_size<=999"]) == ["algorithm=MPIR_Exscan_intra_recursive_doubling"]
    ranks["avg_msg_size<=999"] = {"algorithm=MPIR_Bcast_intra_tree": {"tree_type=kary": {}, "k=2": {}}}
    assert broken == tree


@pytest.mark.parametrize("name", ["mpich-system", "mpich-wheel"])
def test_complete_tree_is_in_the_library(name: str) -> None:
    mpi = find(name) or missing(f"{name} is not installed")
    tree = embedded_tree(mpi.library)
    assert {"collective=bcast", "collective=ineighbor_alltoallw"} <= set(tree)


def test_library_without_a_tree_is_said(tmp_path: Path) -> None:
    library = tmp_path / "libmpi.so"
    library.write_bytes(b'\0{"collective=bcast":{}}\0')
    with pytest.raises(RecorderError, match="tree of algorithms"):
        embedded_tree(library)
