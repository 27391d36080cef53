"""Experiments of a Ramble workspace, as Benchpark writes them into `ramble.yaml`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from haloscope.base.errors import UsageError
from haloscope.reproduce.campaign.expressions import Value, evaluate_expression, format_value
from haloscope.reproduce.campaign.specification import BUILT_IN, GRID, Experiment
from haloscope.reproduce.campaign.yaml_text import Lines, compose_yaml, make_error

_VARIABLE = re.compile(r"\{([^{}]*)\}")
_IN_NAME = re.compile(r"_?\{[^{}]*\}")
_SCALINGS: tuple[Literal["weak", "strong"], ...] = ("weak", "strong")
# Keys that are read, and keys that do not affect the list of runs.
_READ = {"variables", "env_vars", "n_repeats"}
_CROSSED = {"zips", "matrix", "matrices", "exclude"}
_PASSED_OVER = {"variants", "modifiers", "config", "include", "software", "spack", "success_criteria"}
_SIZES = ("n_ranks", "n_nodes", "n_gpus")
_THREADS = "n_threads_per_proc"
_LARGEST = 1000  # sizes above `max_request` mean "to be computed"

_Scope = dict[str, Any]


def read_ramble(file: Path, programs: Sequence[str]) -> dict[str, Experiment]:
    """Return the experiments of a `ramble.yaml` by name.

    The program of an experiment is APPLICATION.WORKLOAD, or else APPLICATION. Lists are zipped, except as
    specified by `zips` and `matrix`.

    Raises:
        UsageError: The file is invalid or uses unsupported keys; the error has file and line.
    """
    values, lines = compose_yaml(file)
    if not isinstance(values, dict) or not isinstance(values.get("ramble"), dict):
        raise make_error(file, 1, "not a workspace of Ramble: ramble is missing")
    return _Workspace(file, lines, values["ramble"]).experiments(programs)


class _Workspace:
    def __init__(self, file: Path, lines: Lines, root: _Scope) -> None:
        self.file, self.lines, self.root = file, lines, root

    def experiments(self, programs: Sequence[str]) -> dict[str, Experiment]:
        found: dict[str, Experiment] = {}
        for keys, scopes in self._list_scopes():
            application, workload, template = keys[2], keys[4], keys[6]
            names = (f"{application}.{workload}", application)
            program = next((name for name in names if name in programs), None)
            if program is None:
                raise self._make_error(
                    keys[:5], f"neither {' nor '.join(names)} is in programs; add a program with its command"
                )
            try:
                experiment = self._experiment(program, template, scopes)
            except ValidationError as error:
                raise self._make_error(keys, error.errors()[0]["msg"]) from None
            except ValueError as error:
                raise self._make_error(keys, str(error)) from None
            name = _IN_NAME.sub("", template).strip("_") or workload
            if name in found:
                name = f"{application}.{workload}.{name}"
            found[re.sub(r"[^A-Za-z0-9_.+-]", "-", name)[:64]] = experiment
        return found

    def _list_scopes(self) -> Iterator[tuple[tuple[str, ...], list[_Scope]]]:
        """Yield the path of each experiment and its scopes, the innermost last."""
        root = self._check_scope(("ramble",), self.root, {"applications"})
        for application, outer in self._each(("ramble", "applications"), self.root):
            first = self._check_scope(("ramble", "applications", application), outer, {"workloads"})
            keys: tuple[str, ...] = ("ramble", "applications", application, "workloads")
            for workload, middle in self._each(keys, outer):
                second = self._check_scope((*keys, workload), middle, {"experiments"})
                inner_keys = (*keys, workload, "experiments")
                for template, inner in self._each(inner_keys, middle):
                    third = self._check_scope((*inner_keys, template), inner, _CROSSED)
                    yield (*inner_keys, template), [self._read_included(), root, first, second, third]

    def _each(self, keys: tuple[str, ...], scope: _Scope) -> Iterator[tuple[str, _Scope]]:
        inner = scope.get(keys[-1])
        if not isinstance(inner, dict) or not inner:
            raise self._make_error(keys, f"{keys[-1]} is missing or not a mapping")
        yield from ((str(name), value if isinstance(value, dict) else {}) for name, value in inner.items())

    def _check_scope(self, keys: tuple[str, ...], scope: _Scope, more: set[str]) -> _Scope:
        unknown = sorted(scope.keys() - _READ - _PASSED_OVER - more)
        if unknown:
            read = ", ".join(sorted(_READ | more))
            raise self._make_error(
                (*keys, unknown[0]), f"not supported here; supported keys of Ramble: {read}"
            )
        return scope

    def _read_included(self) -> _Scope:
        """Return the variables of existing included files, such as those of Benchpark's system."""
        found: _Scope = {}
        for name in self.root.get("include") or ():
            for base in (self.file.parent.parent, self.file.parent):
                path = base / str(name)
                path = path / "variables.yaml" if path.is_dir() else path
                if path.is_file():
                    values, _ = compose_yaml(path)
                    found.update((values or {}).get("variables") or {})
                    break
        return {"variables": found}

    def _experiment(self, program: str, template: str, scopes: list[_Scope]) -> Experiment:
        variables = {
            name: value for scope in scopes for name, value in (scope.get("variables") or {}).items()
        }
        kept = {name for scope in scopes[1:] for name in scope.get("variables") or {}}
        every = [_resolve(point) for point in _list_points(variables, scopes[-1])]
        given = [name for name in variables if name in kept and all(name in point for point in every)]
        taken = sorted({*BUILT_IN}.difference(GRID).intersection(given))
        if taken:
            raise ValueError(f"variables.{taken[0]}: is defined by Haloscope; give the variable another name")
        where = [str(text) for text in (scopes[-1].get("exclude") or {}).get("where") or ()]
        sized = [(_count_ranks(point), point) for point in every]
        points = [each for each in sized if not any(_holds(text, each[1]) for text in where)]
        if not points:
            raise ValueError("all points are excluded")
        return Experiment(
            program=program,
            scaling=next((word for word in _SCALINGS if word in template.lower()), "throughput"),
            ranks=[ranks for ranks, _ in points],
            parameters={name: [_escape(point[name]) for _, point in points] for name in given},
            environment=_make_environment(scopes, given),
            repetitions=next((s["n_repeats"] for s in reversed(scopes) if s.get("n_repeats")), None),
        )

    def _make_error(self, keys: Sequence[str], message: str) -> UsageError:
        return make_error(self.file, self.lines.of(keys), f"{keys[-1]}: {message}" if keys else message)


