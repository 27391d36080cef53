"""`export`: chooses the writer, and gives it what it writes about."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from haloscope.base.errors import UsageError
from haloscope.explain.export.aliases import Aliases
from haloscope.explain.export.exports import EXPORTS, Format
from haloscope.explain.export.traced import Profiles, TracedProfile
from haloscope.profile import Profile

Paths = str | os.PathLike[str]


def export(
    profiles: Paths | Iterable[Paths], to: str, output: Paths | None = None, anonymous: bool = False
) -> Path:
    """Write profiles, or the trace of one, in a format of `EXPORTS`; return where.

    `output` is a file or a directory, as the format has it; by default it is called as the first profile is,
    and stands in the working directory. `anonymous` puts aliases in place of the names of hosts, regions,
    files, programs and users, and of what the program says of its run. Raises `UsageError` for an
    unknown format or for several profiles where one is asked for, `ProfileError`, `OutputError`, and
    `ComponentError` where a format's library is missing.
    """
    return export_with_remarks(profiles, to, output, anonymous)[0]


def export_with_remarks(
    profiles: Paths | Iterable[Paths], to: str, output: Paths | None = None, anonymous: bool = False
) -> tuple[Path, Sequence[str]]:
    """Do as `export`; return also lines about what was left out."""
    paths = [Path(profiles)] if isinstance(profiles, str | os.PathLike) else [Path(path) for path in profiles]
    form = _form(to, paths)
    aliases = Aliases() if anonymous else None
    target = Path(output) if output is not None else _default(form, paths[0], aliases)
    return target, _write(form, Profiles(paths, aliases), target)


def _form(to: str, paths: Sequence[Path]) -> Format:
    if to not in EXPORTS:
        raise UsageError(f"{to}: there is no such format; there are {', '.join(EXPORTS)}")
    if not paths:
        raise UsageError("no profile to export: name files that `haloscope run` wrote")
    form = EXPORTS[to]
    if len(paths) > 1 and form.about != "profiles":
        raise UsageError(f"{paths[1]}: {to} is about one run; export each profile on its own")
    return form


def _default(form: Format, first: Path, aliases: Aliases | None) -> Path:
    stem = (
        aliases.of("profile", str(first)).replace(" ", "-") if aliases else first.name.removesuffix(".halo")
    )
    return Path(f"{stem}{form.suffix}")


def _write(form: Format, profiles: Profiles, target: Path) -> Sequence[str]:
    write = form.load()
    if form.about == "profiles":
        return write(profiles, target)
    with profiles.opened(profiles.paths[0]) as profile:
        return profile.data.guard(lambda: write(_source(form, profile), target))


def _source(form: Format, profile: Profile) -> Profile | TracedProfile:
    return TracedProfile.of(profile) if form.about == "trace" else profile
