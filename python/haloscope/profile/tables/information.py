"""The table `info`: information about the run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from haloscope.profile.shown.cells import TEXT_KEYS
from haloscope.profile.store.info_keys import ROLL_UP, SAID, SURROUNDINGS, check_info
from haloscope.profile.store.profile_data import ProfileData
from haloscope.profile.tables.binding import binding_text

_ORDER = [
    "program",
    "command",
    "ranks",
    "hosts",
    "binding",
    "mpi_library",
    "mpi_standard",
    "mpi_abi",
    "start",
    "duration",
    "partial",
    "missing_ranks",
    "unfinished_ranks",
    "unwatched_ranks",
    "ended_in",
    "open_calls",
    "unmatched_begins",
    "unmatched_ends",
    "unaccounted",
    "dropped",
    "version",
]


def read_texts(information: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of the program and its environment in the run information, by key as in `info`."""
    return _flat({key: information.get(key) for key in (SAID, *SURROUNDINGS)})


def run_information(profile: ProfileData) -> dict[str, Any]:
    """Return the run information by key, typed; values that the file does not have are None.

    `hosts` lists names, the host of rank 0 first. `unfinished_ranks` have records but did not reach
    MPI_Finalize. `unaccounted` maps an MPI function to its calls. Raises `DamageError` if a documented key
    has a value of another type.
    """
    information = check_info(profile.info)
    sums = ["unmatched_begins", "unmatched_ends", "dropped"]
    processes = profile.frame("processes", ["rank", "finalized", *sums])
    unfinished = processes.filter(pl.col("finalized") == 0)["rank"].unique().sort()
    known = [name for name in sums if processes[name].null_count() < len(processes) or not len(processes)]
    totals = processes.select(known).sum().row(0, named=True)
    unaccounted = profile.frame("unaccounted").group_by("call", maintain_order=True).sum()
    is_ours = "source" not in information  # files of other tools do not have this
    information |= {
        **{key: totals[key] or 0 for key in known},
        "unfinished_ranks": unfinished.to_list() if is_ours else None,
        "hosts": profile.hosts.names,
        "binding": binding_text(profile),
        "unaccounted": dict(unaccounted.select("call", "calls").iter_rows()) if is_ours else None,
    }
    return {key: information.get(key) for key in [*_ORDER, *sorted(information.keys() - {*_ORDER, ROLL_UP})]}


def info(profile: ProfileData) -> pl.DataFrame:
    """Return key and value; values other than text are JSON, null is unknown."""
    texts = _flat(run_information(profile))
    return pl.DataFrame(
        {"key": list(texts), "value": [as_text(key, value) for key, value in texts.items()]},
        schema={"key": pl.String, "value": pl.String},
    )


def _flat(texts: dict[str, Any]) -> dict[str, Any]:
    """Return the texts by key; a text of the program keeps its key, unless that is one of ours."""
    own_texts = texts.pop(SAID, None) or {}
    for kind in SURROUNDINGS:
        texts |= {f"{kind}.{key}": text for key, text in (texts.pop(kind, None) or {}).items()}
    taken = {key for key in own_texts if key in texts or key in _ORDER}
    return texts | {f"{SAID}.{key}" if key in taken else key: text for key, text in own_texts.items()}


def as_text(key: str, value: object) -> str | None:
    """Return a value in the form of the table."""
    if value is None or (key in TEXT_KEYS and isinstance(value, str)):
        return value
    return json.dumps(value, ensure_ascii=False)
