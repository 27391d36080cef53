"""The errors that Haloscope raises on purpose.

HaloscopeError             exit status 1
├── UsageError             exit status 2: the caller asked for something that does not exist
├── ProfileError           a profile file cannot be read
├── TimingsError           timings from which nothing can be computed
├── OutputError            a result cannot be written
├── MachineError           a machine model cannot be read, or has no value that a formula needs
├── RecorderError          no recorder fits the program's MPI, or it cannot be built
├── ComponentError         exit status 69: a library or tool is missing, or does not fit
├── SimulationError        a simulation did not come to its end
└── LaunchError            the program to be profiled cannot be started

Each has one line: what happened, to which file or rank, and what to do. The command line
prints that line and leaves with `exit_status`; it prints nothing else of an exception.
"""

from __future__ import annotations

import re
import unicodedata
from typing import ClassVar

# A region's name, for example, may have a million characters.
_LONGEST_LINE = 2000
_FOLDERS = re.compile(r"(?<![\w.…~:/])/(?:[\w.+@-]+/)+")


def printable(text: str) -> str:
    """Return `text` on one line, without characters that would steer a terminal.

    File and region names are untrusted: newlines, escape sequences and bidirectional overrides become
    visible escapes.
    """
    return "".join(_escape_character(character) for character in text)


def without_folders(text: str) -> str:
    """Return a printable text for a page that is sent to others: absolute paths have no folders."""
    return _FOLDERS.sub("…/", printable(text))


def shorten_text(text: str, most: int) -> str:
    """Return `text`, or the two ends of a text with more than `most` characters."""
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-(most - most // 2 - 1) :]}"


def _escape_character(character: str) -> str:
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
    """Timings that are not numbers, too few, or unsuitable for the model that was asked for."""


class OutputError(HaloscopeError):
    """A file or directory that cannot be written."""


class MachineError(HaloscopeError):
    """A machine model that is missing, damaged, or has no value that a formula needs."""


class RecorderError(HaloscopeError):
    """No recorder for this MPI, and none could be built."""


class ComponentError(HaloscopeError):
    """A library or tool that a verb needs is missing, or was built with a different MPI."""

    exit_status: ClassVar[int] = 69  # EX_UNAVAILABLE of sysexits.h: none of our other errors has it


class LaunchError(HaloscopeError):
    """The program to be profiled could not be started."""


class SimulationError(HaloscopeError):
    """The program that SimGrid simulated crashed, blocked or took too long."""