def _list_points(variables: Mapping[str, Any], scope: _Scope) -> Iterator[_Scope]:
    """Yield the variables of each point: matrices are crossed, the other lists are zipped."""
    unread = sorted((scope.get("exclude") or {}).keys() - {"where"})
    if unread:
        raise ValueError(f"exclude.{unread[0]}: not supported; write it as where")
    lists = {name: value for name, value in variables.items() if isinstance(value, list)}
    groups = {name: _zip_lists({name: values}) for name, values in lists.items()}
    members: dict[str, set[str]] = {name: {name} for name in lists}
    for name, inner in (scope.get("zips") or {}).items():
        members[name] = set(inner)
        groups[name] = _zip_lists({each: _find_list(lists, each) for each in inner})
    used: set[str] = set()
    crossed = []
    for matrix in _list_matrices(scope):
        for name in matrix:
            if name not in groups:
                raise ValueError(f"matrix: {name} is not a list and not in zips")
            used |= members[name]
        crossed.append([_merge(parts) for parts in product(*(groups[name] for name in matrix))])
    if len({len(points) for points in crossed}) > 1:
        raise ValueError("matrices: their numbers of points differ")
    rest = _zip_lists({name: values for name, values in lists.items() if name not in used})
    for first, second in product([_merge(parts) for parts in zip(*crossed, strict=True)] or [{}], rest):
        yield {**variables, **first, **second}


