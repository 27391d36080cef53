"""Schedules: collectives as messages, and their execution on a machine."""

from haloscope.predict.schedule.catalogue import algorithms, collectives, schedule, uses
from haloscope.predict.schedule.message_schedule import MESSAGE, Durations, Executed, Plan, Schedule, execute

__all__ = [
    "MESSAGE",
    "Durations",
    "Executed",
    "Plan",
    "Schedule",
    "algorithms",
    "collectives",
    "execute",
    "schedule",
    "uses",
]
