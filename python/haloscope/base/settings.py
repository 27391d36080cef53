"""Settings that are declared once: options, validation and environment variables follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from haloscope.base.errors import UsageError

__all__ = ["Setting", "Value", "to_environment"]

Value = str | int | float | bool | Path | tuple[str, ...]


@dataclass(frozen=True)
class Setting:
    """One setting: its option, its environment variable, and how its value is written there."""

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

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")

    def encode(self, value: Value) -> str:
        """The value as the recorder reads it."""
        encoder = self.encoder or (_absolute if self.kind is Path else _plain)
        return encoder(self, value)


def to_environment(
    values: Mapping[str, Value | None], environment: Mapping[str, str], settings: Iterable[Setting]
) -> dict[str, str]:
    """Return the variables of the settings that were given, as options or in the environment."""
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
    if setting.least is not None and isinstance(value, int | float) and not value >= setting.least:
        raise UsageError(f"{setting.option} {value}: at least {setting.least}")
    return str(value)


def _absolute(setting: Setting, value: Value) -> str:
    """Programs change directories; the place is the one that was meant at the start."""
    path = str(Path(str(value)).absolute())
    return path + "/" if str(value).endswith("/") else path
