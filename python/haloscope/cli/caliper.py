"""Profiles of programs that ask Caliper for something: it is written when they have ended."""

from __future__ import annotations

from pathlib import Path

from haloscope.base.errors import HaloscopeError


def write_as_caliper(profile: Path) -> list[str]:
    """Write what the program asked Caliper for. Return remarks; it changes no exit status either."""
    from haloscope import explain

    try:
        # Few programs ask, and tables take a while to load.
        if "caliper.config" not in (explain.read_info(str(profile)).get("metadata") or ()):
            return []
        with explain.open(profile) as opened:
            return explain.write_caliper_outputs(opened)
    except (HaloscopeError, OSError) as error:
        return [str(error)]
