"""Functions of several studies: recorded and simulated runs, which are reused if present, and figures."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from haloscope.base.palette import METHODS
from haloscope.markov.figures import Figure, Panel, Trace, panels

HALOSCOPE = Path(sys.executable).with_name("haloscope")
NOT_HERE = 4  # the exit status of a part that this machine cannot run
# Root may run the studies. More ranks than cores are allowed and yield their core while they wait.
ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
_NONE: Mapping[str, str] = {}
_MARKS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star")


def into() -> Path:
    """Change to the directory for results, which the command line names, and return it."""
    if len(sys.argv) != 2:
        sys.exit(f"no directory for the results: {sys.argv[0]} DIR")
    os.chdir(sys.argv[1])
    return Path.cwd()


def here(application: str) -> str:
    """Return the path of a bundled application, which is built if necessary."""
    found = subprocess.run([HALOSCOPE, "where", application], check=True, stdout=subprocess.PIPE, text=True)
    return found.stdout.strip()


def watched(profile: Path, ranks: int, application: str, words: Sequence[object], **meta: object) -> Path:
    """Return the profile of a bundled application on `ranks` ranks; run it if the profile is missing.

    `meta` is stored as the profile's metadata.
    """
    program = [here(application), *words] if not profile.exists() else []
    launch = ["run", "--quiet", "-o", profile, "--", "mpiexec", "-n", ranks, *program]
    return _made(profile, launch, meta)


def simulated(
    profile: Path,
    ranks: int,
    platform: str | Path,
    words: Sequence[object],
    *,
    traced: bool = False,
    **meta: object,
) -> Path:
    """Return the profile of a simulation; simulate if it is missing. `words` are options and the program.

    A `traced` one has every message with its times.
    """
    launch = ["simulate", "--platform", platform, "-n", ranks, "-o", profile, *words]
    return _made(profile, launch, meta, {"HALOSCOPE_TRACE": "1"} if traced else {})


def _made(
    profile: Path, words: Sequence[object], meta: Mapping[str, object], variables: Mapping[str, str] = _NONE
) -> Path:
    if not profile.exists():
        print(profile.stem, flush=True)
        variables = {
            **variables,
            **{f"HALOSCOPE_META_{key.upper()}": str(value) for key, value in meta.items()},
        }
        command = [str(HALOSCOPE), *map(str, words)]
        subprocess.run(command, env=ENVIRONMENT | variables, stdout=subprocess.DEVNULL, check=True)
    return profile


def grid(ranks: int) -> tuple[int, int, int]:
    """Return the grid nearest to a cube for a power of two of ranks; its longest side is along x."""
    power = ranks.bit_length() - 1
    x, y, z = (1 << (power + more) // 3 for more in (2, 1, 0))
    return x, y, z


def lines(frame: pl.DataFrame, x: str, y: str, by: str, names: Sequence[str], more: Trace) -> list[Trace]:
    """Return a line for each of `names` that occurs in column `by`. A name has one colour in all panels."""
    made: list[Trace] = []
    for number, name in enumerate(names):
        rows = frame.filter(pl.col(by) == name).sort(x)
        if len(rows):
            colour = METHODS[number % len(METHODS)]
            made.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": name,
                    "legendgroup": name,
                    "x": rows[x].to_list(),
                    "y": rows[y].to_list(),
                    "line": {"color": colour},
                    "marker": {"color": colour, "symbol": _MARKS[number % len(_MARKS)], "size": 6},
                    **more,
                }
            )
    return made


def draw(
    drawn: Sequence[Panel],
    xaxis: Trace,
    yaxis: Trace,
    caption: str,
    title: str = "",
    columns: int = 3,
    *,
    height: int = 260,
) -> Figure:
    """Return a figure of panels whose legend lists each name once."""
    seen: set[str] = set()
    once = []
    for panel in drawn:
        traces = [{**trace, "showlegend": trace.get("name", "") not in seen} for trace in panel.traces]
        seen |= {str(trace.get("name", "")) for trace in traces}
        once.append(Panel(panel.title, traces, panel.span))
    columns = min(columns, len(drawn))
    traces, layout = panels(once, xaxis, yaxis, columns, height, showlegend=True)
    # The top margin has space for the legend and, below it, the panels' titles.
    return Figure(caption, traces, {**layout, "margin": {"l": 64, "r": 16, "t": 72, "b": 48}}, title)
