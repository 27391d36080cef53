"""The runs of a campaign: all points with their commands, and reasons why they are impossible."""

from __future__ import annotations

import hashlib
import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from haloscope.base.errors import UsageError
from haloscope.base.units import duration_text, noun_text
from haloscope.reproduce.campaign.expressions import (
    Value,
    evaluate_expression,
    find_names,
    format_value,
    substitute_expressions,
)
from haloscope.reproduce.campaign.grids import Grid
from haloscope.reproduce.campaign.specification import (
    GRID,
    CampaignProgram,
    CampaignSystem,
    Experiment,
    Specification,
    Variant,
)

_MOST_POINTS = 1_000_000


@dataclass(frozen=True)
class Point:
    """One run. `identity` changes only if anything that affects the run changes."""

    identity: str
    experiment: str
    system: str
    program: str
    variant: str
    ranks: int
    cores: int
    nodes: int
    repetition: int
    parameters: Mapping[str, Value]
    words: tuple[str, ...]
    executable: str
    environment: Mapping[str, str]
    problem: float | None
    seconds: float | None
    impossible: str | None

    @property
    def name(self) -> str:
        """The name for files."""
        return (
            f"{self.experiment}-{self.system}-{self.program}-{self.ranks}-{self.variant}"
            f"-{self.repetition}-{self.identity[:8]}"
        )

    @property
    def configuration(self) -> str:
        """The identity that repetitions have in common."""
        return self.identity[:-4]


def list_points(specification: Specification, directory: Path) -> list[Point]:
    """Return all runs of a specification in `directory`, in their written order.

    Raises:
        UsageError: Arithmetic fails, or there are more than a million runs.
    """
    found: list[Point] = []
    for name, experiment in specification.experiments.items():
        try:
            for point in _list_points(specification, name, experiment, directory):
                found.append(point)
                if len(found) > _MOST_POINTS:
                    raise UsageError(f"{name}: more than {_MOST_POINTS} runs; vary less")
        except ValueError as error:
            raise UsageError(f"experiments.{name}: {error}") from None
    return list({point.identity: point for point in found}.values())  # a value may be in a list twice


def order_points(found: list[Point], specification: Specification) -> list[Point]:
    """Return points in the order of execution. Added points do not change the order of the others."""
    if specification.order == "written":
        return found

    def chance(point: Point) -> tuple[int, str]:
        drawn = hashlib.sha256(f"{specification.seed} {point.identity}".encode()).hexdigest()
        return point.repetition if specification.order == "interleaved" else 0, drawn

    return sorted(found, key=chance)


def _list_points(
    specification: Specification, name: str, experiment: Experiment, directory: Path
) -> Iterator[Point]:
    program = specification.programs[experiment.program]
    repetitions = experiment.repetitions or specification.repetitions
    varied = [
        dict(zip(experiment.vary, values, strict=True)) for values in product(*experiment.vary.values())
    ]
    variants = experiment.variants or list(specification.variants)
    sizes = list(_list_sizes(experiment))
    for system_name in experiment.systems or list(specification.systems):
        system = specification.systems[system_name]
        for (ranks, grid, zipped), more in product(sizes, varied):
            given = {**program.parameters, **zipped, **more}
            sides = dict(zip(GRID, grid, strict=True))
            values, common = _size_point(system, program, ranks, given, {**sides, "system": system_name})
            common |= {"experiment": name, "program": experiment.program, "system": system_name}
            for variant, repetition in product(variants, range(repetitions)):
                common |= {"variant": variant, "repetition": repetition}
                yield _make_point(specification, common, {**values, "repetition": repetition}, directory)


