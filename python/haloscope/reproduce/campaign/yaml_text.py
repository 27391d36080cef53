"""Reading of YAML files, with file, line and remedy in errors."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from haloscope.base.core_yaml import CoreLoader
from haloscope.base.errors import UsageError

_MOST_BYTES = 1 << 20
_DEEPEST = 32
_CLOSE = 0.7  # of names that may be meant; `ramble` is 0.6 to `name`
_T = TypeVar("_T", bound=BaseModel)
_Path = tuple[str | int, ...]


class Lines:
    """The lines of the values of a document, by their path in it."""

    def __init__(self, root: yaml.Node) -> None:
        self.lines: dict[_Path, int] = {}
        self._store(root, ())

    def _store(self, node: yaml.Node, path: _Path) -> None:
        if len(path) > _DEEPEST:
            raise RecursionError
        self.lines[path] = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                inner = (*path, str(key.value))
                if inner in self.lines:
                    raise yaml.MarkedYAMLError(
                        problem=f"{key.value!r} exists twice", problem_mark=key.start_mark
                    )
                self._store(value, inner)
                self.lines[inner] = key.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                self._store(value, (*path, index))

    def of(self, path: Sequence[str | int]) -> int:
        """Return the line of a value, or of the innermost existing value that contains it."""
        return next(
            self.lines[found]
            for end in range(len(path), -1, -1)
            if (found := tuple(path[:end])) in self.lines
        )


def make_error(file: Path | str, line: int | None, message: str) -> UsageError:
    """Return an error with the file and line."""
    return UsageError(f"{file}{'' if line is None else f':{line}'}: {message}")


def read_model(file: Path, model: type[_T]) -> tuple[_T, Lines]:
    """Return the model in a YAML file, and its lines.

    Raises:
        UsageError: The file is unreadable or does not fit the model.
    """
    values, lines = compose_yaml(file)
    try:
        return model.model_validate(values), lines
    except ValidationError as error:
        raise _describe_fault(file, lines, error, model, values) from None


def compose_yaml(file: Path) -> tuple[Any, Lines]:
    """Return the content of a YAML file, and its lines.

    Raises:
        UsageError: The file is unreadable or not YAML.
    """
    try:
        with file.open("rb") as stream:
            text = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise make_error(file, None, f"cannot be read: {error.strerror}") from None
    if len(text) > _MOST_BYTES:
        raise make_error(file, None, f"not a specification: larger than {_MOST_BYTES} bytes")
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=CoreLoader)):
            raise make_error(file, None, "aliases (*name) are not supported; write out the value")
        loader = CoreLoader(text)
        root = loader.get_single_node()
        if root is None:
            raise make_error(file, None, "empty; see docs/reference/campaign.md for the form")
        lines = Lines(root)
        return loader.construct_document(_keep_environment(root)), lines
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise make_error(file, mark.line + 1 if mark else None, f"not YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise make_error(file, None, "not YAML, or nested too deeply") from None


def _keep_environment(node: yaml.Node) -> yaml.Node:
    """Return the node in which the values of environment variables are text, as written."""
    if isinstance(node, yaml.SequenceNode):
        for inner in node.value:
            _keep_environment(inner)
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if key.value == "environment" and isinstance(value, yaml.MappingNode):
            for _, text in value.value:
                if isinstance(text, yaml.ScalarNode) and text.value:
                    text.tag = "tag:yaml.org,2002:str"
        _keep_environment(value)
    return node


def _describe_fault(
    file: Path, lines: Lines, error: ValidationError, model: type[BaseModel], values: Any
) -> UsageError:
    problems = error.errors()
    # A mistyped key is missing as well, as are many keys of a different kind of file.
    order = {"extra_forbidden": 0, "value_error": 1}
    first = min(problems, key=lambda problem: order.get(problem["type"], 2))
    # For a union, the path also contains the tried types.
    loc, is_unknown = first["loc"], first["type"] == "extra_forbidden"
    path = tuple(part for part in loc[:-1] if isinstance(part, int) or _is_key(part))
    # The last part of an unknown key is the user's, whatever it looks like.
    path += tuple(part for part in loc[-1:] if is_unknown or isinstance(part, int) or _is_key(part))
    message = first["msg"].removeprefix("Value error, ")
    if is_unknown:
        message = _describe_unknown(path, model)
    elif first["type"] == "missing":
        message = "is missing"
    name = ".".join(str(part) for part in path)
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return make_error(file, lines.of(path), f"{f'{name}: ' if name else ''}{message}{more}")


def _is_key(part: str) -> bool:
    return "[" not in part and part not in {"bool", "int", "float", "str", "tuple", "dict"}


def _describe_unknown(path: _Path, model: type[BaseModel]) -> str:
    known = sorted(_find_keys(path[:-1], model))
    near = difflib.get_close_matches(str(path[-1]), known, 1, _CLOSE)
    question = f"did you mean {near[0]}? Choose" if near else "choose"
    return f"not a key here; {question} from {', '.join(known)}"


def _find_keys(path: _Path, model: type[BaseModel]) -> set[str]:
    """Return the keys of a model at a path, through its dictionaries, lists and unions of models."""
    found: list[Any] = [model]
    for part in path:
        found = [inner for kind in found for inner in _list_inner(kind, part)]
    return {
        key
        for kind in found
        for option in _list_members(kind)
        if isinstance(option, type) and issubclass(option, BaseModel)
        for key in option.model_fields
    }


def _list_members(kind: Any) -> list[Any]:
    """Return the members of a union, without annotations."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _list_members(arguments[0])
    if origin in {Union, UnionType}:
        return [option for argument in arguments for option in _list_members(argument)]
    return [kind]


def _list_inner(kind: Any, part: str | int) -> list[Any]:
    """Return the types of a part of a value of this type."""
    found = []
    for option in _list_members(kind):
        if isinstance(option, type) and issubclass(option, BaseModel):
            found += [option.model_fields[str(part)].annotation] if str(part) in option.model_fields else []
        elif get_origin(option) in {dict, list, tuple}:
            found.append(get_args(option)[1 if get_origin(option) is dict else 0])
    return found
