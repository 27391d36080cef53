"""What a file is, by its content: names say nothing for certain."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import yaml

from haloscope.base.errors import UsageError
from haloscope.base.schema import MAGIC
from haloscope.profile.importing import kind_of_foreign

Kind = Literal["profile", "sweep", "machine", "gains"]
KINDS: dict[Kind, str] = {
    "profile": "a profile (haloscope run), an OTF2 archive, a .cali file or an mpiP report",
    "sweep": "a sweep (haloscope bench collective) or output of the OSU benchmarks or IMB-MPI1",
    "machine": "a machine model (haloscope bench p2p -o)",
    "gains": "the gains of a tuning (haloscope tune)",
}
_RECORD = re.compile(rb'\s*\{\s*"record"\s*:\s*"(\w+)"')
_MEANT: dict[str, Kind] = {".halo": "profile", ".jsonl": "sweep"}
_HEAD = 1 << 16  # bytes
_TITLES = (b"OSU MPI", b"Benchmarking ")


def kind_of(path: str | Path) -> Kind:
    """Return what a file is, by its content.

    Raises `UsageError`, which names what is known, for any other file, and `OSError` if it
    cannot be read.
    """
    place = Path(path)
    if kind_of_foreign(place) is not None:
        return "profile"
    with place.open("rb") as file:
        head = file.read(_HEAD)
    if head.startswith(MAGIC[:5]):
        return "profile"
    # The name decides only for a damaged file, so that the error says what is damaged.
    found = _of_records(head) or _of_titles(head) or _of_yaml(place) or _MEANT.get(place.suffix)
    if found is None:
        raise UsageError(f"{path}: is not known; it may be {'; '.join(KINDS.values())}")
    return found


def _of_records(head: bytes) -> Kind | None:
    """Return what the first JSON object says of itself; a long one need not end in the head."""
    kinds: dict[bytes, Kind] = {b"environment": "sweep", b"gains": "gains"}
    found = _RECORD.match(head)
    return kinds.get(found[1]) if found else None


def _of_titles(head: bytes) -> Kind | None:
    comments = [line for line in head.split(b"\n") if line.lstrip().startswith(b"#")]
    return "sweep" if any(title in line for line in comments for title in _TITLES) else None


def _of_yaml(place: Path) -> Kind | None:
    from haloscope.predict.described_files import MOST_BYTES

    with place.open("rb") as file:
        text = file.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES or b"levels" not in text:
        return None
    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        # Damaged, but meant as one: reading it says where.
        return "machine" if text.lstrip().startswith((b"name", b"#", b"levels")) else None
    return "machine" if isinstance(content, dict) and "levels" in content else None
