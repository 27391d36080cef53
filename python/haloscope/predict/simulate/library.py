"""SMPI as a library for `haloscope bench collective`, on a platform, with simulated time."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from haloscope.base.errors import SimulationError
from haloscope.predict.mpi_library import COLLECTIVES, Algorithm, program
from haloscope.predict.simulate import simgrid
from haloscope.predict.simulate.platform import Platform
from haloscope.predict.simulate.running import SimulationOptions, make_command

_VALID = re.compile(r"Valid algorithms: ([^\n]*?)\.?\n")
# Selectors by size and number of ranks, which are not algorithms; the first is the default of each library.
_SELECTORS = {"default", "ompi", "mpich", "mvapich2", "impi", "automatic"}
_UNSELECTABLE = {"gatherv", "scatterv", "reduce_scatter_block"}
_EAGER = 65536
_CHAIN = Algorithm(
    "bcast", "chain", None, (("HALOSCOPE_CHAINS", "4"),), ("HALOSCOPE_CHAIN_SEGMENT",), ("HALOSCOPE_CHAINS",)
)


@dataclass(frozen=True)
class SmpiLibrary:
    """A library with the defaults of `selector`, all algorithms of SMPI, and a chain broadcast."""

    platform: Platform
    selector: str = "openmpi"
    eager: int = _EAGER
    directory: tempfile.TemporaryDirectory[str] = field(
        default_factory=lambda: tempfile.TemporaryDirectory(prefix="haloscope-simulate-"),
        repr=False,
        compare=False,
    )

    known: dict[str, tuple[Algorithm, ...]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def name(self) -> str:
        return f"SimGrid SMPI {simgrid.find_version()} on {self.platform.name}"

    def collectives(self) -> tuple[str, ...]:
        return COLLECTIVES

    def algorithms(self, collective: str) -> tuple[Algorithm, ...]:
        if collective not in self.known:
            self.known[collective] = (Algorithm(collective), *self._list_algorithms(collective))
        return self.known[collective]

    def select(self, algorithm: Algorithm) -> None:
        del algorithm  # SMPI gets its algorithms as options

    def program(self, name: str) -> Path:
        return program(name, simgrid.find_smpicxx())

    def launch(
        self, program: Sequence[str], ranks: int, environment: Mapping[str, str], mapping: str | None = None
    ) -> list[str]:
        del mapping  # ranks fill the hosts in order
        chosen = {
            name.removeprefix("smpi/"): value
            for name, value in environment.items()
            if name.startswith("smpi/")
        }
        options = SimulationOptions(self.platform, ranks, self.selector, chosen, eager=self.eager)
        directory = Path(self.directory.name) / str(ranks)
        directory.mkdir(exist_ok=True)
        # The chain is not an algorithm of SMPI.
        words = ["-wrapper", f"env LD_PRELOAD={simgrid.build_simulation().before_smpi}"]
        return [*make_command(options, directory, *words), *program]

    def _list_algorithms(self, collective: str) -> tuple[Algorithm, ...]:
        names = [] if collective in _UNSELECTABLE else self._query_names(collective)
        found = [Algorithm(collective, name, None, ((f"smpi/{collective}", name),)) for name in names]
        return (*found, _CHAIN) if collective == "bcast" else tuple(found)

    def _query_names(self, collective: str) -> list[str]:
        """Return SMPI's algorithms of a collective, which it lists if an unknown one is requested."""
        words = self.launch([str(simgrid.build_application("cg"))], 1, {f"smpi/{collective}": "?"})
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SimulationError(f"smpirun does not answer: {error}") from None
        listed = _VALID.search(done.stderr)
        if listed is None:
            return []
        return [name for name in listed[1].split(", ") if name not in _SELECTORS]
