"""`haloscope stencil`: run a command whose large messages within a node our protocols carry."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from haloscope.base.preloading import Choice, Outcome, find_target, run_preloaded
from haloscope.base.settings import Value, to_environment
from haloscope.hide._libraries import build_heap, build_protocols
from haloscope.hide._parts import put_together, writable
from haloscope.hide._stencil_settings import STENCIL_SETTINGS
from haloscope.hide._stencil_summary import summary

__all__ = ["stencil"]

_RECORD = "HALOSCOPE_STENCIL_RECORD"
_HEADER = "rank,partner,bytes,protocol,messages,chunks,helpers,time"


def stencil(
    command: Sequence[str],
    values: Mapping[str, Value | None],
    share_heap: bool,
    choice: Choice,
    quiet: bool = False,
) -> Outcome:
    """Run a command with the protocol layer in its ranks; raises only if nothing was started."""
    settings = to_environment(values, os.environ, STENCIL_SETTINGS)
    target = find_target(command, choice, "there is nothing to carry")
    asked = writable(Path(settings[_RECORD])) if _RECORD in settings else None
    layer = build_protocols(target.mpi.headers, quiet)
    behind = [build_heap(quiet)] if share_heap else []
    with tempfile.TemporaryDirectory(prefix="haloscope-") as aside:  # what nobody wants to keep
        record = asked or Path(aside) / "stencil.csv"
        status = run_preloaded(target, layer, settings | {_RECORD: str(record)}, behind)
        put_together(record, _HEADER)
        said = summary(record, share_heap)
    return Outcome(status, remarks=[f"{said}: {asked}" if asked else said])
