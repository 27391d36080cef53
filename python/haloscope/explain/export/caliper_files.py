"""`--to cali`: profiles for caliper-reader, Hatchet and Thicket."""

from __future__ import annotations

from pathlib import Path

from haloscope.explain.caliper.cali_writer import write_cali
from haloscope.profile import Profile


def write_caliper(profile: Profile, output: Path) -> list[str]:
    """Write a profile as `.cali`, with its program as the root of the regions. Raises `OutputError`."""
    return _list_remarks(write_cali(profile, output, program=True), output)


def write_caliper_ranks(profile: Profile, output: Path) -> list[str]:
    """Write a profile as `.cali` with a record for each region and rank. Raises `OutputError`."""
    return _list_remarks(write_cali(profile, output, program=True, by_rank=True), output)


def _list_remarks(records: int, output: Path) -> list[str]:
    return [] if records else [f"{output}: has no regions, as the profile has no data of single ranks"]
