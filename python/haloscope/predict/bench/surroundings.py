"""The environment of a measurement, and the noise of the system."""

from __future__ import annotations

import contextlib
import datetime
import os
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from haloscope.base.arrays import Floats
from haloscope.base.errors import HaloscopeError, UsageError
from haloscope.predict.bench.output_stream import Stopped, stream
from haloscope.predict.mpi_library import program

_BLOCKS = 20
_LONGEST = 5
# Smallest relative excess of an interrupted quantum over the fastest one; less may be the clock.
_DETOUR = 0.1
_NOISE_SECONDS = 0.2
_VARIABLES = ("OMPI_", "PRTE_", "PMIX_", "MPIR_", "MPICH_", "UCX_", "FI_", "I_MPI_", "HYDRA_")


@dataclass(frozen=True)
class Noise:
    """The times of equal quanta of work per processor (s)."""

    quantum: float
    samples: dict[int, Floats]

    def summary(self) -> dict[str, Any]:
        """Return the figures of all processors and of each one, as in an environment record."""
        each = [self._of(cpu, times) for cpu, times in self.samples.items()]
        worst = max(each, key=lambda processor: processor["lost"])
        return {
            "quantum": self.quantum,
            "lost": float(np.mean([processor["lost"] for processor in each])),
            "worst_lost": worst["lost"],
            "worst_cpu": worst["cpu"],
            "longest_detour": max(processor["longest_detours"][0] for processor in each),
            "processors": each,
        }

    def _of(self, cpu: int, times: Floats) -> dict[str, Any]:
        best = float(times.min())
        extra = times - best
        detours = extra[extra > _DETOUR * best]
        ends = np.cumsum(times)[extra > _DETOUR * best]
        # By blocks, because disturbances come in groups.
        shares = [
            1 - best * len(part) / float(part.sum()) for part in np.array_split(times, _BLOCKS) if len(part)
        ]
        spread = float(np.std(shares, ddof=1)) if len(shares) > 1 else 0.0
        half = 1.96 * spread / len(shares) ** 0.5
        lost = float(extra.sum() / times.sum())
        return {
            "cpu": cpu,
            "quanta": len(times),
            "best": best,
            "lost": lost,
            "lost_low": max(lost - half, 0.0),
            "lost_high": min(lost + half, 1.0),
            "detours": len(detours),
            "detours_a_second": len(detours) / float(times.sum()),
            "median_interval": float(np.median(np.diff(ends))) if len(ends) > 1 else None,
            "longest_detours": sorted(map(float, extra), reverse=True)[:_LONGEST],
        }


def bench_noise(
    duration: float = 0.5, quantum: float = 1e-5, processors: Sequence[int] | None = None
) -> Noise:
    """Measure the noise of this node.

    Args:
        duration: Duration of the measurement (s).
        quantum: Duration of one quantum of work (s).
        processors: Processors, which are measured at the same time; None: all usable ones.

    Raises:
        UsageError: A processor or a duration is invalid.
    """
    if not 0 < quantum <= duration / 10:
        raise UsageError("the quantum must be more than 0 and at most a tenth of the duration")
    allowed = sorted(os.sched_getaffinity(0))
    chosen = allowed if processors is None else sorted(set(processors))
    foreign = [processor for processor in chosen if processor not in allowed]
    if foreign or not chosen:
        raise UsageError(
            f"processor {foreign[0] if foreign else 'none'} is not usable; choose from "
            f"{', '.join(map(str, allowed))}"
        )
    command = [
        str(program("noise")),
        "--cpus",
        ",".join(map(str, chosen)),
        "--quantum",
        str(quantum * 1e9),
        "--duration",
        str(duration * 1e9),
    ]
    samples = {}
    try:
        for record in stream(command, os.environ, 60 + 5 * duration):
            if not record["bound"]:
                raise HaloscopeError(f"processor {record['cpu']}: cannot bind to it")
            samples[int(record["cpu"])] = np.array(record["samples_ns"], dtype=np.float64) * 1e-9
    except Stopped as stopped:
        raise HaloscopeError(f"the measurement of noise failed: {stopped.reason}") from None
    return Noise(quantum, samples)


def describe_environment(library: str, launcher: str, method: Mapping[str, Any]) -> dict[str, Any]:
    """Return the environment record, the first one of a sweep."""
    return {
        "record": "environment",
        "haloscope": version("haloscope"),
        "library": library,
        "launcher": launcher,
        "host": platform.node(),
        "processor": _read_processor(),
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[0], 2),
        "kernel": f"{platform.system()} {platform.release()}",
        "governor": _read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "turbo": _read_line("/sys/devices/system/cpu/intel_pstate/no_turbo"),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": shlex.join(["haloscope", *sys.argv[1:]]),
        "variables": {n: v for n, v in sorted(os.environ.items()) if n.startswith(_VARIABLES)},
        "method": dict(method),
        "noise": _measure_noise(),
    }


def _measure_noise() -> dict[str, Any] | None:
    """Return the present noise of the system; None if it cannot be measured."""

    with contextlib.suppress(HaloscopeError):
        return noise(_NOISE_SECONDS).summary()
    return None


def _read_line(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return None


def _read_processor() -> str | None:
    lines = (_read_line("/proc/cpuinfo") or "").splitlines()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, None)


def find_free_memory() -> int:
    """Return the free memory of this machine in bytes."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


# Its name in `import haloscope`.
noise = bench_noise
