"""Output of the OSU benchmarks and of Intel's MPI Benchmarks (IMB): reading, and writing like OSU."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from haloscope.base.errors import MachineError, printable, shorten_text
from haloscope.base.texts import parse_whole
from haloscope.predict.bench.sweep import Sweep
from haloscope.predict.bench.sweep_points import frame
from haloscope.predict.mpi_library import COLLECTIVES, DEFAULT

# Titles of OSU that differ from the collective's name.
TITLES = {
    "bcast": "Broadcast",
    "alltoall": "All-to-All Personalized Exchange",
    "alltoallv": "All-to-Allv Personalized Exchange",
}
_LEAST = 7  # characters of a column
_OSU = re.compile(r"#\s*OSU MPI\S*\s+(.+?)\s+Latency Test(?:\s+v(\S+))?")
_OURS = re.compile(r"# haloscope: (.*)")
_IMB = re.compile(r"#\s*Benchmarking\s+(\S+)")
_PROCESSES = re.compile(r"#\s*#processes\s*=\s*(\d+)")
_NUMBERS = ("number", "ranks", "nodes", "segment", "fanout")


def write_osu(sweep: Sweep, output: IO[str], full: bool = False, percentiles: Sequence[float] = ()) -> None:
    """Write a block per algorithm and number of ranks, ordered by size; failed points are comments."""
    method = sweep.environment.get("method") or {}
    rows = sweep.points.with_row_index("row").to_dicts()
    blocks: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        blocks.setdefault(_make_key(row), []).append(row)
    for key in sorted(blocks):
        block = sorted(blocks[key], key=lambda row: row["bytes"])
        for line in _list_header(block[0], sweep.environment.get("library"), method):
            output.write(f"# {printable(line)}\n")
        output.write(_format_columns(block[0], full, percentiles, method.get("validate") is not None))
        for row in block:
            output.write(_format_line(row, sweep, full, percentiles, method.get("validate") is not None))
        output.write("\n")


def _make_key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    number = -1 if row["algorithm"] == DEFAULT else row["number"] or 0
    return (
        row["collective"],
        row["ranks"] or 0,
        row["mapping"] or "",
        number,
        row["algorithm"],
        row["segment"],
        row["fanout"],
    )


def _list_header(row: Mapping[str, Any], library: str | None, method: Mapping[str, Any]) -> list[str]:
    collective = row["collective"]
    fields = {
        "collective": collective,
        "algorithm": row["algorithm"],
        "number": row["number"],
        "ranks": row["ranks"],
        "nodes": row["nodes"],
        "mapping": row["mapping"],
        "segment": row["segment"] or None,
        "fanout": row["fanout"] or None,
    }
    words = " ".join(f"{key}={value}" for key, value in fields.items() if value is not None)
    synchronised = method.get("synchronisation")
    lines = [f"OSU MPI {TITLES.get(collective, collective.capitalize())} Latency Test"]
    lines += [f"haloscope: {words}"]
    if library or synchronised:
        lines.append(f"{library}, synchronised by {synchronised}, {method.get('type')}")
    return lines


def format_osu_line(first: object, columns: Sequence[str], cells: Sequence[str]) -> str:
    """Return a line of a table in OSU's form, with the cells below the names of their columns."""
    widths = [2 + max(len(name), _LEAST) for name in columns]
    return f"{first:<10}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _list_columns(full: bool, percentiles: Sequence[float], validated: bool) -> list[str]:
    names = ["Avg Latency(us)"]
    names += ["Min Latency(us)", "Max Latency(us)", "Iterations"] if full else []
    names += [f"P{value:g} Tail Lat(us)" for value in percentiles]
    return names + (["Validation"] if validated else [])


def _format_columns(row: Mapping[str, Any], full: bool, percentiles: Sequence[float], validated: bool) -> str:
    names = _list_columns(full, percentiles, validated)
    return format_osu_line("# " if row["collective"] == "barrier" else "# Size", names, names) + "\n"


def _format_line(
    row: Mapping[str, Any], sweep: Sweep, full: bool, percentiles: Sequence[float], validated: bool
) -> str:
    if row["status"] != "ok":
        return printable(f"# {row['bytes']} {row['status']}: {row['reason']}") + "\n"
    values = [row["time"], row["time_min"], row["time_max"]] if full else [row["time"]]
    fields = ["" if value is None else f"{value * 1e6:.2f}" for value in values]
    fields += [str(row["iterations"] or "")] if full else []
    if percentiles:
        fields += [f"{value * 1e-3:.2f}" for value in _find_percentiles(sweep, row["row"], percentiles)]
    fields += ["Pass"] if validated else []
    size = "  " if row["collective"] == "barrier" else row["bytes"]
    return format_osu_line(size, _list_columns(full, percentiles, validated), fields) + "\n"


def _find_percentiles(sweep: Sweep, row: int, percentiles: Sequence[float]) -> list[float]:
    """Return percentiles over iterations of the mean over ranks, as OSU does."""
    samples = sweep.samples(row)
    if not samples.size:
        return [float("nan")] * len(percentiles)
    return [float(value) for value in np.percentile(samples.mean(axis=0), percentiles)]


