"""The environment of a measurement: what somebody must know to believe it."""

from __future__ import annotations

import contextlib
import datetime
import os
import platform
import shlex
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from haloscope.base.errors import HaloscopeError

__all__ = ["surroundings"]

_NOISE_SECONDS = 0.2
_VARIABLES = ("OMPI_", "PRTE_", "PMIX_", "MPIR_", "MPICH_", "UCX_", "FI_", "I_MPI_", "HYDRA_")


def surroundings(library: str, launcher: str, method: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first record of a sweep."""
    return {
        "record": "environment",
        "haloscope": version("haloscope"),
        "library": library,
        "launcher": launcher,
        "host": platform.node(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[0], 2),
        "kernel": f"{platform.system()} {platform.release()}",
        "governor": _line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "turbo": _line("/sys/devices/system/cpu/intel_pstate/no_turbo"),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": shlex.join(["haloscope", *sys.argv[1:]]),
        "variables": {n: v for n, v in sorted(os.environ.items()) if n.startswith(_VARIABLES)},
        "method": dict(method),
        "noise": _noise(),
    }


def _noise() -> dict[str, Any] | None:
    """What the system takes from programs just now; unknown where the probe cannot run."""
    from haloscope.predict.bench._noise import noise

    with contextlib.suppress(HaloscopeError):
        return noise(_NOISE_SECONDS).summary()
    return None


def _line(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return None


def _processor() -> str | None:
    lines = (_line("/proc/cpuinfo") or "").splitlines()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, None)
