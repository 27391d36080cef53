"""Experiments of a Ramble workspace: what Benchpark writes into `ramble.yaml`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from haloscope.base.errors import UsageError
from haloscope.reproduce.campaign.expressions import Value, evaluate_expression, text_of
from haloscope.reproduce.campaign.specification import BUILT_IN, GRID, Experiment
from haloscope.reproduce.campaign.yaml_text import Lines, compose_yaml, wrong

_VARIABLE = re.compile(r"\{([^{}]*)\}")
_IN_NAME = re.compile(r"_?\{[^{}]*\}")
_SCALINGS: tuple[Literal["weak", "strong"], ...] = ("weak", "strong")
# What is read, and what is known to say nothing about which runs there are.
_READ = {"variables", "env_vars", "n_repeats"}
_CROSSED = {"zips", "matrix", "matrices", "exclude"}
_PASSED_OVER = {"variants", "modifiers", "config", "include", "software", "spack", "success_criteria"}
_SIZES = ("n_ranks", "n_nodes", "n_gpus")
_THREADS = "n_threads_per_proc"
_LARGEST = 1000  # what is larger than `max_request` stands for "to be computed"

_Scope = dict[str, Any]


def read_ramble(file: Path, programs: Sequence[str]) -> dict[str, Experiment]:
    """Return the experiments of a `ramble.yaml` by name, each of a program.

    That is APPLICATION.WORKLOAD, else APPLICATION. Lists are zipped, unless `zips` and `matrix` say
    otherwise. Raises `UsageError` with file and line for what is not understood.
    """
    values, lines = compose_yaml(file)
    if not isinstance(values, dict) or not isinstance(values.get("ramble"), dict):
        raise wrong(file, 1, "is no workspace of Ramble: ramble is missing")
    return _Workspace(file, lines, values["ramble"]).experiments(programs)


class _Workspace:
    def __init__(self, file: Path, lines: Lines, root: _Scope) -> None:
        self.file, self.lines, self.root = file, lines, root

    def experiments(self, programs: Sequence[str]) -> dict[str, Experiment]:
        found: dict[str, Experiment] = {}
        for place, scopes in self._places():
            application, workload, template = place[2], place[4], place[6]
            names = (f"{application}.{workload}", application)
            program = next((name for name in names if name in programs), None)
            if program is None:
                raise self._wrong(
                    place[:5],
                    f"there is no {' and no '.join(names)} in programs; Ramble's "
                    "applications say how to call them, and so must programs",
                )
            try:
                experiment = self._experiment(program, template, scopes)
            except ValidationError as error:
                raise self._wrong(place, error.errors()[0]["msg"]) from None
            except ValueError as error:
                raise self._wrong(place, str(error)) from None
            name = _IN_NAME.sub("", template).strip("_") or workload
            if name in found:
                name = f"{application}.{workload}.{name}"
            found[re.sub(r"[^A-Za-z0-9_.+-]", "-", name)[:64]] = experiment
        return found

    def _places(self) -> Iterator[tuple[tuple[str, ...], list[_Scope]]]:
        """Yield where each experiment is, and the scopes that hold for it, the innermost last."""
        root = self._scope(("ramble",), self.root, {"applications"})
        for application, outer in self._each(("ramble", "applications"), self.root):
            first = self._scope(("ramble", "applications", application), outer, {"workloads"})
            place: tuple[str, ...] = ("ramble", "applications", application, "workloads")
            for workload, middle in self._each(place, outer):
                second = self._scope((*place, workload), middle, {"experiments"})
                inner_place = (*place, workload, "experiments")
                for template, inner in self._each(inner_place, middle):
                    third = self._scope((*inner_place, template), inner, _CROSSED)
                    yield (*inner_place, template), [self._included(), root, first, second, third]

    def _each(self, place: tuple[str, ...], scope: _Scope) -> Iterator[tuple[str, _Scope]]:
        inner = scope.get(place[-1])
        if not isinstance(inner, dict) or not inner:
            raise self._wrong(place, f"{place[-1]} is missing, or no mapping")
        yield from ((str(name), value if isinstance(value, dict) else {}) for name, value in inner.items())

    def _scope(self, place: tuple[str, ...], scope: _Scope, more: set[str]) -> _Scope:
        unknown = sorted(scope.keys() - _READ - _PASSED_OVER - more)
        if unknown:
            read = ", ".join(sorted(_READ | more))
            raise self._wrong((*place, unknown[0]), f"is not read here; of Ramble's keys, {read} are")
        return scope

    def _included(self) -> _Scope:
        """Return the variables of files that are included, as those of Benchpark's system, where they are."""
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
        every = [_resolved(point) for point in _points(variables, scopes[-1])]
        given = [name for name in variables if name in kept and all(name in point for point in every)]
        taken = sorted({*BUILT_IN}.difference(GRID).intersection(given))
        if taken:
            raise ValueError(f"variables.{taken[0]}: is given by Haloscope; name the variable otherwise")
        where = [str(text) for text in (scopes[-1].get("exclude") or {}).get("where") or ()]
        sized = [(_ranks(point), point) for point in every]
        points = [each for each in sized if not any(_holds(text, each[1]) for text in where)]
        if not points:
            raise ValueError("has no point that is not excluded")
        return Experiment(
            program=program,
            scaling=next((word for word in _SCALINGS if word in template.lower()), "throughput"),
            ranks=[ranks for ranks, _ in points],
            parameters={name: [_escaped(point[name]) for _, point in points] for name in given},
            environment=_environment(scopes, given),
            repetitions=next((s["n_repeats"] for s in reversed(scopes) if s.get("n_repeats")), None),
        )

    def _wrong(self, place: Sequence[str], said: str) -> UsageError:
        return wrong(self.file, self.lines.of(place), f"{place[-1]}: {said}" if place else said)


