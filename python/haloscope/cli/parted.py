"""Files that `--` parts into groups, as `regimes` and `compare` take them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from haloscope.base.errors import UsageError

PARTED = Path("/--/")  # what no file is called


class PartedCommand(click.Command):
    """A command whose files are parted by `--`, which would otherwise end the options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [str(PARTED) if arg == "--" else arg for arg in args])


def split_groups(files: Sequence[Path], what: str) -> list[list[Path]]:
    """Return the files of each group. Raises `UsageError` if a group, such as `what` is one, has none."""
    groups: list[list[Path]] = [[]]
    for path in files:
        if path == PARTED:
            groups.append([])
        else:
            groups[-1].append(path)
    if not all(groups):
        raise UsageError(f"there is nothing on one side of --; name the runs of each {what}")
    return groups
