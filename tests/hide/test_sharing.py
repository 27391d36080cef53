"""The model of a copy that helpers share (benchmarks/halo/sharing.py), against closed forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

KIB, MIB = 1 << 10, 1 << 20
START, CORE, CLAIM, SEEN = 2e-6, 8e9, 3e-7, 5e-6


@pytest.fixture
def model(script: Callable[..., Any]) -> Any:
    return script("sharing", "benchmarks/halo")


def test_a_receiver_alone_copies_chunks_in_sequence(model: Any) -> None:
    machine = model.Machine(START, CORE, 4 * CORE, CLAIM)
    assert model.time_of(MIB, machine) == pytest.approx(START + MIB / CORE)
    chunks = START + 16 * CLAIM + MIB / CORE
    assert model.time_of(MIB, machine, 0, 64 * KIB) == pytest.approx(chunks)


@pytest.mark.parametrize("helpers", [1, 2, 3, 7])
@pytest.mark.parametrize("limit", [1.0, 2.0, 4.0, 16.0])
def test_many_chunks_reach_the_bandwidth_of_copiers_or_memory(model: Any, helpers: int, limit: float) -> None:
    machine = model.Machine(0.0, CORE, limit * CORE)
    least = 8 * MIB / min((helpers + 1) * CORE, limit * CORE)
    assert model.time_of(8 * MIB, machine, helpers, 4 * KIB) == pytest.approx(least, rel=1e-2)
    slow = model.Machine(START, CORE, limit * CORE, CLAIM, SEEN)
    assert model.time_of(8 * MIB, slow, helpers, 64 * KIB) > START + least


def test_the_last_chunk_is_copied_alone(model: Any) -> None:
    # Five chunks for four copiers: one copies the last chunk alone, without the limit of the memory.
    machine = model.Machine(0.0, CORE, 2 * CORE, CLAIM)
    one = 64 * KIB / CORE
    shared = model.time_of(5 * 64 * KIB, machine, 3, 64 * KIB)
    assert shared == pytest.approx(CLAIM + 2 * one + CLAIM + one)


def test_late_helpers_copy_less_or_nothing(model: Any) -> None:
    machine = model.Machine(0.0, CORE, 2 * CORE, 0.0, seen=10 * 64 * KIB / CORE)
    twelve = model.time_of(12 * 64 * KIB, machine, 1, 64 * KIB)
    assert twelve == pytest.approx(11 * 64 * KIB / CORE)  # the receiver copies ten, then both one each
    assert model.time_of(8 * 64 * KIB, machine, 1, 64 * KIB) == pytest.approx(8 * 64 * KIB / CORE)


def test_chunks_are_those_of_the_shm_library(model: Any) -> None:
    assert model.chunk_of(2 * MIB, 4) == 128 * KIB  # four per copier
    assert model.chunk_of(2 * MIB, 8) == 64 * KIB  # not below the least
    assert model.chunk_of(8 * MIB + 1, 2) == MIB + 4096  # whole pages
    assert model.chunk_of(2048 * MIB, 4096) == 512 * KIB  # 4096 at most
