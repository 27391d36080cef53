"""An OTF2 archive, read by a program that is built with OTF2's own library."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from haloscope.base import paths
from haloscope.base.arrays import AnyArray
from haloscope.base.building import build_executable
from haloscope.base.errors import ProfileError
from haloscope.base.toolchain import compiler
from haloscope.profile.importing.foreign_tables import make_unreadable_error
from haloscope.profile.importing.otf2_loader import find_otf2
from haloscope.profile.store.framing import REMEDY

# As `Kind` in src/explain/importing/event_files.hpp.
KINDS = (
    "enter",
    "leave",
    "send",
    "post_send",
    "sent",
    "post_receive",
    "receive",
    "received",
    "begin_collective",
    "end_collective",
    "post_collective",
    "collective",
    "cancelled",
)
NO_NUMBER = 2**32 - 1
_EVENT = np.dtype([("time", "<u8"), ("kind", "u1"), ("value", "<u4")])
_MESSAGE = np.dtype(
    [
        ("partner", "<u4"),
        ("communicator", "<u4"),
        ("tag", "<u4"),
        ("bytes", "<u8"),
        ("request", "<u8"),
        ("received", "<u8"),
    ]
)
_SECONDS = 3600  # for an archive of any size; then the reader is ended


@dataclass
class Archive:
    """The content of an archive: definitions by number, and events, one location after the other.

    `locations` has the number of events of each. `value` of an event is a region, or the row of `messages`.
    `damage` has a text for each part that could not be read.
    """

    strings: dict[int, str] = field(default_factory=dict)
    nodes: dict[int, dict[str, int]] = field(default_factory=dict)
    processes: dict[int, dict[str, int]] = field(default_factory=dict)
    threads: dict[int, dict[str, int]] = field(default_factory=dict)
    regions: dict[int, dict[str, int]] = field(default_factory=dict)
    groups: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    communicators: dict[int, dict[str, int]] = field(default_factory=dict)
    paradigms: dict[tuple[int, int], int] = field(default_factory=dict)
    clock: dict[str, int] = field(default_factory=dict)
    locations: list[tuple[int, int]] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    events: AnyArray = field(default_factory=lambda: np.zeros(0, _EVENT))
    messages: AnyArray = field(default_factory=lambda: np.zeros(0, _MESSAGE))

    def text(self, number: int) -> str:
        """Return a string by its number; a placeholder if it is not defined."""
        return self.strings.get(number, f"<string {number}>")


def take_apart(path: Path, anchor: Path) -> Archive:
    """Return the archive of the file `anchor`. Raises `ProfileError` and `ComponentError`."""
    program = _program()
    with tempfile.TemporaryDirectory(prefix="haloscope-otf2-") as folder:
        events, messages = Path(folder) / "events", Path(folder) / "messages"
        command = [str(program), str(anchor), str(events), str(messages)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise make_unreadable_error(
                path, "this OTF2 archive", "OTF2's library does not come to an end"
            ) from None
        archive = _read_definitions(done.stdout.decode("utf-8", "backslashreplace").splitlines())
        if not archive.threads:
            why = "; ".join(archive.damage[:1]) or "it defines no locations"
            raise make_unreadable_error(path, "this OTF2 archive", f"{why}; {REMEDY}")
        if done.returncode < 0:
            archive.damage.append(f"OTF2's library ended by signal {-done.returncode}")
        elif done.returncode:
            raise ProfileError(
                f"{path}: {done.stderr.decode('utf-8', 'replace').strip() or 'cannot be read'}"
            )
        archive.events = np.fromfile(events, _EVENT)
        archive.messages = np.fromfile(messages, _MESSAGE)
    _trim(archive)
    return archive


def _program() -> Path:
    folder = paths.source("src", "explain", "importing")
    return build_executable(
        "otf2-columns", sorted(folder.glob("*.cpp")), [folder], Path(compiler()), options=find_otf2().words
    )


def _read_definitions(lines: Iterable[str]) -> Archive:
    archive = Archive()
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:  # the program was ended within a line
            continue
        _take(archive, record)
    return archive


def _take(archive: Archive, record: dict[str, Any]) -> None:
    kind, number = next(iter(record.items()))
    by_number = {
        "node": archive.nodes,
        "process": archive.processes,
        "thread": archive.threads,
        "region": archive.regions,
        "communicator": archive.communicators,
    }
    if kind in by_number:
        by_number[kind].setdefault(number, record)
    elif kind == "string":
        archive.strings.setdefault(number, record["text"])
    elif kind == "group":
        key = (number, record["type"])
        archive.groups.setdefault(key, record["members"])
        archive.paradigms.setdefault(key, record["paradigm"])
    elif kind == "location":
        archive.locations.append((number, record["events"]))
    elif kind == "clock":
        archive.clock = record
    elif kind == "damage":
        archive.damage.append(f"{number} {record['id']}: {record['why']}")


def _trim(archive: Archive) -> None:
    """Remove incomplete data, if the program was ended early."""
    left = len(archive.events)
    counts = []
    for location, count in archive.locations:
        counts.append((location, min(count, left)))
        left -= counts[-1][1]
    archive.locations = counts
    archive.events = archive.events[: sum(count for _, count in counts)]
