"""YAML whose mistakes are told with file, line and remedy."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from haloscope.base.errors import UsageError

_MOST_BYTES = 1 << 20
_DEEPEST = 32
_T = TypeVar("_T", bound=BaseModel)
_Place = tuple[str | int, ...]


class Lines:
    """The lines of a document's values, by their place in it."""

    def __init__(self, root: yaml.Node) -> None:
        self.lines: dict[_Place, int] = {}
        self._note(root, ())

    def _note(self, node: yaml.Node, place: _Place) -> None:
        if len(place) > _DEEPEST:
            raise RecursionError
        self.lines[place] = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                inner = (*place, str(key.value))
                if inner in self.lines:
                    raise yaml.MarkedYAMLError(
                        problem=f"{key.value!r} is there twice", problem_mark=key.start_mark
                    )
                self._note(value, inner)
                self.lines[inner] = key.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                self._note(value, (*place, index))

    def of(self, place: Sequence[str | int]) -> int:
        """Return the line of the value, or of the innermost that is there and holds it."""
        return next(
            self.lines[found]
            for end in range(len(place), -1, -1)
            if (found := tuple(place[:end])) in self.lines
        )


def wrong(file: Path | str, line: int | None, said: str) -> UsageError:
    """Return the error for what is wrong in that line of a file."""
    return UsageError(f"{file}{'' if line is None else f':{line}'}: {said}")


def read_model(file: Path, model: type[_T]) -> tuple[_T, Lines]:
    """Return what a YAML file says for a model, and the lines of it. Raises `UsageError`."""
    values, lines = compose_yaml(file)
    try:
        return model.model_validate(values), lines
    except ValidationError as error:
        raise _describe_fault(file, lines, error, model, values) from None


def compose_yaml(file: Path) -> tuple[Any, Lines]:
    """Return what a YAML file holds, and the lines of it. Raises `UsageError`."""
    try:
        with file.open("rb") as stream:
            text = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise wrong(file, None, f"cannot be read: {error.strerror}") from None
    if len(text) > _MOST_BYTES:
        raise wrong(file, None, f"is no specification: larger than {_MOST_BYTES} bytes")
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            raise wrong(file, None, "has an alias (*name); write out what it stands for")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is None:
            raise wrong(file, None, "is empty; docs/reference/campaign.md has the form")
        return yaml.safe_load(text), Lines(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise wrong(file, mark.line + 1 if mark else None, f"is not YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise wrong(file, None, "is not YAML text, or is too deep") from None


def _describe_fault(
    file: Path, lines: Lines, error: ValidationError, model: type[BaseModel], values: Any
) -> UsageError:
    problems = error.errors()
    # A mistyped key is missing, too, and so is much of a file of another kind.
    order = {"extra_forbidden": 0, "value_error": 1}
    first = min(problems, key=lambda problem: order.get(problem["type"], 2))
    # Of a union, the kinds that were tried stand in the place, too.
    place = tuple(part for part in first["loc"] if isinstance(part, int) or _is_key(part))
    said = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        said = _unknown(place, model)
    elif first["type"] == "missing":
        said = "is missing"
    name = ".".join(str(part) for part in place)
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return wrong(file, lines.of(place), f"{f'{name}: ' if name else ''}{said}{more}")


def _is_key(part: str) -> bool:
    return "[" not in part and part not in {"bool", "int", "float", "str", "tuple", "dict"}


def _unknown(place: _Place, model: type[BaseModel]) -> str:
    known = sorted(_keys_at(place[:-1], model))
    near = difflib.get_close_matches(str(place[-1]), known, 1)
    return f"is no key here; {f'{near[0]} is, ' if near else ''}there are {', '.join(known)}"


def _keys_at(place: _Place, model: type[BaseModel]) -> set[str]:
    """Return the keys that a model has there, through its dictionaries, lists and unions of models."""
    found: list[Any] = [model]
    for part in place:
        found = [inner for kind in found for inner in _inside(kind, part)]
    return {
        key
        for kind in found
        for option in _options(kind)
        if isinstance(option, type) and issubclass(option, BaseModel)
        for key in option.model_fields
    }


def _options(kind: Any) -> list[Any]:
    """Return the parts of a union, without what annotates them."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _options(arguments[0])
    if origin in {Union, UnionType}:
        return [option for argument in arguments for option in _options(argument)]
    return [kind]


def _inside(kind: Any, part: str | int) -> list[Any]:
    """Return the kinds of what stands there in a value of this kind."""
    found = []
    for option in _options(kind):
        if isinstance(option, type) and issubclass(option, BaseModel):
            found += [option.model_fields[str(part)].annotation] if str(part) in option.model_fields else []
        elif get_origin(option) in {dict, list, tuple}:
            found.append(get_args(option)[1 if get_origin(option) is dict else 0])
    return found
