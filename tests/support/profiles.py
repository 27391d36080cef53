"""Writes profiles, from docs/format.md alone: it shares no code with the reader."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from haloscope.base.schema import STORED
from support.series import TICK, series_tables

MAGIC = b"\x89HALO\r\n\x1a"
END = b"HALOEND\n"

INSTANCE = ("sends", "recvs", "dest_ranks", "src_ranks", "bytes_sent", "bytes_recv", "colls")
RANK_COUNTS = """
    instances sends recvs bytes_sent bytes_recv colls coll_bytes rma_ops rma_bytes io_ops io_bytes
    largest_message dest_ranks src_ranks dest_ranks_exclusive src_ranks_exclusive
""".split()
RANK_COUNTS += [
    f"{x}_instance_{end}{suffix}" for x in INSTANCE for end in ("min", "max") for suffix in ("", "_exclusive")
]
RANK_TIMES = ["time", "p2p_time", "coll_time", "rma_time", "io_time", "other_time", "wait_time", "skew_time"]

# Table: integer, real and string columns.
COLUMNS: dict[str, tuple[list[str], list[str], list[str]]] = {
    "paths": (["path", "parent", "communication"], [], ["name"]),
    "processes": (
        ["rank", "pid", "threads", "unmatched_begins", "unmatched_ends", "dropped", "finalized"],
        ["start", "duration", "tick"],
        ["host"],
    ),
    "ranks": (["path", "rank", *RANK_COUNTS], RANK_TIMES, []),
    "calls": (["path", "calls", "bytes"], ["time_total", "time_max"], ["call"]),
    "rank_calls": (["rank", "calls", "bytes"], ["time_total", "time_max"], ["call"]),
    "sizes": (["path", "bytes", "bytes_upper", "messages"], ["time_total"], ["kind"]),
    "partners": (["path", "rank", "partner", "sends", "bytes_sent", "recvs", "bytes_recv"], ["time"], []),
    "collectives": (["path", "comm_size", "bytes", "calls"], ["time_total", "time_max"], ["operation"]),
    "communicators": (["size", "members", "ranks", "calls", "bytes"], [], ["name"]),
    "unaccounted": (["calls"], [], ["call"]),
    "series": (["path", "rank", "thread", "instance", "instances"], [], []),
    "instances": (["packed"], [], []),
    "phases": (
        ["rank", "phase", "iterations", "found_after", "length", "forms", "calls", "all_calls"],
        ["start", "end"],
        [],
    ),
    "slices": (
        """
            rank slice sends bytes_sent recvs bytes_recv colls coll_bytes rma_ops rma_bytes io_bytes
        """.split(),
        ["start", "duration", "p2p_time", "coll_time", "rma_time", "io_time", "wait_time"],
        [],
    ),
    "values": (["path", "rank", "instance"], ["value"], ["name"]),
    "metadata": (["ranks", "first"], [], ["kind", "key", "value"]),
    "sites": (
        ["path", "ranks", "calls", "bytes"],
        ["time_total", "time_squares", "time_max"],
        ["stack", "call"],
    ),
    "modules": (["is_program"], [], ["module", "file", "build"]),
    "symbols": (["offset", "depth", "line"], [], ["module", "function", "file"]),
    "trace_sequences": (["rank", "thread", "segment", "structure", "events", "order"], [], []),
    "trace_symbols": (
        "structure symbol kind path bytes action communicator partner tag size thread request ranks".split(),
        [],
        ["call"],
    ),
    "trace_rules": (["structure", "position", "packed", "ranks"], [], []),
    "trace_orders": (["rank", "thread", "segment", "position", "packed"], [], []),
    "trace_pieces": (["rank", "thread", "gaps", "durations", "bytes"], [], []),
    "trace_words": (["packed"], [], []),
    "trace_communicators": (
        ["communicator", "members", "size", "position", "count", "world", "stride", "ranks"],
        [],
        ["name"],
    ),
    "trace_clocks": (
        ["rank", "machine", "zero", "nanosecond", "lost"],
        ["tick", "offset_begin", "offset_end"],
        [],
    ),
    "main_thread": (["path", "rank", *RANK_COUNTS], RANK_TIMES, []),
}

Rows = Sequence[Mapping[str, Any]]
Arrays = Mapping[str, Any]

INFO = {
    "program": "cg",
    "command": "mpiexec -n 2 ./cg --nx 16",
    "mpi_library": "Open MPI v4.1.4",
    "mpi_abi": "openmpi",
    "ranks": 2,
    "start": 1767225600.0,
    "duration": 10.0,
    "partial": False,
    "missing_ranks": [],
    "exact_times": False,
    "sizes_spilled": False,
    "version": "0.1.0",
}


@dataclass
class Draft:
    """A profile to be written: tables as columns, and what the container says of them."""

    tables: dict[str, Arrays]
    info: dict[str, Any] = field(default_factory=lambda: dict(INFO))
    version: tuple[int, int] = (1, 0)
    encoding: int = 1
    chunk_rows: int = 1 << 20

    def write(self, path: Path) -> Path:
        path.write_bytes(self.bytes())
        return path

    def bytes(self) -> bytes:
        header = MAGIC + struct.pack("<II", *self.version)
        body = bytearray(header)
        strings: dict[str, int] = {}
        tables = [self._table(name, columns, strings, body) for name, columns in self.tables.items()]
        directory = {"info": self.info, "strings": list(strings), "tables": tables}
        return seal(bytes(body), json.dumps(directory).encode())

    def _table(self, name: str, columns: Arrays, strings: dict[str, int], body: bytearray) -> dict[str, Any]:
        heads, arrays = [], []
        for column, kind in types(name, columns):
            heads.append([column, kind, ""])
            arrays.append(values(columns[column], kind, strings))
        rows = len(arrays[0])
        strategy = zlib.Z_RLE if name == "instances" else zlib.Z_DEFAULT_STRATEGY
        chunks = [
            {
                "rows": min(self.chunk_rows, rows - first),
                "columns": [
                    append(body, array[first : first + self.chunk_rows], self.encoding, strategy)
                    for array in arrays
                ],
            }
            for first in range(0, rows, self.chunk_rows)
        ]
        return {"name": name, "columns": heads, "chunks": chunks}


def types(table: str, columns: Arrays) -> list[tuple[str, str]]:
    """Columns of version 1 are declared here, as an oracle, and newer ones in the schema."""
    integers, reals, strings = COLUMNS.get(table, ([], [], []))
    kinds = {
        **dict.fromkeys(integers, "integer"),
        **dict.fromkeys(reals, "real"),
        **dict.fromkeys(strings, "string"),
        **{column.name: column.type for column in STORED.get(table, ()) if column.since},
    }
    return [(name, kinds.get(name, "integer")) for name in columns]


def values(column: Sequence[Any], kind: str, strings: dict[str, int]) -> np.ndarray[Any, Any]:
    if kind == "string":
        return np.array([strings.setdefault(text, len(strings)) for text in column], dtype="<i8")
    return np.asarray(column, dtype="<f8" if kind == "real" else "<i8")


def append(
    body: bytearray, array: np.ndarray[Any, Any], encoding: int, strategy: int = zlib.Z_DEFAULT_STRATEGY
) -> list[int]:
    """Adds a chunk's column to the file; returns its entry for the directory."""
    raw = array.tobytes()
    if encoding == 1:
        planes = np.frombuffer(raw, np.uint8).reshape(-1, 8).T
        stream = zlib.compressobj(1, strategy=strategy)
        raw = stream.compress(planes.tobytes()) + stream.flush()
    entry = [len(body), len(raw), zlib.crc32(raw), encoding]
    body += raw
    return entry


