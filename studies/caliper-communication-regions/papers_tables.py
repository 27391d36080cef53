"""Tables II and III of the paper next to this machine and these runs."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl

_DANE = "64, 128, 256, 512"
_TIOGA = "8, 16, 32, 64"


def architectures() -> pl.DataFrame:
    """Return Table II, with a column for this machine."""
    rows = [
        ("processor", "AMD Trento", "Intel Sapphire Rapids", _processor()),
        ("cores per node", "64", "112", str(os.cpu_count())),
        ("memory per node, GB", "512", "256", str(round(_memory() / 1e9))),
        ("GPUs", "AMD MI250X", "none", "none"),
        ("GPUs per node", "8", "0", "0"),
    ]
    return pl.DataFrame(rows, schema=["attribute", "Tioga", "Dane", "here"], orient="row")


def experiments() -> pl.DataFrame:
    """Return Table III, with a column for how each experiment is reproduced."""
    wide, small = "4x4x4, 8x4x4, 8x8x4, 8x8x8", "2x2x2, 4x2x2, 4x4x2, 4x4x4"
    nodes = {"Dane": "1, 2, 3, 5", "Tioga": "1, 2, 4, 8"}
    rows = [
        (
            "AMG2023",
            "Dane",
            "weak",
            "32x32x16",
            nodes["Dane"],
            _DANE,
            wide,
            "64 solved; more: the finest exchange",
        ),
        ("Kripke", "Dane", "weak", "16x32x32", nodes["Dane"], _DANE, wide, "64 run, all simulated"),
        (
            "Laghos",
            "Dane",
            "strong",
            "",
            "1, 2, 4, 8",
            "112, 224, 448, 896",
            "",
            "counted from the partition",
        ),
        (
            "AMG2023",
            "Tioga",
            "weak",
            "32x32x16",
            nodes["Tioga"],
            _TIOGA,
            small,
            "8 solved; more: the finest exchange",
        ),
        ("Kripke", "Tioga", "weak", "16x32x32", nodes["Tioga"], _TIOGA, small, "run"),
    ]
    columns = ["benchmark", "system", "scaling", "smallest problem", "nodes", "processes", "grids", "here"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown"


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
