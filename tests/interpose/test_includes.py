"""Rooms of `src`: includes say which one they are from, and arrows between rooms go one way."""

from __future__ import annotations

import re

from house import SOURCE_ROOMS, SOURCES, include_arrows, includes, is_back
from support.mpi import CHECKOUT

GENERATED = {"interpose/real.hpp", "algorithms.h"}
GENERATED |= {f"watch/{name}.hpp" for name in ("functions", "schema", "columns", "declared")}
USERS = ("apps", "tests", "benchmarks")


def test_every_room_is_in_the_order() -> None:
    assert {path.name for path in SOURCES.iterdir() if path.is_dir()} == set(SOURCE_ROOMS)


def test_includes_say_their_room() -> None:
    unknown = [
        f"{file.relative_to(CHECKOUT)}: {name}"
        for file, name in includes(SOURCES)
        if name not in GENERATED and not (SOURCES / name).is_file()
    ]
    assert unknown == []


def test_who_uses_a_room_says_so() -> None:
    """Applications, tests and benchmarks: what is not beside them is named from `src` on."""
    unknown = [
        f"{file.relative_to(CHECKOUT)}: {name}"
        for root in USERS
        for file, name in includes(CHECKOUT / root)
        if not any((place / name).is_file() for place in (file.parent, SOURCES))
    ]
    assert unknown == []


def test_arrows_go_one_way() -> None:
    back = [pair for pair in include_arrows() if is_back(SOURCE_ROOMS, *pair)]
    assert back == []


def test_interpose_names_no_library_that_uses_it() -> None:
    names = re.compile(
        r"haloscope::(watch|hide|inject|place|layer|heap|halo|fem|overlap)\b|\b(watch|hide|inject)/"
    )
    found = [
        f"{file.name}: {match[0]}"
        for file in sorted((SOURCES / "interpose").iterdir())
        if file.is_file() and (match := names.search(file.read_text()))
    ]
    assert found == []