def _points(variables: Mapping[str, Any], scope: _Scope) -> Iterator[_Scope]:
    """Yield the variables of each point: matrices are crossed, what is left of lists is zipped."""
    unread = sorted((scope.get("exclude") or {}).keys() - {"where"})
    if unread:
        raise ValueError(f"exclude.{unread[0]}: is not read; write it as where")
    lists = {name: value for name, value in variables.items() if isinstance(value, list)}
    groups = {name: _zipped({name: values}) for name, values in lists.items()}
    members: dict[str, set[str]] = {name: {name} for name in lists}
    for name, inner in (scope.get("zips") or {}).items():
        members[name] = set(inner)
        groups[name] = _zipped({each: _listed(lists, each) for each in inner})
    used: set[str] = set()
    crossed = []
    for matrix in _matrices(scope):
        for name in matrix:
            if name not in groups:
                raise ValueError(f"matrix: {name} is no list, and none of zips")
            used |= members[name]
        crossed.append([_merged(parts) for parts in product(*(groups[name] for name in matrix))])
    if len({len(points) for points in crossed}) > 1:
        raise ValueError("matrices: have different numbers of points")
    rest = _zipped({name: values for name, values in lists.items() if name not in used})
    for first, second in product([_merged(parts) for parts in zip(*crossed, strict=True)] or [{}], rest):
        yield {**variables, **first, **second}


def _matrices(scope: _Scope) -> list[list[str]]:
    one, several = scope.get("matrix"), scope.get("matrices") or []
    found = [one] if one else []
    for each in several:
        found += list(each.values()) if isinstance(each, dict) else [each]
    return [[str(name) for name in each] if isinstance(each, list) else [str(each)] for each in found]


def _listed(lists: Mapping[str, list[Any]], name: str) -> list[Any]:
    if name not in lists:
        raise ValueError(f"zips: {name} is no list")
    return lists[name]


def _zipped(lists: Mapping[str, list[Any]]) -> list[_Scope]:
    if not lists:
        return [{}]
    lengths = {name: len(values) for name, values in lists.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(
            f"lists that are zipped need one length; {', '.join(f'{n} has {c}' for n, c in lengths.items())}"
        )
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]


def _merged(parts: Sequence[_Scope]) -> _Scope:
    return {name: value for part in parts for name, value in part.items()}


def _resolved(variables: Mapping[str, Any]) -> dict[str, Value]:
    """Return the variables whose values are known, with others in them replaced, and arithmetic done."""
    found: dict[str, Value] = {}
    waiting = {name: value for name, value in variables.items() if isinstance(value, int | float | str)}
    while ready := [
        name
        for name, value in waiting.items()
        if all(each in found for each in _VARIABLE.findall(str(value)))
    ]:
        for name in ready:
            value = waiting.pop(name)
            found[name] = _counted(_VARIABLE.sub(lambda each: text_of(found[each[1]]), str(value)))
    circle = [
        n for n, v in waiting.items() if set(_VARIABLE.findall(str(v))) <= waiting.keys() | found.keys()
    ]
    if circle:
        raise ValueError(f"variables {' and '.join(sorted(circle))} need each other")
    return found


def _counted(text: str) -> Value:
    try:
        return evaluate_expression(text, {})
    except ValueError:
        return text


def _holds(text: str, point: Mapping[str, Value]) -> bool:
    lacks = [name for name in _VARIABLE.findall(text) if name not in point]
    if lacks:
        raise ValueError(f"exclude.where: there is no {lacks[0]}")
    return bool(evaluate_expression(_VARIABLE.sub(lambda each: text_of(point[each[1]]), text), {}))


def _ranks(point: Mapping[str, Value]) -> int:
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
    said = f"has neither n_ranks, nor n_nodes and n_ranks_per_node, nor n_gpus, of at most {most}"
    raise ValueError(f"{said}; what the system says is in Benchpark's variables.yaml, to be included")


def _environment(scopes: Sequence[_Scope], given: Sequence[str]) -> dict[str, str]:
    # As Benchpark's modifier `allocation` does.
    found = {"OMP_NUM_THREADS": f"{{{_THREADS}}}"} if _THREADS in given else {}
    for scope in scopes:
        for kind, values in (scope.get("env_vars") or {}).items():
            if kind != "set":
                raise ValueError(f"env_vars.{kind}: is not read; set is")
            found.update({str(name): str(value) for name, value in (values or {}).items()})
    return found


def _escaped(value: Value) -> Value:
    return value.replace("{", "{{").replace("}", "}}") if isinstance(value, str) else value
