"""What can go wrong, as exceptions that a person can act on.

HaloscopeError             exit status 1
├── UsageError             exit status 2: the caller asked for something that does not exist
├── ProfileError           a profile file cannot be read
├── TimingsError           timings that nothing can be said about
├── OutputError            a result cannot be written
├── MachineError           a machine model cannot be read, or lacks what is asked of it
├── RecorderError          no recorder fits the program's MPI, or it cannot be built
├── ComponentError         exit status 69: a library or tool that is needed is missing, or does not fit
├── SimulationError        a simulation did not come to its end
└── LaunchError            the program to be watched cannot be started

Each carries one line that says what happened, to what, and what to do about it. The command line
prints that line and leaves with `exit_status`; nothing else of an exception is ever shown.
"""

from __future__ import annotations

import unicodedata
from typing import ClassVar

__all__ = [
    "ComponentError",
    "HaloscopeError",
    "LaunchError",
    "MachineError",
    "OutputError",
    "ProfileError",
    "RecorderError",
    "SimulationError",
    "TimingsError",
    "UsageError",
    "printable",
    "shorten_text",
]


# A region's name, for one, may have a million characters.
_LONGEST_LINE = 2000


def printable(text: str) -> str:
    """Return `text` on one line without characters that would steer a terminal.

    File and region names are other people's text: newlines, escape sequences and bidirectional
    overrides become visible escapes.
    """
    return "".join(_visible(character) for character in text)


def shorten_text(text: str, most: int) -> str:
    """Return `text`, or of one with more than `most` characters its two ends."""
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-(most - most // 2 - 1) :]}"


def _visible(character: str) -> str:
    if character == " " or unicodedata.category(character)[0] not in "CZ":
        return character
    return character.encode("unicode_escape").decode("ascii")


class HaloscopeError(Exception):
    """Base of all errors that Haloscope raises on purpose; `str()` is one line."""

    exit_status: ClassVar[int] = 1

    def __init__(self, message: str) -> None:
        super().__init__(printable(shorten_text(message, _LONGEST_LINE)))


class UsageError(HaloscopeError):
    """A verb, option, table or region that does not exist, or options that exclude each other."""

    exit_status: ClassVar[int] = 2


class ProfileError(HaloscopeError):
    """A profile that is missing, not a profile, damaged, or from a newer version."""


class TimingsError(HaloscopeError):
    """Timings that are no numbers, too few, or that no model of the kind asked for can have."""


class OutputError(HaloscopeError):
    """A file or directory that cannot be written."""


class MachineError(HaloscopeError):
    """A machine model that is missing, damaged, or lacks what a formula needs."""


class RecorderError(HaloscopeError):
    """No recorder for this MPI, and none could be built."""


class ComponentError(HaloscopeError):
    """A library or tool that a part of Haloscope needs is missing, or was built with another MPI."""

    exit_status: ClassVar[int] = 69  # EX_UNAVAILABLE of sysexits.h: no program of ours ends with it otherwise


class LaunchError(HaloscopeError):
    """The program to be watched could not be started."""


class SimulationError(HaloscopeError):
    """What SimGrid simulated crashed, blocked or took too long."""
