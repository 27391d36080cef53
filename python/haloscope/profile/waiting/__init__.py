"""Waiting in a trace: ranks that waited, their causes, and the effect on the run time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.profile.waiting.edges import Unit as Unit
    from haloscope.profile.waiting.efficiency import Efficiency as Efficiency
    from haloscope.profile.waiting.graph import ABSENT as ABSENT
    from haloscope.profile.waiting.graph import COUNTED as COUNTED
    from haloscope.profile.waiting.graph import Edges as Edges
    from haloscope.profile.waiting.graph import Question as Question
    from haloscope.profile.waiting.graph import tape as tape
    from haloscope.profile.waiting.timeline import Timeline as Timeline
    from haloscope.profile.waiting.tolerance import find_length_without_waiting as find_length_without_waiting
    from haloscope.profile.waiting.tolerance import find_tolerance as find_tolerance
    from haloscope.profile.waiting.tolerance import pieces as pieces
    from haloscope.profile.waiting.wait_analysis import WaitAnalysis as WaitAnalysis
    from haloscope.profile.waiting.wait_analysis import analyse_waiting as analyse_waiting
    from haloscope.profile.waiting.wait_tables import wait_table as wait_table

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