def read_any(path: Path | str, ranks: int | None = None) -> Sweep:
    """Read a sweep, output of OSU, or output of IMB.

    Args:
        path: The file.
        ranks: Number of ranks of output of OSU, which does not state it.

    Raises:
        MachineError: The file is unreadable or none of these.
    """
    lines = _read_lines(Path(path))
    if any(_OSU.match(line) for line in lines):
        return read_osu(path, ranks)
    if any(_IMB.match(line) for line in lines):
        return read_imb(path)
    if lines and lines[0].startswith("{"):
        return Sweep.read(path)
    raise MachineError(
        f"{path}: neither a sweep of haloscope bench, nor output of OSU's collective benchmarks or IMB-MPI1"
    )


def read_osu(path: Path | str, ranks: int | None = None) -> Sweep:
    """Read output of OSU's collective benchmarks, which does not state the number of `ranks`."""
    rows: list[dict[str, Any]] = []
    known: dict[str, Any] = {}
    columns: list[str] = []
    version = None
    for number, line in enumerate(_read_lines(Path(path)), 1):
        title, ours = _OSU.match(line), _OURS.match(line)
        if title:
            known = {"collective": _read_collective(title[1], path), "algorithm": DEFAULT, "ranks": ranks}
            version = title[2] or version
        elif ours:
            known.update(_read_words(ours[1]))
        elif line.startswith("#"):
            columns = _read_columns(line, f"{path}: line {number}") or columns
        elif line[:1].isspace() or line[:1].isdigit():
            values = line.split()
            if values and known and columns:
                rows.append(_make_row(known, columns, values, f"{path}: line {number}"))
    if not rows:
        raise MachineError(f"{path}: no results of an OSU collective benchmark")
    return _make_sweep(rows, f"OSU {version or ''}".strip(), path)


def read_imb(path: Path | str) -> Sweep:
    """Read the collectives in output of IMB-MPI1; other benchmarks are ignored."""
    rows: list[dict[str, Any]] = []
    known: dict[str, Any] = {}
    columns: list[str] = []
    for number, line in enumerate(_read_lines(Path(path)), 1):
        title, processes = _IMB.match(line), _PROCESSES.match(line)
        if title:
            name = title[1].lower()
            known = {"collective": name, "algorithm": DEFAULT} if name in COLLECTIVES else {}
            columns = []
        elif processes and known:
            known["ranks"] = parse_whole(processes[1])
        elif "t_avg[usec]" in line:
            columns = [_IMB_COLUMNS.get(word, "") for word in line.split()]
        elif known and columns and line.split() and line.split()[0].isdigit():
            rows.append(_make_row(known, columns, line.split(), f"{path}: line {number}"))
    if not rows:
        raise MachineError(f"{path}: no results of a collective of IMB-MPI1")
    return _make_sweep(rows, "IMB", path)


_IMB_COLUMNS = {
    "#bytes": "bytes",
    "#repetitions": "iterations",
    "t_min[usec]": "time_min",
    "t_max[usec]": "time_max",
    "t_avg[usec]": "time",
}


def _read_columns(line: str, source: str) -> list[str]:
    """Return Haloscope's names of the columns in `# Size       Avg Latency(us) …`; empty for other lines."""
    names = [name for name in re.split(r"\s{2,}|\t", line.lstrip("# ").strip()) if name]
    if not any("(us)" in name for name in names):
        return []
    return [_name_column(name.lower(), source) for name in names]


# OSU's columns by their names in lower case, and ours; "" is not read. A file with another column is refused.
_OSU_COLUMNS = {
    "size": "bytes",
    "avg latency(us)": "time",
    "latency(us)": "time",
    "min latency(us)": "time_min",
    "max latency(us)": "time_max",
    "iterations": "iterations",
    "p50 tail lat(us)": "median",
    "validation": "",
}
_TAIL = re.compile(r"p[0-9.]+ tail lat\(us\)")


def _name_column(name: str, source: str) -> str:
    if name not in _OSU_COLUMNS and not _TAIL.fullmatch(name):
        raise MachineError(
            f"{source}: the column {name!r} is not known; give output of a blocking collective"
        )
    return _OSU_COLUMNS.get(name, "")


def _read_collective(title: str, path: Path | str) -> str:
    names = {title.lower(): name for name, title in TITLES.items()}
    plain = title.lower().replace("personalized exchange", "").replace("-to-", "to").strip()
    found = names.get(title.lower(), plain)
    if found not in COLLECTIVES:
        raise MachineError(f"{path}: the OSU benchmark {title} is not one of {', '.join(COLLECTIVES)}")
    return found


def _read_words(text: str) -> dict[str, Any]:
    pairs = (word.partition("=") for word in text.split())
    return {key: int(value) if key in _NUMBERS else value for key, _, value in pairs}


def _make_row(
    known: dict[str, Any], columns: Sequence[str], values: Sequence[str], source: str
) -> dict[str, Any]:
    row: dict[str, Any] = {"segment": 0, "fanout": 0, "status": "ok", "bytes": 0, **known}
    for name, value in zip(columns, values, strict=False):
        try:
            number = parse_whole(value) if name in ("bytes", "iterations") else float(value) * 1e-6
        except ValueError:
            number = None
        if name and number is None:
            raise MachineError(f"{source}: {shorten_text(value, 40)!r} is not a number")
        row |= {name: number} if name else {}
    return row


def _make_sweep(rows: list[dict[str, Any]], benchmark: str, path: Path | str) -> Sweep:
    environment = {"record": "environment", "library": None, "source": f"{benchmark} in {path}"}
    return Sweep(environment, frame(rows), rows)


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise MachineError(f"{path}: {error.strerror}") from None
