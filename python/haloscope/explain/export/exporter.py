"""The work of `haloscope export`: selects the writer and its input."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from haloscope.base.errors import UsageError
from haloscope.explain.export.aliases import Aliases
from haloscope.explain.export.exports import EXPORTS, Format
from haloscope.explain.export.traced import Profiles, TracedProfile

Paths = str | os.PathLike[str]


def export(
    profiles: Paths | Iterable[Paths], to: str, output: Paths | None = None, anonymous: bool = False
) -> Path:
    """Write profiles, or the trace of one, in a format of `EXPORTS`.

    Args:
        profiles: One or more profiles.
        to: Name of the format.
        output: File or directory, depending on the format; by default in the working directory, with the name
            of the first profile.
        anonymous: Whether to replace names of hosts, regions, files, programs and users, and the program's
            description of its run, by aliases.

    Returns:
        The path of the file or directory.

    Raises:
        UsageError: The format is unknown, or takes only one profile.
        ProfileError: A profile cannot be read.
        OutputError: The output cannot be written.
        ComponentError: The library of the format is missing.
    """
    return export_with_remarks(profiles, to, output, anonymous)[0]


def export_with_remarks(
    profiles: Paths | Iterable[Paths], to: str, output: Paths | None = None, anonymous: bool = False
) -> tuple[Path, Sequence[str]]:
    """Do the same as `export`; also return lines about data that the format cannot hold."""
    paths = [Path(profiles)] if isinstance(profiles, str | os.PathLike) else [Path(path) for path in profiles]
    form = _find_format(to, paths)
    aliases = Aliases() if anonymous else None
    target = Path(output) if output is not None else _default_output(form, paths[0], aliases)
    return target, _write(form, Profiles(paths, aliases), target)


def _find_format(to: str, paths: Sequence[Path]) -> Format:
    if to not in EXPORTS:
        raise UsageError(f"{to}: unknown format; choose from {', '.join(EXPORTS)}")
    if not paths:
        raise UsageError("no profile to export: give files that `haloscope run` wrote")
    form = EXPORTS[to]
    if len(paths) > 1 and form.about != "profiles":
        raise UsageError(f"{paths[1]}: {to} takes one run; export each profile separately")
    return form


def _default_output(form: Format, first: Path, aliases: Aliases | None) -> Path:
    stem = (
        aliases.of("profile", str(first)).replace(" ", "-") if aliases else first.name.removesuffix(".halo")
    )
    return Path(f"{stem}{form.suffix}")


def _write(form: Format, profiles: Profiles, target: Path) -> Sequence[str]:
    write = form.load()
    if form.about == "profiles":
        return write(profiles, target)
    with profiles.open_profile(profiles.paths[0]) as profile:
        return profile.data.guard(
            lambda: write(TracedProfile.of(profile) if form.about == "trace" else profile, target)
        )
