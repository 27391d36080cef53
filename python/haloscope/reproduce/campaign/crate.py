"""Bundles of campaigns: RO-Crates in zip files, with specification, journal and results."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from haloscope.base.errors import HaloscopeError, ProfileError
from haloscope.base.files import write_file
from haloscope.reproduce.campaign.attempts import PROFILE, RESULT, read_result
from haloscope.reproduce.campaign.campaign import Campaign
from haloscope.reproduce.campaign.overview import write_report

_METADATA = "ro-crate-metadata.json"
_SPECIFICATION = "campaign.yaml"
_CONTEXT, _STANDARD = "https://w3id.org/ro/crate/1.1/context", "https://w3id.org/ro/crate/1.1"
_PROCESS = "https://w3id.org/ro/wfrun/process/0.5"
_FORMATS = {
    ".json": "application/json",
    ".html": "text/html",
    ".yaml": "application/yaml",
    ".jsonl": "application/jsonl",
    ".halo": "application/octet-stream",
}
_KEPT = ("run.json", RESULT, "environment.json", "stdout", "stderr", PROFILE)
# The members of a bundle that its page needs.
_WANTED = re.compile(
    rf"runs/[A-Za-z0-9][A-Za-z0-9_.+-]*/\d+/{re.escape(PROFILE)}|campaign\.yaml|journal\.jsonl"
)
_MOST_BYTES = 1 << 36
_MOST_RATIO = 1000


def bundle(campaign: Campaign, output: Path) -> None:
    """Write a campaign to a zip file: specification, journal, files of each finished run, and the report.

    The description follows RO-Crate 1.1, with the provenance of each run.

    Raises:
        OutputError: The file cannot be written.
        UsageError: No run has a profile.
    """
    with TemporaryDirectory() as aside:
        page = Path(aside) / "report.html"
        write_report(campaign, page)
        files = {"report.html": page, _SPECIFICATION: campaign.file}
        files |= _find_workspace(campaign)
        files["journal.jsonl"] = campaign.directory / "journal.jsonl"
        actions = []
        for host in sorted((campaign.directory / "hosts").glob("*")):
            files[f"hosts/{host.name}"] = host
        for run, attempts in sorted(campaign.attempts().items()):
            for attempt in attempts:
                if attempt.get("outcome") == "done":
                    folder = campaign.place(run, int(attempt["attempt"]))
                    inner = f"runs/{run}/{attempt['attempt']}"
                    kept = {f"{inner}/{name}": folder / name for name in _KEPT if (folder / name).is_file()}
                    files |= kept
                    actions.append(_make_action(run, inner, attempt, list(kept)) | _read_times(folder))
        described = json.dumps(_describe(campaign, list(files), actions), indent=1)
        with (
            write_file(output, "bundle") as stream,
            zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            archive.writestr(_METADATA, described)
            for name, path in files.items():
                # Profiles are compressed already.
                kind = zipfile.ZIP_STORED if name.endswith(".halo") else zipfile.ZIP_DEFLATED
                archive.write(path, name, kind)


def _find_workspace(campaign: Campaign) -> dict[str, Path]:
    """Return the Ramble workspace of the specification, if possible at the same relative path."""
    workspace = campaign.specification.ramble
    if workspace is None:
        return {}
    inner = Path(workspace)
    is_below = not inner.is_absolute() and ".." not in inner.parts
    return {inner.as_posix() if is_below else inner.name: campaign.file.parent / workspace}


def _read_times(folder: Path) -> dict[str, str]:
    try:
        result = read_result(folder)
    except (OSError, ValueError):  # gone or damaged since the run
        return {}
    if result.started is None:
        return {}
    ends = {"startTime": result.started, "endTime": result.started + result.seconds}
    return {
        name: datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds")
        for name, seconds in ends.items()
    }


def _describe(campaign: Campaign, files: list[str], actions: list[dict[str, Any]]) -> dict[str, Any]:
    specification = campaign.specification
    version = metadata.version("haloscope")
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": specification.campaign,
        "description": specification.description or f"Runs of {', '.join(specification.programs)}",
        "datePublished": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "license": "no licence was specified for these runs",
        "conformsTo": {"@id": _PROCESS},
        "hasPart": [{"@id": name} for name in files],
        "mentions": [{"@id": action["@id"]} for action in actions],
    }
    about = {"@id": "./"}
    graph: list[dict[str, Any]] = [
        {"@id": _METADATA, "@type": "CreativeWork", "about": about, "conformsTo": {"@id": _STANDARD}},
        root,
        {"@id": _PROCESS, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"},
        {
            "@id": "#haloscope",
            "@type": "SoftwareApplication",
            "name": "Haloscope",
            "softwareVersion": version,
        },
        *({"@id": name, "@type": "File", **_find_format(name)} for name in files),
        *actions,
    ]
    return {"@context": _CONTEXT, "@graph": graph}


def _find_format(name: str) -> dict[str, str]:
    return {"name": Path(name).name, "encodingFormat": _FORMATS.get(Path(name).suffix, "text/plain")}


def _make_action(run: str, inner: str, attempt: dict[str, Any], files: list[str]) -> dict[str, Any]:
    return {
        "@id": f"#{run}",
        "@type": "CreateAction",
        "name": run,
        "instrument": {"@id": "#haloscope"},
        "object": [{"@id": _SPECIFICATION}, {"@id": f"{inner}/run.json"}],
        "result": [{"@id": name} for name in files if not name.endswith("run.json")],
        "description": f"{attempt.get('seconds') or 0:.3f} s on {attempt.get('host')}",
        "actionStatus": "http://schema.org/CompletedActionStatus",
    }


@dataclass(frozen=True)
class BundleContent:
    """The profiles of a bundle, and its campaign: None if its specification or journal cannot be read."""

    profiles: list[Path]
    campaign: Campaign | None


@contextmanager
def open_bundle(file: Path) -> Iterator[BundleContent]:
    """Yield the content of a bundle, whose files are removed afterwards.

    Raises:
        ProfileError: The file is not a bundle.
    """
    with TemporaryDirectory(prefix="haloscope-bundle-") as aside:
        try:
            found = _unpack(file, Path(aside))
        except HaloscopeError:
            raise
        except OSError as error:
            raise ProfileError(f"{file}: cannot be unpacked: {error.strerror or error}") from None
        except Exception as error:  # the reader of archives raises many kinds of errors for damage
            raise ProfileError(f"{file}: is a damaged bundle: {error}") from None
        if not found:
            raise ProfileError(f"{file}: no profiles; bundles are written by haloscope campaign bundle")
        yield BundleContent(found, _read_campaign(Path(aside)))


def _unpack(file: Path, aside: Path) -> list[Path]:
    """Write the members of a bundle that its page needs below a directory. Return the profiles."""
    found = []
    with zipfile.ZipFile(file) as archive:
        members = [member for member in archive.infolist() if _WANTED.fullmatch(member.filename)]
        if sum(member.file_size for member in members) > _MOST_BYTES or any(
            member.file_size > _MOST_RATIO * max(member.compress_size, 1) for member in members
        ):
            raise ProfileError(f"{file}: its content is too large for a bundle")
        for member in members:
            path = aside / member.filename
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, path.open("xb") as target:
                shutil.copyfileobj(source, target)
            found += [path] if path.name == PROFILE else []
    return found


def _read_campaign(folder: Path) -> Campaign | None:
    """Return the campaign of an unpacked bundle, if it has runs with profiles."""
    try:
        campaign = Campaign.opened(folder / _SPECIFICATION, folder)
        known = campaign.table()["profile"].drop_nulls()
    except HaloscopeError:
        return None
    return campaign if len(known) and all(Path(path).is_file() for path in known) else None
