"""Detection of the kind of a file by its content, as its name is not reliable."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

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


def find_kind(path: str | Path) -> Kind:
    """Return the kind of a file, by its content.

    Raises:
        UsageError: The kind is unknown. The message lists the known ones.
        OSError: The file cannot be read.
    """
    file_path = Path(path)
    if kind_of_foreign(file_path) is not None:
        return "profile"
    with file_path.open("rb") as file:
        head = file.read(_HEAD)
    if head.startswith(MAGIC[:5]):
        return "profile"
    # The suffix decides only for damaged files, so that the error names the damage.
    found = (
        _find_record_kind(head)
        or _find_title_kind(head)
        or _find_yaml_kind(file_path)
        or _MEANT.get(file_path.suffix)
    )
    if found is None:
        raise UsageError(f"{path}: unknown kind of file; known: {'; '.join(KINDS.values())}")
    return found


def _find_record_kind(head: bytes) -> Kind | None:
    """Return the kind from the first JSON object, which may be longer than the head."""
    kinds: dict[bytes, Kind] = {b"environment": "sweep", b"gains": "gains"}
    found = _RECORD.match(head)
    return kinds.get(found[1]) if found else None


def _find_title_kind(head: bytes) -> Kind | None:
    comments = [line for line in head.split(b"\n") if line.lstrip().startswith(b"#")]
    return "sweep" if any(title in line for line in comments for title in _TITLES) else None


def _find_yaml_kind(file_path: Path) -> Kind | None:
    # `show` asks for the kind of each file, and most are no YAML.
    import yaml

    from haloscope.base.core_yaml import CoreLoader
    from haloscope.predict.described_files import MOST_BYTES

    with file_path.open("rb") as file:
        text = file.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES or b"levels" not in text:
        return None
    try:
        content = yaml.load(text, Loader=CoreLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        # A damaged machine model: reading it reports the position.
        return "machine" if text.lstrip().startswith((b"name", b"#", b"levels")) else None
    return "machine" if isinstance(content, dict) and "levels" in content else None
