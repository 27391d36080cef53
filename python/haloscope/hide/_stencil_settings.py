"""The settings of the protocol layer, each declared once: as an option and as a variable."""

from __future__ import annotations

from pathlib import Path

from haloscope.base.settings import Setting

__all__ = ["STENCIL_SETTINGS"]

STENCIL_SETTINGS: tuple[Setting, ...] = (
    Setting(
        "threshold",
        "HALOSCOPE_STENCIL_THRESHOLD",
        int,
        "32768",
        "Bytes from which on the layer carries a message within a node, and from which on "
        "--share-heap shares a block.",
        metavar="BYTES",
        least=1024,
    ),
    Setting(
        "protocol",
        "HALOSCOPE_STENCIL_PROTOCOL",
        str,
        "dynamic",
        "Who copies: the receiver (get), both sides (coop), whoever is idle (steal), the same in "
        "chunks of one size (static), as the messages before have shown (dynamic), or the MPI "
        "below (off).",
        choices=("dynamic", "get", "coop", "steal", "static", "off"),
    ),
    Setting(
        "chunk",
        "HALOSCOPE_STENCIL_CHUNK",
        int,
        "65536",
        "Bytes that one rank copies at a time.",
        metavar="BYTES",
        least=1024,
    ),
    Setting(
        "pool",
        "HALOSCOPE_STENCIL_POOL",
        int,
        "64",
        "MiB of shared memory a rank for messages that nobody takes in time, and for receive "
        "buffers of the library's own.",
        metavar="MIB",
        least=0,
    ),
    Setting(
        "patience",
        "HALOSCOPE_STENCIL_PATIENCE",
        float,
        "0.001",
        "Seconds after which a sender that nobody has answered copies its message into the pool.",
        metavar="S",
        least=0,
    ),
    Setting(
        "cma",
        "HALOSCOPE_STENCIL_CMA",
        str,
        "auto",
        "Whether the kernel copies memory that is not shared (cross-memory attach): where it "
        "allows that (auto), always, or never.",
        choices=("auto", "always", "never"),
    ),
    Setting(
        "record",
        "HALOSCOPE_STENCIL_RECORD",
        Path,
        "none",
        "Where the record of what was carried goes.",
        metavar="F.csv",
        flag="-o",
    ),
)
