"""Settings, each declared once for options, environment variables, validation and documentation.

The recorder's build also takes its defaults and limits from them (`src/watch/declared.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from haloscope.base.errors import UsageError

Value = str | int | float | bool | Path | Sequence[str]
# Defaults in words, and their form in the variable.
_IN_WORDS = {"off": "0", "none": "", "all": ""}


@dataclass(frozen=True)
class Setting:
    """One setting: its option, its environment variable, and the form of its value there.

    `default` is for people: the value, then a comma and its meaning, such as "0, none". `least` and `most`
    are the limits of a number. `is_option` is false for a setting that only experts need. `group` is its
    title in the help.
    """

    name: str
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
    group: str = ""
    prefix: str = "HALOSCOPE_"

    @property
    def variable(self) -> str:
        return self.prefix + self.name.upper()

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def title(self) -> str:
        """The name in errors: the option, else the variable."""
        return self.option if self.is_option else self.variable

    @property
    def initial(self) -> str:
        """The default in the form of the variable."""
        value = self.default.partition(",")[0]
        return _IN_WORDS.get(value, value)

    def encode(self, value: Value) -> str:
        """Return the value in the form of the variable. Raises `UsageError`."""
        encoder = self.encoder or (_absolute if self.kind is Path else _plain)
        return encoder(self, value)


def to_environment(
    values: Mapping[str, Value | None], environment: Mapping[str, str], settings: Iterable[Setting]
) -> dict[str, str]:
    """Return the variables of settings that are in `values`, or else in the environment."""
    result = {}
    for setting in settings:
        value = values.get(setting.name)
        if value is not None and value is not False and value != ():
            result[setting.variable] = setting.encode(value)
        elif setting.variable in environment:
            result[setting.variable] = environment[setting.variable]
    return result


def _plain(setting: Setting, value: Value) -> str:
    if setting.kind is bool and not isinstance(value, bool):
        raise UsageError(f"{setting.title} {value!r}: takes no value; in Python and YAML, true or false")
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int | float):
        if setting.least is not None and not value >= setting.least:
            raise UsageError(f"{setting.title} {value}: at least {setting.least}")
        if setting.most is not None and not value <= setting.most:
            raise UsageError(f"{setting.title} {value}: at most {setting.most}")
    return str(value)


def _absolute(setting: Setting, value: Value) -> str:
    """Return the path as an absolute one: programs change directories."""
    path = str(Path(str(value)).absolute())
    return path + "/" if str(value).endswith("/") else path
