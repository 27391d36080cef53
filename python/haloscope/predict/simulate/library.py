"""SMPI as a library that `haloscope bench collective` measures: on a platform, by its clock."""

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
from haloscope.predict.simulate.running import SimulationOptions, command

_VALID = re.compile(r"Valid algorithms: ([^\n]*?)\.?\n")
# Choices by size and number of ranks, not algorithms; the first is all libraries' own here.
_SELECTORS = {"default", "ompi", "mpich", "mvapich2", "impi", "automatic"}
_UNSELECTABLE = {"gatherv", "scatterv", "reduce_scatter_block"}
_EAGER = 65536
_CHAIN = Algorithm(
    "bcast", "chain", None, (("HALOSCOPE_CHAINS", "4"),), ("HALOSCOPE_CHAIN_SEGMENT",), ("HALOSCOPE_CHAINS",)
)


@dataclass(frozen=True)
class SmpiLibrary:
    """Has `selector`'s choices as its own, all of SMPI's algorithms, and a chain broadcast."""

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
        return f"SimGrid SMPI {simgrid.version()} on {self.platform.name}"

    def collectives(self) -> tuple[str, ...]:
        return COLLECTIVES

    def algorithms(self, collective: str) -> tuple[Algorithm, ...]:
        if collective not in self.known:
            self.known[collective] = (Algorithm(collective), *self._offered(collective))
        return self.known[collective]

    def asked(self, algorithm: Algorithm) -> None:
        del algorithm  # SMPI is told before it starts

    def program(self, name: str) -> Path:
        return program(name, simgrid.smpicxx())

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
        place = Path(self.directory.name) / str(ranks)
        place.mkdir(exist_ok=True)
        # The chain is no algorithm of SMPI's.
        words = ["-wrapper", f"env LD_PRELOAD={simgrid.build_simulation().before_smpi}"]
        return [*command(options, place, *words), *program]

    def _offered(self, collective: str) -> tuple[Algorithm, ...]:
        names = [] if collective in _UNSELECTABLE else self._asked(collective)
        found = [Algorithm(collective, one, None, ((f"smpi/{collective}", one),)) for one in names]
        return (*found, _CHAIN) if collective == "bcast" else tuple(found)

    def _asked(self, collective: str) -> list[str]:
        """SMPI names its algorithms to whoever asks for one that it has not."""
        words = self.launch([str(simgrid.application("cg"))], 1, {f"smpi/{collective}": "?"})
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SimulationError(f"smpirun does not answer: {error}") from None
        listed = _VALID.search(done.stderr)
        if listed is None:
            return []
        return [one for one in listed[1].split(", ") if one not in _SELECTORS]
