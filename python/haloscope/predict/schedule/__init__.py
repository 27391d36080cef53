"""Schedules: collectives as messages, and their execution on a machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.predict.schedule.catalogue import algorithms as algorithms
    from haloscope.predict.schedule.catalogue import collectives as collectives
    from haloscope.predict.schedule.catalogue import schedule as schedule
    from haloscope.predict.schedule.catalogue import uses as uses
    from haloscope.predict.schedule.message_schedule import MESSAGE as MESSAGE
    from haloscope.predict.schedule.message_schedule import CollectivePlan as CollectivePlan
    from haloscope.predict.schedule.message_schedule import Durations as Durations
    from haloscope.predict.schedule.message_schedule import Schedule as Schedule
    from haloscope.predict.schedule.message_schedule import execute as execute

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
