"""Watching programs: markers for Python programs, and what starts a program under the recorder.

The markers are all that a watched program needs; the rest is imported by the commands.
"""

from __future__ import annotations

from haloscope.watch._markers import comm_region, region, value

__all__ = ["comm_region", "region", "value"]
