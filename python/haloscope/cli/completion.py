"""What `haloscope run` and `haloscope recover` add when a program has ended. It changes no exit status."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from haloscope.base.errors import HaloscopeError
from haloscope.cli.console import say, say_remarks


def write_as_caliper(profile: Path) -> list[str]:
    """Write what the program asked Caliper for. Return remarks."""
    from haloscope import explain

    try:
        # Few programs ask, and tables take a while to load.
        if "caliper.config" not in (explain.read_info(str(profile)).get("metadata") or ()):
            return []
        with explain.open(profile) as opened:
            return explain.write_caliper_outputs(opened)
    except (HaloscopeError, OSError) as error:
        return [str(error)]


def keep_symbols(profiles: Iterable[Path], quiet: bool = False) -> None:
    """Put the source lines of call sites into the profiles, and print what has none."""
    from haloscope import explain

    for profile in profiles:
        try:
            remarks = explain.keep_symbols(profile)
        except (HaloscopeError, OSError) as error:
            remarks = []
            say(str(error))
        if not quiet:
            say_remarks(remarks)
