"""Options that several commands share: settings of a run, output formats, numbers and sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from haloscope.base.objects import ABIS
from haloscope.base.settings import Setting

_MOST_VALUES = 1 << 16
_RANGE = re.compile(r"([0-9]{1,13})(?::([0-9]{1,13})(?::([0-9]{1,13}))?)?")
_F = TypeVar("_F", bound=Callable[..., Any])
FILE = click.Path(path_type=Path)


def decode_region(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    """Return the name of a region as profiles have it: UTF-8, whatever the locale is."""
    return None if text is None else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class _OutputPath(click.Path):
    """A file or directory that a command writes."""


def output_option(
    metavar: str, text: str, names: tuple[str, ...] = ("-o", "--output"), **settings: Any
) -> Callable[[_F], _F]:
    """Add an option for a file or directory to write, which cannot be one that the command reads."""

    def decorate(function: _F) -> _F:
        @wraps(function)
        def checked(*arguments: Any, **values: Any) -> Any:
            _refuse_inputs(click.get_current_context())
            return function(*arguments, **values)

        kind = _OutputPath(path_type=Path)
        option = click.option(*names, type=kind, metavar=metavar, help=text, **settings)
        return cast("_F", option(checked))

    return decorate


def _refuse_inputs(context: click.Context) -> None:
    written = {each.name for each in context.command.params if isinstance(each.type, _OutputPath)}
    read = [value for name, value in context.params.items() if name not in written]
    paths = [path for value in read for path in (value if isinstance(value, tuple) else (value,))]
    for name in written:
        value = context.params.get(name or "")
        for output in value if isinstance(value, tuple) else (value,):
            if isinstance(output, Path) and any(
                isinstance(p, Path | str) and _is_same(output, p) for p in paths
            ):
                raise click.UsageError(f"{output}: is read by this command; name another file to write")


def _is_same(output: Path, path: Path | str) -> bool:
    try:
        return output.samefile(path)
    except (OSError, ValueError):
        return False


latency_option = click.option(
    "--latency",
    metavar="[LINK=][FACTOR*]MODEL",
    multiple=True,
    help="Latency of messages. MODEL is constant:1ms, normal:1ms,0.2ms, lognormal:1ms,0.5, gamma:2,0.5ms, "
    "empirical:FILE (one value in seconds per line), model:FILE.json (of haloscope regimes) or none. "
    "LINK is intra for messages within a node, inter for those between nodes. FACTOR multiplies the latency. "
    "Can be repeated. [default: none]",
)
seed_option = click.option(
    "--seed", metavar="N", type=click.IntRange(0), default=0, help="Seed of the random numbers."
)


def numbers(_context: click.Context, _option: click.Parameter, text: str | None) -> list[int] | None:
    """Return the numbers of a list such as `8,16`, in which ranges may be.

    `2:8` is doubled, as OSU's ranges are: 2, 4, 8. `2:8:1` has a step: 2, 3, ..., 8.
    """
    return None if text is None else _in_ranges(text)


def sizes(_context: click.Context, _option: click.Parameter, text: str) -> list[int]:
    """Return message sizes: `numbers`, and as OSU `16` and `:16` for `1:16`, `2:` for `2:1048576`."""
    first, colon, last = text.partition(":")
    if "," not in text and ":" not in last:
        text = f"{first or 1}:{last or 1 << 20}" if colon else f"1:{first}"
    found = _in_ranges(text)
    if 0 in found:
        raise click.BadParameter("a message has 1 byte or more")
    return found


def _in_ranges(text: str) -> list[int]:
    return list(dict.fromkeys(number for part in text.split(",") for number in _in_range(part, text)))


def _in_range(part: str, text: str) -> Iterable[int]:
    ends = _RANGE.fullmatch(part.strip())
    first, last, step = (int(end or 0) for end in ends.groups()) if ends else (1, 0, 0)
    if ends and ends[2] is None:
        return (first,)
    if first > last or (ends and ends[3] and not step):
        raise click.BadParameter(f"{text!r} is not like 8,16 or 2:256 or 2:8:1")
    if step:
        if (last - first) // step > _MOST_VALUES:
            raise click.BadParameter(f"{text!r} is more than {_MOST_VALUES} numbers")
        return range(first, last + 1, step)
    if first == 0:
        raise click.BadParameter(f"{text!r}: 0 cannot be doubled; write {part.strip()}:1 for every number")
    return (first << doubled for doubled in range((last // first).bit_length()))


def mpi_option(function: _F) -> _F:
    """Add the option `mpi`, the binary interface of the MPI."""
    return click.option(
        "--mpi", type=click.Choice(ABIS), help="Binary interface of the MPI, if Haloscope does not find it."
    )(function)


def format_option(
    text: str = "Print for people or for programs.", choices: Sequence[str] = ("table", "csv", "json")
) -> Callable[[_F], _F]:
    """Add the option `form`, whose default is the first of its choices, and `--json`."""
    kind = click.Choice(choices)
    form = click.option("--format", "form", type=kind, default=choices[0], help=text)
    as_json = click.option("--json", "form", flag_value="json", help="The same as --format json.")
    return lambda function: form(as_json(function))


def setting_options(settings: Iterable[Setting]) -> Callable[[_F], _F]:
    """Add an option for each of these settings that is one, in their order."""

    def decorate(function: _F) -> _F:
        for setting in reversed([setting for setting in settings if setting.is_option]):
            function = _option(setting)(function)
        return function

    return decorate


def _option(setting: Setting) -> Callable[[_F], _F]:
    names = [setting.option, *([setting.flag] if setting.flag else [])]
    if setting.kind is bool:
        return click.option(*names, is_flag=True, help=setting.description)
    text = f"{setting.description} [default: {setting.default}]"
    if setting.choices:
        return click.option(*names, type=click.Choice(setting.choices), help=text)
    kind = FILE if setting.kind is Path else setting.kind
    return click.option(*names, type=kind, multiple=setting.multiple, metavar=setting.metavar, help=text)
