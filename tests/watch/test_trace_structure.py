"""Repetitions in a sequence of events become rules, whose number does not depend on the repetitions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haloscope.profile.trace.thread_structure import _Rules, numbers
from support.mpi import CHECKOUT


@pytest.fixture(scope="module")
def finder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorder's own search as a program."""
    target = tmp_path_factory.mktemp("repeats") / "find"
    own = [
        CHECKOUT / "src" / "watch" / name
        for name in ("records/compress.cpp", "trace/packing.cpp", "trace/repeats.cpp")
    ]
    sources = [str(path) for path in (Path(__file__).with_name("repeats") / "find_repeats.cpp", *own)]
    flags = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined,address"]
    include = f"-I{CHECKOUT / 'src'}"
    subprocess.run(["c++", *flags, include, *sources, "-o", str(target), "-ldl"], check=True)
    return target


def packed(finder: Path, symbols: list[int]) -> bytes:
    words = np.array(symbols, dtype=np.uint32).tobytes()
    done = subprocess.run([finder], input=words, capture_output=True, check=True)
    assert done.stderr == b""
    return done.stdout


def unpacked(raw: bytes, symbols: int, events: int) -> list[int]:
    return [int(symbol) for symbol in _Rules(symbols, events).read(numbers(raw))]


# Loops in loops, with something between that is never the same.
bodies = st.recursive(
    st.lists(st.integers(0, 5), min_size=1, max_size=6),
    lambda inner: st.tuples(st.lists(inner, min_size=1, max_size=4), st.integers(1, 7)).map(
        lambda of: [symbol for part in of[0] for symbol in part] * of[1]
    ),
    max_leaves=12,
)


@given(sequence=bodies.filter(lambda body: len(body) < 20_000))
@settings(max_examples=40)
def test_nothing_is_lost(finder: Path, sequence: list[int]) -> None:
    assert unpacked(packed(finder, sequence), 6, len(sequence)) == sequence


@pytest.mark.parametrize(
    "iteration",
    [
        [0, 1, 2, 3],
        [0, 0, 1, 0, 0, 1, 2],
        [0, 1] * 20 + [2] + [3, 3, 4] * 7,
        ([0, 1] * 3 + [2]) * 5 + [3],
        list(range(500)),
    ],
)
def test_rules_are_as_long_for_ten_iterations_as_for_a_thousand(finder: Path, iteration: list[int]) -> None:
    few, many = (packed(finder, [600, *iteration * count, 601]) for count in (10, 1000))
    assert len(many) <= len(few) + 2  # digits of the number of iterations
    assert unpacked(many, 602, 2 + 1000 * len(iteration)) == [600, *iteration * 1000, 601]


def test_a_sequence_without_repetition_stays_one(finder: Path) -> None:
    sequence = np.random.default_rng(1).integers(0, 1000, 20_000).tolist()
    raw = packed(finder, sequence)
    assert unpacked(raw, 1000, len(sequence)) == sequence
    assert len(raw) < 4 * len(sequence)
