"""A simulation: its subject, platform and factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import polars as pl

from haloscope.base.building import applications
from haloscope.base.errors import UsageError
from haloscope.base.units import noun_text
from haloscope.predict.kinds import find_kind
from haloscope.predict.progress import Progress, show_no_progress
from haloscope.predict.simulate.change import Change
from haloscope.predict.simulate.description import name_hosts
from haloscope.predict.simulate.platform import Platform, load_platform
from haloscope.predict.simulate.replay_delays import Delays
from haloscope.predict.simulate.running import SimulationOptions
from haloscope.predict.simulate.scaled_work import ScaledWork
from haloscope.predict.simulate.simgrid import find_smpirun
from haloscope.predict.simulate.works import (
    ProfileWork,
    ProgramWork,
    SimulationWork,
    TraceWork,
    measure_sensitivity,
    simulate_once,
)
from haloscope.profile.importing import kind_of_foreign
from haloscope.watch import Output, expand


@dataclass(frozen=True)
class Simulation:
    """A simulation and its parameters.

    Attributes:
        what: One of: a program with its arguments (a bundled application, or compiled with smpicc); a
            profile, whose trace is replayed, or its pattern if it has no trace; a trace in SimGrid's text (a
            directory with one file per rank, or a list of files); or profiles of one program at five numbers
            of ranks or more, which are extrapolated (`prediction`).
        platform: Name or file of a network or machine.
        ranks: Number of ranks. Needed for a program; the pattern of a profile is scaled to it.
        scale: Scaling of a pattern, `weak` or `strong`.
        collectives: Library whose selection of algorithms is used: openmpi, mpich, mvapich2, intelmpi or
            smpi.
        algorithms: SimGrid's names of algorithms for single collectives.
        latency_factor: Factor of latencies.
        bandwidth_factor: Factor of bandwidths; infinity means unlimited.
        compute_factor: Factor of computing times; 0 means no computing. With several, rank r has the one at r
            modulo their number.
        eager: Messages below this size (bytes) do not wait for their receiver. None: 0 for bundled programs,
            profiles and traces, 65536 for other programs.
        time_limit: Seconds of real time after which the simulation is ended.
        series: Regions (names or paths) of which every instance is kept, as in `haloscope.run`.
        slice: Length of a slice of the history in simulated seconds; None: 1, 0: no slices.
        latency: Latency models of messages, as in `haloscope inject --latency`.
        seed: Seed of these latencies.
    """

    what: str | Path | Sequence[str | Path]
    platform: str
    ranks: int | None = None
    scale: str = "weak"
    collectives: str = "openmpi"
    algorithms: Mapping[str, str] = field(default_factory=dict)
    latency_factor: float = 1.0
    bandwidth_factor: float = 1.0
    compute_factor: float | Sequence[float] = 1.0
    eager: int | None = None
    time_limit: float | None = None
    series: tuple[str, ...] = ()
    slice: float | None = None
    latency: str | Sequence[str] = ()
    seed: int = 0

    def run(self, output: str | Path | None = None, progress: Progress = show_no_progress) -> Path:
        """Simulate, and return the path of the profile.

        Args:
            output: File of the profile; by default PROGRAM-N-DATE.halo.
            progress: Progress of the simulation.

        Raises:
            UsageError: The subject cannot be simulated.
            SimulationError: The program fails.
        """
        options, target = self._options, self._output_path(output)
        with progress(1) as step:
            step(f"simulating {noun_text(options.ranks, 'rank')} on {self._network.name}")
            simulate_once(self._work, options, target)
        return target

    def sensitivity(self, factors: Sequence[float], progress: Progress = show_no_progress) -> pl.DataFrame:
        """Simulate with each factor of the latencies.

        Returns:
            One row per region. `time_xF` are mean times of the ranks (s) with the factor F. `slope` is the
            increase in seconds per latency of the platform, `share` the slope over the time with the smallest
            factor from 1 on.
        """
        options = self._options
        with progress(len(factors)) as step:
            return measure_sensitivity(self._work, options, factors, step)

    @property
    def has_prediction(self) -> bool:
        """Whether the subject is several profiles of a program."""
        return isinstance(self._work, ScaledWork)

    def prediction(
        self, output: str | Path | None = None, progress: Progress = show_no_progress
    ) -> pl.DataFrame:
        """Extrapolate several profiles to `ranks` ranks, and write the profile of the simulation.

        Returns:
            One row per region. `time` is the mean per rank (s), `low` and `high` its interval. It is the sum
            of `computing`, simulated `messages`, and `waiting`, which is null if the network of the profiles
            is unknown. `law` is the scaling model of the region's own computing.
        """
        work, options = self._work, self._options
        if not isinstance(work, ScaledWork):
            raise UsageError("a prediction needs profiles of one program at five numbers of ranks or more")
        target = self._output_path(output)
        with progress(work.count_simulations(options)) as step:
            return work.predict(options, target, step)

    def _output_path(self, output: str | Path | None) -> Path:

        prepared = Output.prepare(None if output is None else Path(output))
        return expand(prepared.pattern, self._options.ranks, self._work.name)

    @cached_property
    def _network(self) -> Platform:
        network = load_platform(self.platform)
        find_smpirun()  # reports a missing SimGrid before anything is compiled
        return network

    @cached_property
    def _work(self) -> SimulationWork:
        words = [str(self.what)] if isinstance(self.what, (str, Path)) else [str(word) for word in self.what]
        if not words:
            raise UsageError("give a program or profile to simulate, such as cg --nx 16, ./app, or a profile")
        if len(words) > 1 and all(map(is_profile, words)):
            if self.ranks is None:
                raise UsageError("several profiles need a number of ranks to scale to: -n N")
            name_hosts(self._network, self.ranks)
            return ScaledWork([Path(word) for word in words], self.ranks, self.scale, self._compute)
        if is_profile(words[0]):
            return ProfileWork(_require_single(words), self.ranks, self.scale, self._compute)
        if _is_trace(Path(words[0])):
            return TraceWork(_require_single(words), self.ranks)
        if self.ranks is None:
            raise UsageError("a program needs a number of ranks: -n N")
        # Report too many ranks before a compilation.
        name_hosts(self._network, self.ranks)
        return ProgramWork(words)

    @property
    def _compute(self) -> float:
        """The factor of all ranks' computing; several factors are applied by the replay."""
        return float(self.compute_factor) if isinstance(self.compute_factor, (int, float)) else 1.0

    @cached_property
    def _options(self) -> SimulationOptions:
        network, work = self._network, self._work
        factors: Sequence[float] = ()
        if not isinstance(self.compute_factor, (int, float)):
            factors = self.compute_factor
        elif isinstance(work, TraceWork) and self._compute != 1:
            factors = (self._compute,)
        delays = Delays.read(self.latency, self.seed, factors)
        if delays.is_needed_on(network) and not isinstance(work, (ProfileWork, TraceWork)):
            raise UsageError(
                "latencies, factors per rank and shared memory are of the replay of a profile or trace: "
                "simulate the program with -o F.halo on a platform without them, then F.halo with them"
            )
        ranks = work.ranks if isinstance(work, (ProfileWork, TraceWork)) else self.ranks or 0
        name_hosts(network, ranks)
        return SimulationOptions(
            network,
            ranks,
            self.collectives,
            self.algorithms,
            Change(self.latency_factor, self.bandwidth_factor),
            self._compute,
            work.eager if self.eager is None else self.eager,
            self.time_limit,
            series=self.series,
            slice=self.slice,
            delays=delays,
        )


