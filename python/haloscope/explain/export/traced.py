"""Input of exports: profiles that are opened one after the other, or a trace with its run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from haloscope.base.errors import ProfileError
from haloscope.explain.export.aliases import Aliases, AnonymousProfile, anonymise_trace
from haloscope.profile import Profile
from haloscope.profile import open as open_profile
from haloscope.profile.trace import Trace


@dataclass(frozen=True)
class Profiles:
    """Profiles, of which one at a time is open; with `aliases` they are anonymous."""

    paths: Sequence[Path]
    aliases: Aliases | None = None

    def __len__(self) -> int:
        return len(self.paths)

    def __iter__(self) -> Iterator[Profile]:
        for path in self.paths:
            with self.open_profile(path) as profile:
                yield profile

    @contextmanager
    def open_profile(self, path: Path) -> Iterator[Profile]:
        """Open one of the profiles."""
        with open_profile(path) as profile:
            yield AnonymousProfile(profile, self.aliases) if self.aliases else profile


@dataclass(frozen=True)
class TracedProfile:
    """A trace and the information about its run."""

    trace: Trace
    info: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, profile: Profile) -> TracedProfile:
        """Return the trace of a profile. Raises `ProfileError` if none was recorded."""
        if not profile.has_trace:
            raise ProfileError(f"{profile.path}: has no trace: record one with haloscope run --trace")
        return cls(profile.trace(), profile.info)

    def anonymous(self, aliases: Aliases) -> TracedProfile:
        """Return the same trace with aliases for names."""
        return TracedProfile(anonymise_trace(self.trace, aliases), aliases.info(self.info))