def seal(body: bytes, directory: bytes) -> bytes:
    """Puts the directory and a right trailer behind the header and columns in `body`."""
    trailer = struct.pack("<QQI", len(body), len(directory), zlib.crc32(directory))
    crc = zlib.crc32(body[:16] + trailer)
    return body + directory + trailer + struct.pack("<I", crc) + END


def columns_of(table: str, rows: Rows) -> dict[str, list[Any]]:
    """Turns rows into all columns of a table; what a row leaves out is 0, NaN for a skew."""
    integers, reals, strings = COLUMNS[table]
    blank: dict[str, Any] = {
        **dict.fromkeys(integers, 0),
        **dict.fromkeys(reals, 0.0),
        **dict.fromkeys(strings, ""),
    }
    if "skew_time" in blank:
        blank["skew_time"] = float("nan")
    full = [{**blank, **row} for row in rows]
    return {name: [row[name] for row in full] for name in [*integers, *strings, *reals]}


def draft(info: Mapping[str, Any] | None = None, **tables: Rows) -> Draft:
    """A profile with all tables of version 1, those that are not given without rows.

    The rows of `series` are instances, as the reader shows them.
    """
    written: dict[str, Arrays] = {
        name: columns_of(name, tables.get(name, ()))
        for name in COLUMNS
        if name != "series" and (name != "symbols" or name in tables)
    }
    return Draft(written | series_tables(tables.get("series", ())), {**INFO, **(info or {})})


def path_rows(*names: str) -> list[dict[str, Any]]:
    """The region tree from full names, parents first: `path_rows("solve", "solve/halo")`."""
    known = {"": 0}
    rows: list[dict[str, Any]] = [{"path": 0, "parent": -1, "name": "<program>"}]
    for name in names:
        above, _, last = name.rpartition("/")
        known[name] = len(rows)
        rows.append({"path": len(rows), "parent": known[above], "name": last, "communication": 1})
    return rows


def process_rows(*hosts: str) -> list[dict[str, Any]]:
    """A process on each host, ranks counted from 0."""
    return [
        {"rank": rank, "host": host, "duration": 10.0, "finalized": 1, "threads": 1, "tick": TICK}
        for rank, host in enumerate(hosts)
    ]