def simulate(
    what: str | Path | Sequence[str | Path],
    platform: str,
    output: str | Path | None = None,
    *,
    ranks: int | None = None,
    collectives: str = "openmpi",
    compute_factor: float = 1.0,
    progress: Progress = show_no_progress,
) -> Path:
    """Simulate a program, a profile's pattern, or a trace on a described network; return the profile's path.

    `Simulation` describes the parameters, and has more of them.

        profile = haloscope.simulate(["cg", "--nx", "16"], "fat-tree", "cg-64.halo", ranks=64)
    """
    simulation = Simulation(what, platform, ranks, collectives=collectives, compute_factor=compute_factor)
    return simulation.run(output, progress)


def is_profile(word: str) -> bool:
    """Return whether the word is the path of a profile, which may not exist."""
    path = Path(word)
    if not path.is_file():
        return word.endswith(".halo") or kind_of_foreign(path) is not None
    return path.suffix == ".halo" or _find_kind(path) == "profile"


def _find_kind(path: Path) -> str | None:
    try:
        return find_kind(path)
    except (UsageError, OSError):
        return None


def _is_trace(path: Path) -> bool:
    """Return whether the path is a directory of traces or a list of traces, not a program."""
    if path.is_dir():
        return str(path) not in applications()
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return not file.read(4).startswith((b"\x7fELF", b"#!"))


def _require_single(words: Sequence[str]) -> Path:
    if len(words) > 1:
        raise UsageError(f"{words[1]}: a profile or trace takes no arguments")
    return Path(words[0])
