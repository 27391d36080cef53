"""What can be simulated: a program, the pattern of a profile, a trace. Each makes a profile."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from haloscope.base.building import applications
from haloscope.base.errors import UsageError
from haloscope.predict.simulate import _simgrid
from haloscope.predict.simulate._description import Change
from haloscope.predict.simulate._pattern import Pattern
from haloscope.predict.simulate._profile import save
from haloscope.predict.simulate._running import Options, simulated
from haloscope.predict.simulate._traces import trace_list, write_traces

__all__ = ["ProfileWork", "ProgramWork", "TraceWork", "Work", "what_if"]


class Work(Protocol):
    """Something that can be simulated again and again, on this network and on others."""

    name: str
    eager: int
    """Messages under so many bytes do not wait for their receiver, unless asked for."""

    def counted(self, options: Options) -> Any:
        """Simulate; a context that gives the file with the counts."""

    def about(self) -> dict[str, Any]:
        """For the profile's `info`."""


class ProgramWork:
    """A bundled application, or a program that was compiled with smpicc."""

    def __init__(self, command: Sequence[str]) -> None:
        self.path = _simgrid.executable(command[0])
        self.command = [str(self.path), *command[1:]]
        self.name = self.path.name
        # Bundled ones post receives and sends before they wait: no message needs a buffer. Others
        # may rely on buffers, with which SimGrid gets slow after some hundred messages a rank.
        bundled = command[0] in applications()
        self.eager = 0 if bundled else 65536
        self.text = shlex.join(command)

    @contextmanager
    def counted(self, options: Options) -> Iterator[Path]:
        with simulated(options, self.command) as counts:
            yield counts

    def about(self) -> dict[str, Any]:
        return {"program": self.name, "command": self.text}


class TraceWork:
    """A trace in SimGrid's text: its list of files, or a directory with a file a rank."""

    eager = 0

    def __init__(self, place: Path, ranks: int | None) -> None:
        self.files = trace_list(place)
        self.ranks = len(self.files)
        if ranks not in (None, self.ranks):
            raise UsageError(f"{place}: is a trace of {self.ranks} ranks, not {ranks}")
        self.name = place.name.partition(".")[0] or "trace"
        self.place = place

    @contextmanager
    def counted(self, options: Options) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="haloscope-trace-") as name:
            listing = Path(name) / "list"
            listing.write_text("".join(f"{file}\n" for file in self.files), encoding="utf-8")
            with simulated(replace(options, privatize=False), traces=listing) as counts:
                yield counts

    def about(self) -> dict[str, Any]:
        return {"program": self.name, "command": f"trace {self.place}"}


class ProfileWork:
    """The pattern of a profile, at its number of ranks or scaled."""

    eager = 0

    def __init__(self, profile: Path, ranks: int | None, scale: str, compute: float = 1) -> None:
        self.pattern = Pattern.of(profile, ranks, scale, compute)
        self.ranks = self.pattern.ranks
        self.name = self.pattern.program
        self.profile, self.scale = profile, scale

    @contextmanager
    def counted(self, options: Options) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="haloscope-trace-") as name:
            listing = write_traces(self.pattern, Path(name))
            with simulated(replace(options, privatize=False), traces=listing) as counts:
                yield counts

    def about(self) -> dict[str, Any]:
        return {"program": self.name, "command": f"pattern of {self.profile}, {self.pattern.how}"}


def what_if(work: Work, options: Options, output: Path, change: Change | None = None) -> None:
    """Simulate once and write the profile."""
    options = options if change is None else replace(options, change=change)
    with work.counted(options) as counts:
        about = {
            **work.about(), "platform": options.platform.name, "collectives": options.selector,
            "latency_factor": options.change.latency, "compute_factor": options.compute,
            "bandwidth_factor": min(options.change.bandwidth, 1e300),
        }  # fmt: skip
        save(counts, output, options.ranks, about)