def _size_point(
    system: CampaignSystem,
    program: CampaignProgram,
    ranks: int,
    given: Mapping[str, Value],
    names: Mapping[str, Value],
) -> tuple[dict[str, Value], dict[str, Any]]:
    """Return all names with their values, and the fields that points of one size have in common."""
    # Requirements of a rank may depend on parameters, which may depend on the nodes.
    guess = _resolve(given, {**names, "ranks": ranks, "nodes": -(-ranks // system.cores)})
    cores = max(1, math.ceil(_number(program.cores, guess) or 1))
    nodes = -(-ranks // max(1, system.cores // cores))
    if system.oversubscribe:
        nodes = min(nodes, system.nodes)
    values = _resolve(given, {**names, "ranks": ranks, "nodes": nodes})
    seconds = _number(program.seconds, values)
    return values, {
        "ranks": ranks,
        "cores": cores,
        "nodes": nodes,
        "parameters": {key: values[key] for key in given},
        "problem": _number(program.problem, values),
        "seconds": seconds,
        "impossible": _find_obstacle(system, program, (ranks, cores, nodes), seconds, values),
    }


def _make_point(
    specification: Specification, common: Mapping[str, Any], values: Mapping[str, Value], directory: Path
) -> Point:
    system, program = specification.systems[common["system"]], specification.programs[common["program"]]
    variant = specification.variants[common["variant"]]
    launcher, executable, arguments = _make_words(system, program, variant, values, directory)
    words = (*launcher, executable, *arguments)
    experiment = specification.experiments[common["experiment"]]
    kinds = (system, program, experiment, variant)
    environment = {
        key: format_value(substitute_expressions(text, values))
        for kind in kinds
        for key, text in kind.environment.items()
    }
    named = ("experiment", "system", "program", "variant", "ranks", "nodes")
    chosen = {name: values[name] for name in (*experiment.parameters, *experiment.vary)}
    makes = [words, environment, system.modules, program.inputs, variant.model_dump(mode="json"), chosen]
    identity = _make_identity([common[name] for name in named], makes, common["repetition"])
    return Point(identity=identity, words=words, executable=executable, environment=environment, **common)


def _list_sizes(experiment: Experiment) -> Iterator[tuple[int, Grid, dict[str, Value]]]:
    grids = experiment.grids or [(ranks, 1, 1) for ranks in experiment.ranks or ()]
    for index, grid in enumerate(grids):
        zipped = {
            key: value[index] if isinstance(value, list) else value
            for key, value in experiment.parameters.items()
        }
        yield math.prod(grid), grid, zipped


def _resolve(given: Mapping[str, Value], built_in: Mapping[str, Value]) -> dict[str, Value]:
    """Return all names with their values, ordered by their dependencies."""
    values = dict(built_in)
    waiting = dict(given)
    while waiting:
        ready = [
            key
            for key, value in waiting.items()
            if not isinstance(value, str) or not waiting.keys() & _needs(value)
        ]
        if not ready:
            raise ValueError(f"{' and '.join(sorted(waiting))} need each other")
        for key in ready:
            value = waiting.pop(key)
            values[key] = substitute_expressions(value, values) if isinstance(value, str) else value
    return values


@lru_cache(4096)
def _needs(text: str) -> frozenset[str]:
    return frozenset(find_names(text))


def _number(expression: str | None, values: Mapping[str, Value]) -> float | None:
    if expression is None:
        return None
    value = evaluate_expression(expression, values)
    if isinstance(value, str) or not math.isfinite(value):
        raise ValueError(f"{expression}: {value!r} is no number")
    return float(value)


def _find_obstacle(
    system: CampaignSystem,
    program: CampaignProgram,
    size: tuple[int, int, int],
    seconds: float | None,
    values: Mapping[str, Value],
) -> str | None:
    """Return the reason why a run of this size (ranks, cores per rank, nodes) is impossible, or None."""
    ranks, cores, nodes = size
    if cores > system.cores:
        return f"a rank needs {noun_text(cores, 'core')}; a node has {system.cores}"
    if nodes > system.nodes:
        return (
            f"{noun_text(ranks, 'rank')} need {noun_text(nodes, 'node')} of"
            f" {noun_text(system.cores, 'core')}; the system has {system.nodes}"
        )
    here = -(-ranks // nodes)
    memory, gpus = _number(program.memory, values), _number(program.gpus, values)
    if memory is not None and system.memory is not None and memory * here > system.memory:
        return f"needs {memory * here / 1e9:.3g} GB on a node, which has {system.memory / 1e9:.3g}"
    if gpus is not None and gpus * here > system.gpus:
        return f"needs {gpus * here:g} GPUs on a node, which has {system.gpus}"
    if system.longest is not None and (seconds or program.limit) > system.longest:
        takes = "takes" if seconds else "may take"
        return (
            f"{takes} {duration_text(seconds or program.limit)}; the limit is {duration_text(system.longest)}"
        )
    for condition in program.requires:
        if not evaluate_expression(condition, values):
            return f"{condition} does not hold"
    return None


def _make_words(
    system: CampaignSystem,
    program: CampaignProgram,
    variant: Variant,
    values: Mapping[str, Value],
    directory: Path,
) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    """Return the launcher, the program and its arguments.

    Text is split into words before values are inserted, so that a value is always one word.
    """
    launcher = _split_words(variant.launch if variant.launch is not None else system.launch)
    if program.command is None:
        executable, arguments = f"application:{program.application}", list(_split_words(program.arguments))
    else:
        first, *arguments = _split_words(program.command)
        executable = format_value(substitute_expressions(first, values))
        # Runs have their own directories, where a relative path would be invalid.
        executable = str((directory / executable).absolute()) if "/" in executable else executable
    return tuple(_fill_words(launcher, values)), executable, tuple(_fill_words(arguments, values))


@lru_cache(1024)
def _split_words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f"{text}: {error}; quote it as for a shell") from None


def _fill_words(words: tuple[str, ...] | list[str], values: Mapping[str, Value]) -> Iterator[str]:
    return (
        format_value(substitute_expressions(word, values)) if "{" in word or "}" in word else word
        for word in words
    )


def _make_identity(names: Sequence[object], makes: Sequence[object], repetition: int) -> str:
    text = json.dumps([names, makes], sort_keys=True, ensure_ascii=True)
    return f"{hashlib.sha256(text.encode()).hexdigest()[:16]}{repetition:04x}"
