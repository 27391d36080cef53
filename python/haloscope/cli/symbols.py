"""What `haloscope run` and `haloscope recover` put into profiles with call sites: their lines of source."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from haloscope.base.errors import HaloscopeError
from haloscope.cli.console import say, say_remarks


def keep_symbols(profiles: Iterable[Path], quiet: bool = False) -> None:
    """Put symbols into the profiles, and say of what there are none.

    Whatever goes wrong here must not touch an exit status: a profile without symbols is whole.
    """
    from haloscope import explain

    for profile in profiles:
        try:
            remarks = explain.keep_symbols(profile)
        except (HaloscopeError, OSError) as error:
            remarks = []
            say(str(error))
        if not quiet:
            say_remarks(remarks)
