"""A simulation: what is simulated, on which platform, and with which factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import polars as pl

from haloscope.base.building import applications
from haloscope.base.errors import UsageError
from haloscope.predict.kinds import kind_of
from haloscope.predict.progress import Progress, silent
from haloscope.predict.simulate.description import Change, host_names
from haloscope.predict.simulate.platform import Platform, load_platform
from haloscope.predict.simulate.running import SimulationOptions
from haloscope.predict.simulate.scaled_work import ScaledWork
from haloscope.predict.simulate.simgrid import smpirun
from haloscope.predict.simulate.works import (
    ProfileWork,
    ProgramWork,
    SimulationWork,
    TraceWork,
    sensitivity,
    what_if,
)
from haloscope.profile.importing import kind_of_foreign
from haloscope.watch import Output, expand


@dataclass(frozen=True)
class Simulation:
    """What to simulate, and how.

    `what` is a program with its arguments (the name of a bundled application, or a program that was
    compiled with smpicc), the profile of one, whose trace is replayed, or its pattern if it has none,
    or a trace in SimGrid's text: a directory with a file a rank, or the list of the files. `platform` is
    the name or the file of a network or machine. `ranks` are needed for a program; the pattern of a
    profile is scaled to them, `weak` or `strong`. `what` may be profiles of one program at five numbers of
    ranks or more: computing then follows the laws that they show, and there is a `prediction`.

    `collectives` is whose choice of algorithms is taken: openmpi, mpich, mvapich2, intelmpi or smpi;
    `algorithms` has SimGrid's name of the algorithm for single collectives. Latencies, bandwidths
    and computing times are multiplied by their factors; a `bandwidth_factor` of infinity means no
    limit, a `compute_factor` of 0 that computing takes no time. Messages of fewer than `eager`
    bytes do not wait for their receiver: 0 for bundled programs, profiles and traces and 65536 for
    other programs if it is None. After `time_limit` seconds of this machine it is given up.

    Of the regions in `series`, names or paths, every instance is kept, as by `haloscope.run`; `slice` is
    the length of a slice of the history, in seconds of simulated time (1 if it is None, 0 for none).
    """

    what: str | Path | Sequence[str | Path]
    platform: str
    ranks: int | None = None
    scale: str = "weak"
    collectives: str = "openmpi"
    algorithms: Mapping[str, str] = field(default_factory=dict)
    latency_factor: float = 1.0
    bandwidth_factor: float = 1.0
    compute_factor: float = 1.0
    eager: int | None = None
    time_limit: float | None = None
    series: tuple[str, ...] = ()
    slice: float | None = None

    def run(self, output: str | Path | None = None, progress: Progress = silent) -> Path:
        """Simulate, and return the profile, which is written to `output` (PROGRAM-N-DATE.halo).

        Raises `UsageError` for what cannot be simulated, `SimulationError` for a program that does
        not end well.
        """
        options, place = self._options, self._place(output)
        with progress(1) as step:
            step(f"simulating {options.ranks} ranks on {self._network.name}")
            what_if(self._work, options, place)
        return place

    def sensitivity(self, factors: Sequence[float], progress: Progress = silent) -> pl.DataFrame:
        """Simulate with latencies times each factor; return a row for each region.

        `time_xF` are mean times of the ranks in seconds, `slope` the seconds more for one more of the
        platform's latency, `share` the slope over the time with the least factor from 1 on.
        """
        options = self._options
        with progress(len(factors)) as step:
            return sensitivity(self._work, options, factors, step)

    @property
    def has_prediction(self) -> bool:
        """True of several profiles of a program."""
        return isinstance(self._work, ScaledWork)

    def prediction(self, output: str | Path | None = None, progress: Progress = silent) -> pl.DataFrame:
        """Simulate what several profiles say of `ranks` ranks, and return a row for each region.

        `time` is of an average rank, `low` and `high` are the bounds of its interval; it is the sum of
        `computing`, of `messages`, as simulated, and of `waiting`, null where the network that the profiles
        are of is not known. `law` is that of the region's own computing. The profile of the simulation is
        written as by `run`.
        """
        work, options = self._work, self._options
        if not isinstance(work, ScaledWork):
            raise UsageError("a prediction needs profiles of a program at five numbers of ranks or more")
        place = self._place(output)
        with progress(work.simulations(options)) as step:
            return work.prediction(options, place, step)

    def _place(self, output: str | Path | None) -> Path:

        prepared = Output.prepare(None if output is None else Path(output))
        return expand(prepared.pattern, self._options.ranks, self._work.name)

    @cached_property
    def _network(self) -> Platform:
        network = load_platform(self.platform)
        smpirun()  # that it is missing is said before anything is compiled
        return network

    @cached_property
    def _work(self) -> SimulationWork:
        words = [str(self.what)] if isinstance(self.what, (str, Path)) else [str(one) for one in self.what]
        if not words:
            raise UsageError("name what to simulate: cg --nx 16, or ./app, or a profile")
        if len(words) > 1 and all(map(is_profile, words)):
            if self.ranks is None:
                raise UsageError("several profiles are scaled to a number of ranks: -n N")
            host_names(self._network, self.ranks)
            return ScaledWork([Path(word) for word in words], self.ranks, self.scale, self.compute_factor)
        if is_profile(words[0]):
            return ProfileWork(_only_word(words), self.ranks, self.scale, self.compute_factor)
        if _is_trace(Path(words[0])):
            return TraceWork(_only_word(words), self.ranks)
        if self.ranks is None:
            raise UsageError("a program needs a number of ranks: -n N")
        # Too many ranks are said now, not after a compilation.
        host_names(self._network, self.ranks)
        return ProgramWork(words)

    @cached_property
    def _options(self) -> SimulationOptions:
        network, work = self._network, self._work
        ranks = work.ranks if isinstance(work, (ProfileWork, TraceWork)) else self.ranks or 0
        host_names(network, ranks)
        return SimulationOptions(
            network,
            ranks,
            self.collectives,
            self.algorithms,
            Change(self.latency_factor, self.bandwidth_factor),
            self.compute_factor,
            work.eager if self.eager is None else self.eager,
            self.time_limit,
            series=self.series,
            slice=self.slice,
        )


def simulate(
    what: str | Path | Sequence[str | Path],
    platform: str,
    output: str | Path | None = None,
    *,
    ranks: int | None = None,
    collectives: str = "openmpi",
    compute_factor: float = 1.0,
    progress: Progress = silent,
) -> Path:
    """Run a program, the pattern of a profile, or a trace on a described network; return the profile.

    `Simulation` explains the parameters, and has more of them.

        profile = haloscope.simulate(["cg", "--nx", "16"], "fat-tree", "cg-64.halo", ranks=64)
    """
    asked = Simulation(what, platform, ranks, collectives=collectives, compute_factor=compute_factor)
    return asked.run(output, progress)


def is_profile(word: str) -> bool:
    """Return whether the word names a profile, also one that does not exist."""
    place = Path(word)
    if not place.is_file():
        return word.endswith(".halo") or kind_of_foreign(place) is not None
    return place.suffix == ".halo" or _kind(place) == "profile"


def _kind(place: Path) -> str | None:
    try:
        return kind_of(place)
    except (UsageError, OSError):
        return None


def _is_trace(place: Path) -> bool:
    """Return whether it is a directory of traces, or a text that lists them: nothing that could run."""
    if place.is_dir():
        return str(place) not in applications()
    if not place.is_file():
        return False
    with place.open("rb") as file:
        return not file.read(4).startswith((b"\x7fELF", b"#!"))


def _only_word(words: Sequence[str]) -> Path:
    if len(words) > 1:
        raise UsageError(f"{words[1]}: a profile or trace is replayed, and has no arguments")
    return Path(words[0])