def _list_matrices(scope: _Scope) -> list[list[str]]:
    matrix, several = scope.get("matrix"), scope.get("matrices") or []
    found = [matrix] if matrix else []
    for each in several:
        found += list(each.values()) if isinstance(each, dict) else [each]
    return [[str(name) for name in each] if isinstance(each, list) else [str(each)] for each in found]


def _find_list(lists: Mapping[str, list[Any]], name: str) -> list[Any]:
    if name not in lists:
        raise ValueError(f"zips: {name} is not a list")
    return lists[name]


def _zip_lists(lists: Mapping[str, list[Any]]) -> list[_Scope]:
    if not lists:
        return [{}]
    lengths = {name: len(values) for name, values in lists.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(
            f"zipped lists must have equal lengths; {', '.join(f'{n} has {c}' for n, c in lengths.items())}"
        )
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]


def _merge(parts: Sequence[_Scope]) -> _Scope:
    return {name: value for part in parts for name, value in part.items()}


def _resolve(variables: Mapping[str, Any]) -> dict[str, Value]:
    """Return the variables with known values after substitution and arithmetic."""
    found: dict[str, Value] = {}
    waiting = {name: value for name, value in variables.items() if isinstance(value, int | float | str)}
    while ready := [
        name
        for name, value in waiting.items()
        if all(each in found for each in _VARIABLE.findall(str(value)))
    ]:
        for name in ready:
            value = waiting.pop(name)
            found[name] = _evaluate(_VARIABLE.sub(lambda each: format_value(found[each[1]]), str(value)))
    circle = [
        n for n, v in waiting.items() if set(_VARIABLE.findall(str(v))) <= waiting.keys() | found.keys()
    ]
    if circle:
        raise ValueError(f"variables {' and '.join(sorted(circle))} depend on each other")
    return found


def _evaluate(text: str) -> Value:
    try:
        return evaluate_expression(text, {})
    except ValueError:
        return text


def _holds(text: str, point: Mapping[str, Value]) -> bool:
    lacks = [name for name in _VARIABLE.findall(text) if name not in point]
    if lacks:
        raise ValueError(f"exclude.where: {lacks[0]} does not exist")
    return bool(evaluate_expression(_VARIABLE.sub(lambda each: format_value(point[each[1]]), text), {}))


def _count_ranks(point: Mapping[str, Value]) -> int:
    most = point.get("max_request", _LARGEST)
    given = {name: value for name in _SIZES if isinstance(value := point.get(name), int)}
    sizes = {name: value for name, value in given.items() if isinstance(most, int) and value <= most}
    each = point.get("n_ranks_per_node")
    if "n_ranks" in sizes:
        return sizes["n_ranks"]
    if "n_nodes" in sizes and isinstance(each, int):
        return sizes["n_nodes"] * each
    if "n_gpus" in sizes:
        return sizes["n_gpus"]
    missing = f"neither n_ranks, nor n_nodes and n_ranks_per_node, nor n_gpus, of at most {most}"
    raise ValueError(f"{missing}; include Benchpark's variables.yaml of the system")


def _make_environment(scopes: Sequence[_Scope], given: Sequence[str]) -> dict[str, str]:
    # As Benchpark's modifier `allocation` does.
    found = {"OMP_NUM_THREADS": f"{{{_THREADS}}}"} if _THREADS in given else {}
    for scope in scopes:
        for kind, values in (scope.get("env_vars") or {}).items():
            if kind != "set":
                raise ValueError(f"env_vars.{kind}: not supported; use set")
            found.update({str(name): str(value) for name, value in (values or {}).items()})
    return found


def _escape(value: Value) -> Value:
    return value.replace("{", "{{").replace("}", "}}") if isinstance(value, str) else value
