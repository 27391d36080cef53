"""What tests of OTF2 need of this machine, and what its own readers find in an archive."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from haloscope import ComponentError
from haloscope.explain.export import EXPORTS, TracedProfile
from support import read_otf2
from support.missing import missing
from support.processes import run_program
from support.traces import Script

# Debian's, which has the reader.
_PYTHON = "/usr/bin/python3"
_INSTALL = "apt-get install libopen-trace-format2-dev otf2-tools python3-otf2"


@cache
def _has_library() -> bool:
    with TemporaryDirectory() as folder:
        try:
            EXPORTS["otf2"].load()(TracedProfile(Script(1).trace()), Path(folder, "archive"))
        except ComponentError:
            return False
    return True


@cache
def _has_reader() -> bool:
    try:
        reader = subprocess.run([_PYTHON, "-c", "import otf2"], capture_output=True, check=False)
    except OSError:
        return False
    return reader.returncode == 0 and shutil.which("otf2-print") is not None


def need_otf2_library() -> None:
    """Skip the test unless OTF2's library is installed."""
    if not _has_library():
        missing(f"no OTF2 library: {_INSTALL}")


def need_otf2() -> None:
    """Skip the test unless OTF2's library, its printer and its reader are installed."""
    need_otf2_library()
    if not _has_reader():
        missing(f"no reader of OTF2: {_INSTALL}")


def read_archive(directory: Path) -> dict[str, Any]:
    """What the reader finds; otf2-print reads it, too, without a word of warning."""
    anchor = str(directory / "traces.otf2")
    printed = subprocess.run(["otf2-print", anchor], capture_output=True, check=False)
    assert (printed.returncode, printed.stderr) == (0, b"")
    words = [_PYTHON, str(read_otf2.__file__), anchor]
    found: dict[str, Any] = json.loads(run_program(words).stdout)
    assert [location["events"] for location in found["locations"]] == [
        len(events) for events in found["events"]
    ]
    return found


def check_order(found: dict[str, Any]) -> None:
    """Times never go back, regions nest, and messages are within functions of MPI."""
    functions = {name for name, _, paradigm in found["regions"] if paradigm == "Paradigm.MPI"}
    for events in found["events"]:
        opened: list[str] = []
        assert [event["time"] for event in events] == sorted(event["time"] for event in events)
        for event in events:
            if event["type"] == "Enter":
                opened.append(event["region"])
            elif event["type"] == "Leave":
                assert opened.pop() == event["region"]
            else:
                assert opened[-1] in functions
        assert opened == []


def matrix(found: dict[str, Any], sending: bool) -> Counter[tuple[int, int, int]]:
    """Messages by sender, receiver and bytes, as world ranks, from one side."""
    kinds = (
        {"MpiSend": "receiver", "MpiIsend": "receiver"}
        if sending
        else {"MpiRecv": "sender", "MpiIrecv": "sender"}
    )
    messages: Counter[tuple[int, int, int]] = Counter()
    for index, events in enumerate(found["events"]):
        for event in events:
            if event["type"] in kinds:
                other = found["communicators"][event["communicator"]][1][event[kinds[event["type"]]]]
                pair = (index, other) if sending else (other, index)
                messages[pair[0], pair[1], event["msg_length"]] += 1
    return messages
