"""Settings that are declared once: options, environment variables, validation and documentation follow.

The recorder's build makes its defaults and limits of them, too (`src/watch/declared.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from haloscope.base.errors import UsageError

__all__ = ["Setting", "Value", "to_environment"]

Value = str | int | float | bool | Path | Sequence[str]
# Defaults in words, and how they are written in the variable.
_IN_WORDS = {"off": "0", "none": "", "all": ""}


@dataclass(frozen=True)
class Setting:
    """One setting: its option, its environment variable, and how its value is written there.

    `default` is for people: the value, and behind a comma what it means, such as "0, none". `least` and
    `most` are the limits of a number. What only an expert ever sets is no option: `is_option` is false.
    """

    name: str
    variable: str
    kind: type[str | int | float | bool | Path]
    default: str
    description: str
    metavar: str | None = None
    flag: str | None = None
    multiple: bool = False
    least: int | None = None
    choices: tuple[str, ...] = ()
    encoder: Callable[[Setting, Value], str] | None = None
    most: int | None = None
    unit: str = ""
    is_option: bool = True
    bare: str = ""  # what the option means without a value, if it may have none

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def title(self) -> str:
        """How errors name it: by its option, else by its variable."""
        return self.option if self.is_option else self.variable

    @property
    def initial(self) -> str:
        """The default as it would be written in the variable."""
        value = self.default.partition(",")[0]
        return _IN_WORDS.get(value, value)

    def encode(self, value: Value) -> str:
        """Return the value as it is written in the variable. Raises `UsageError`."""
        encoder = self.encoder or (_absolute if self.kind is Path else _plain)
        return encoder(self, value)


def to_environment(
    values: Mapping[str, Value | None], environment: Mapping[str, str], settings: Iterable[Setting]
) -> dict[str, str]:
    """Return the variables of the settings that were given, by `values` or else in the environment."""
    result = {}
    for setting in settings:
        value = values.get(setting.name)
        if value is not None and value is not False and value != ():
            result[setting.variable] = setting.encode(value)
        elif setting.variable in environment:
            result[setting.variable] = environment[setting.variable]
    return result


def _plain(setting: Setting, value: Value) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int | float):
        if setting.least is not None and not value >= setting.least:
            raise UsageError(f"{setting.title} {value}: at least {setting.least}")
        if setting.most is not None and not value <= setting.most:
            raise UsageError(f"{setting.title} {value}: at most {setting.most}")
    return str(value)


def _absolute(setting: Setting, value: Value) -> str:
    """Return the path that was meant at the start: programs change directories."""
    path = str(Path(str(value)).absolute())
    return path + "/" if str(value).endswith("/") else path
