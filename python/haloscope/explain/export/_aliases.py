"""Names that stand for other people's: `--anonymous`.

What is no name of MPI, of ours or of a number is replaced: one text of one kind by one alias, in all profiles
of an export. What is not known to be harmless is taken for a name, so new columns are safe.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from haloscope.explain._profile import Profile

if TYPE_CHECKING:
    from haloscope.explain.trace import Trace

__all__ = ["Aliases", "AnonymousProfile", "anonymous_trace"]

# Columns of text that hold words of MPI's and of ours, or numbers.
_HARMLESS = {
    ("calls", "call"),
    ("collectives", "operation"),
    ("metadata", "kind"),
    ("modules", "module"),
    ("processes", "cpus"),
    ("processes", "numa_nodes"),
    ("processes", "sockets"),
    ("sites", "call"),
    ("sites", "stack"),
    ("sizes", "kind"),
    ("symbols", "module"),
    ("transfers", "protocol"),
    ("unaccounted", "call"),
}
# What texts are, where the column's name does not say it.
_KINDS = {
    ("paths", "name"): "region",
    ("communicators", "name"): "communicator",
    ("values", "name"): "value",
    ("modules", "build"): "build",
}
_KEPT = frozenset({"", "<program>", "MPI_COMM_WORLD", "MPI_COMM_SELF"})
_KEPT_INFO = frozenset({"mpi_abi", "mpi_standard", "version", "missing_ranks", "unwatched_ranks"})
_TEXTS = frozenset({"metadata", "job", "environment"})
# Of a library's text only this: it goes on with who built it, and where.
_LIBRARY = re.compile(r"(Open MPI|MPICH|Intel\(R\) MPI|MVAPICH2?|HPE? MPI|CRAY MPICH)\b[^,\n]{0,24}?[\d.]+")


class Aliases:
    """Which alias stands for which text; the same in all that one `Aliases` is asked for."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, str]] = {}

    def of(self, kind: str, text: str) -> str:
        """Return the alias of a text of this kind, such as `host 2`."""
        if text in _KEPT:
            return text
        known = self._known.setdefault(kind, {})
        return known.setdefault(text, f"{kind} {len(known) + 1}")

    def column(self, kind: str, texts: pl.Series) -> pl.Series:
        """Return aliases of a column of texts; null stays null."""
        found = texts.unique(maintain_order=True).drop_nulls()
        aliases = pl.Series(texts.name, [self.of(kind, text) for text in found], dtype=pl.String)
        return pl.Series(texts.replace_strict(found, aliases, default=None))

    def frame(self, table: str, frame: pl.DataFrame) -> pl.DataFrame:
        """Return a stored table with aliases in its columns of text."""
        return frame.with_columns(
            self.column(_KINDS.get((table, name), name), frame[name])
            for name, kind in frame.schema.items()
            if kind == pl.String and (table, name) not in _HARMLESS
        )

    def info(self, info: Mapping[str, Any]) -> dict[str, Any]:
        """Return the run's information: numbers, what is harmless, and aliases of the rest that is known."""
        told: dict[str, Any] = {}
        for key, value in info.items():
            if key in _KEPT_INFO or isinstance(value, bool | int | float) or value is None:
                told[key] = value
            elif key in ("program", "command"):
                told[key] = self.of(key, str(value))
            elif key == "mpi_library":
                library = _LIBRARY.match(str(value))
                told[key] = library[0] if library else self.of("library", str(value))
            elif key in _TEXTS and isinstance(value, dict):
                told[key] = {self.of("key", k): self.of("text", str(text)) for k, text in value.items()}
        return told


class AnonymousProfile(Profile):
    """A profile whose texts are aliases; numbers are as they are. It shares the other's file."""

    def __init__(self, profile: Profile, aliases: Aliases) -> None:
        self._profile, self._aliases = profile, aliases
        self.source = profile.source

    @property
    def path(self) -> Path:
        """An alias with the suffix of profiles."""
        return Path(self._aliases.of("profile", str(self._profile.path)).replace(" ", "-") + ".halo")

    @property
    def info(self) -> Mapping[str, Any]:
        """As the profile's, but for texts."""
        return self._aliases.info(self._profile.info)

    @property
    def has_trace(self) -> bool:
        """Whether the profile has a trace."""
        return self._profile.has_trace

    def trace(self) -> Trace:
        """Return the profile's trace with aliases."""
        return anonymous_trace(self._profile.trace(), self._aliases)

    def _frame(self, table: str, columns: Sequence[str] | None) -> pl.DataFrame:
        return self._aliases.frame(table, self._profile._frame(table, columns))


def anonymous_trace(trace: Trace, aliases: Aliases) -> Trace:
    """Return a trace with aliases for names of regions, hosts and communicators."""
    return replace(
        trace,
        communicators=aliases.frame("communicators", trace.communicators),
        paths=aliases.frame("paths", trace.paths),
        processes=aliases.frame("processes", trace.processes),
    )
