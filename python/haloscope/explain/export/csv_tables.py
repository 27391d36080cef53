"""`--to csv`: a directory with one file per table that has rows."""

from __future__ import annotations

from pathlib import Path

from haloscope.base.files import write_directory
from haloscope.profile import Profile
from haloscope.profile.tables import TABLES

_SIGN = "info.csv"  # every profile has this


def write_csv(profile: Profile, output: Path) -> list[str]:
    """Write the tables of a profile as `show --format csv` prints them, inclusive of nested regions.

    Return a line with the names of tables without rows. Raises `OutputError`.
    """
    empty = []
    with write_directory(output, _SIGN, "directory of tables") as folder:
        for name in TABLES:
            table = profile.table(name)
            if table.height:
                table.write_csv(folder / f"{name}.csv")
            else:
                empty.append(name)
    return [f"{output}: without {', '.join(empty)}, which the profile does not have"] if empty else []
