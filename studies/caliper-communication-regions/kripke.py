"""Partners and messages of Kripke's processes in a phase, which is an iteration: section IV-A."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from haloscope import explain
from haloscope.reproduce.study import Reproduced, Tested

REGION = "sweep_comm"


def read_partners(paths: list[Path]) -> tuple[dict[int, set[int]], set[float]]:
    """Return which numbers of partners occur, by processes, and of messages to a partner in an iteration."""
    partners: dict[int, set[int]] = {}
    messages: set[float] = set()
    for path in paths:
        with explain.open(path) as profile:
            ranks = profile.table("ranks", region=REGION)
        partners[len(ranks)] = set(ranks["dest_ranks"])
        messages |= set(ranks.select(pl.col("sends_instance_max") / pl.col("dest_ranks")).to_series())
    return partners, messages


def numbers(partners: Mapping[int, set[int]], messages: set[float]) -> Iterator[Reproduced]:
    """Yield the numbers of the section."""
    why = "4 of 8 sets of directions face a partner, and each has 16 sets of groups"
    yield Reproduced("Kripke: messages to each partner in a phase", max(messages), "counted", why=why)
    yield Reproduced("Kripke: partners of a corner", min(partners[max(partners)]), "counted")
    yield Reproduced("Kripke: partners in the middle", max(partners[max(partners)]), "counted")


def claims(partners: Mapping[int, set[int]]) -> Iterator[Tested]:
    """Yield the claims of the section."""
    least, most = min(partners), max(partners)
    yield Tested("Kripke corners", partners[least] == {3}, _text(least, partners), "counted")
    yield Tested("Kripke three or six", partners[most] <= {3, 6}, _text(most, partners), "counted")


def _text(ranks: int, partners: Mapping[int, set[int]]) -> str:
    return f"{ranks} processes: {', '.join(map(str, sorted(partners[ranks])))} partners"
