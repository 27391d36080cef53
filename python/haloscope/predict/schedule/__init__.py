"""Schedules: collectives as messages, and their execution on a machine."""

from haloscope.predict.schedule._catalogue import algorithms, collectives, schedule, uses
from haloscope.predict.schedule._schedule import MESSAGE, Durations, Executed, Plan, Schedule, execute

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
