"""Scotch's mapper, called as a program with a graph and a machine as text."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from haloscope.base.arrays import Integers
from haloscope.base.errors import ComponentError
from haloscope.base.partition import Links

_SECONDS = 300.0
# Scotch may use 32-bit numbers, and sums up weights.
_MOST_WEIGHT = 1 << 29


def map_vertices(links: Links, sizes: Sequence[int]) -> Integers:
    """Return the part of each vertex, for parts of about these sizes with few bytes between them.

    Raises `ComponentError` if Scotch is missing or fails.
    """
    tool = _find_tool()
    with tempfile.TemporaryDirectory(prefix="haloscope-scotch-") as directory:
        graph, target, mapping = (Path(directory) / name for name in ("graph", "target", "mapping"))
        graph.write_text(_format_graph(links), encoding="ascii")
        target.write_text(_format_target(sizes), encoding="ascii")
        command = [tool, "-b0", str(graph), str(target), str(mapping)]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ComponentError(f"{tool}: Scotch's mapper did not end: {error}") from None
        if done.returncode or not mapping.is_file():
            message = " ".join(done.stderr.decode(errors="replace").split())
            raise ComponentError(f"{tool}: Scotch's mapper failed: {message or done.returncode}")
        return _read_mapping(mapping, tool, links.vertices, len(sizes))


def _find_tool() -> str:
    # Debian adds a prefix, because a program for genomes is also called gmap.
    found = shutil.which("scotch_gmap") or shutil.which("gmap")
    if found is None:
        raise ComponentError(
            "placing ranks needs Scotch's gmap, which is not on PATH; apt-get install scotch"
        )
    return found


def _format_graph(links: Links) -> str:
    scale = _MOST_WEIGHT / max(1.0, float(links.weights.sum()))
    weights = np.maximum(1, np.rint(links.weights * min(1.0, scale))).astype(np.int64)
    lines = [f"0\n{links.vertices}\t{len(links.ends)}\n0\t010"]
    for vertex in range(links.vertices):
        edges = slice(links.first[vertex], links.first[vertex + 1])
        pairs = np.stack([weights[edges], links.ends[edges]], axis=1).ravel().tolist()
        lines.append("\t".join(map(str, [len(pairs) // 2, *pairs])))
    return "\n".join(lines) + "\n"


def _format_target(sizes: Sequence[int]) -> str:
    if len(set(sizes)) == 1 and sizes[0] > 1:  # two levels: edges within a part are cheap
        return f"tleaf\n2 {len(sizes)} 10 {sizes[0]} 1\n"
    return f"cmpltw\n{len(sizes)} {' '.join(map(str, sizes))}\n"


def _read_mapping(mapping: Path, tool: str, vertices: int, parts: int) -> Integers:
    words = np.array(mapping.read_text(encoding="ascii").split(), dtype=np.int64)
    if len(words) != 2 * vertices + 1:
        raise ComponentError(f"{tool}: wrote a mapping in an unknown format; check that it is Scotch's gmap")
    part = np.empty(vertices, dtype=np.int64)
    part[words[1::2]] = words[2::2]
    leaves = int(part.max()) + 1
    return part // -(-vertices // parts) if leaves > parts else part
