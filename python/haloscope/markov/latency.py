"""Models of injected latencies, read from texts such as `lognormal:1ms,0.5`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from haloscope.base.errors import UsageError
from haloscope.base.units import time

_FORMS = (
    "constant:1ms, normal:1ms,0.2ms (mean, deviation), lognormal:1ms,0.5 (median, deviation of the "
    "logarithm), gamma:2,0.5ms (shape, scale), empirical:FILE, model:FILE.json"
)
_OPTION = "--latency"
_QUANTILES = 1001
# The kernel's limit for one variable is 128 KiB.
_LONGEST = 120_000


@dataclass(frozen=True)
class LatencyModel:
    """The regimes of a latency model, in the injector's form; a single distribution is one regime.

    `means` are the means of the regimes in seconds. A latency is a sample minus `excess` seconds, multiplied
    by `scale`.
    """

    regimes: tuple[str, ...]
    means: tuple[float, ...]
    start: tuple[float, ...] = (1.0,)
    transitions: tuple[tuple[float, ...], ...] = ((1.0,),)
    machine_start: tuple[float, ...] = (1.0,)
    machine_transition: tuple[float, ...] = (1.0,)
    scale: float = field(default=1.0)
    excess: float = field(default=0.0)

    def text(self) -> str:
        """Return the text for src/predict/latencies/plan.cpp."""
        words = [_numbers_text([self.scale, self.excess]), str(len(self.regimes)), *self.regimes]
        words += [_numbers_text(self.start), str(len(self.machine_start)), _numbers_text(self.machine_start)]
        words += [_numbers_text(self.machine_transition), *map(_numbers_text, self.transitions)]
        return " ".join(words)


@dataclass(frozen=True)
class Event:
    """A delay that happens once: `count` messages of a rank, from its message `first` on, come later.

    Messages are counted from 0. The delay is in seconds.
    """

    rank: int
    first: int
    seconds: float
    count: int = 1


@dataclass(frozen=True)
class InjectionPlan:
    """All parameters of an injection, including the seed."""

    intra: LatencyModel | None = None
    inter: LatencyModel | None = None
    events: Sequence[Event] = ()
    seed: int = 0
    every_messages: int = 1
    every_seconds: float = 0.0
    collectives: bool = True

    def text(self) -> str:
        """Return the value of HALOSCOPE_INJECT.

        Raises:
            UsageError: There is nothing to inject, or the text is too long for a variable.
        """
        if not (self.intra or self.inter or self.events):
            raise UsageError("nothing to inject: give --latency or --once")
        words = [f"seed {self.seed} collectives {int(self.collectives)}"]
        words.append(f"every_messages {self.every_messages}")
        words.append(f"every_seconds {self.every_seconds:.12g}")
        words += [f"intra {self.intra.text()}"] if self.intra else []
        words += [f"inter {self.inter.text()}"] if self.inter else []
        words += [f"once {e.rank} {e.first} {e.count} {e.seconds:.12g}" for e in self.events]
        text = " ".join(words)
        if len(text) > _LONGEST:
            raise UsageError(
                "the models are too large for an environment variable: use models with fewer "
                "regimes or machine states"
            )
        return text


def parse_seconds(text: str, option: str) -> float:
    """Return a duration such as 20us in seconds. Raises `UsageError`."""
    try:
        return float(time(text))
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def read_latencies(
    texts: Sequence[str], excess: bool = False
) -> tuple[LatencyModel | None, LatencyModel | None]:
    """Return the models for messages within a node and between nodes; None means no latency.

    Args:
        texts: Texts of the form `[intra=|inter=][FACTOR*]MODEL`. Later ones replace earlier ones.
        excess: Whether to inject only the excess over the mean of the fastest regime.

    Raises:
        UsageError: A text is not a model.
        ProfileError: A file is not a saved regime model.
    """
    models: dict[str, LatencyModel | None] = {"intra": None, "inter": None}
    for text in texts:
        link = re.match(r"(intra|inter)=", text)
        model = read_latency(text[link.end() :] if link else text, excess)
        models |= dict.fromkeys([link[1]] if link else models, model)
    return models["intra"], models["inter"]


def read_latency(text: str, excess: bool = False) -> LatencyModel | None:
    """Return the model of a text `[FACTOR*]MODEL`; None for `none`. Raises `UsageError`, `ProfileError`."""
    factor, star, name = text.partition("*") if "*" in text.partition(":")[0] else ("", "", text)
    scale = _parse_positive(factor, f"{_OPTION} {text!r}") if star else 1.0
    kind, _, rest = name.partition(":")
    if name == "none":
        return None
    if kind == "model" and rest:
        return _read_saved(Path(rest), scale, excess)
    if kind == "empirical" and rest:
        regime, mean = _read_empirical(Path(rest))
    else:
        regime, mean = _parse_distribution(kind, rest.split(","), text)
    return LatencyModel((regime,), (mean,), scale=scale, excess=mean if excess else 0.0)


def _parse_distribution(kind: str, given: list[str], text: str) -> tuple[str, float]:
    """Return the text of a distribution, and its mean in seconds."""
    count = {"constant": 1, "normal": 2, "lognormal": 2, "gamma": 2}.get(kind)
    if count != len(given):
        raise UsageError(f"{_OPTION} {text!r}: not one of none, {_FORMS}")
    if kind == "constant":
        value = parse_seconds(given[0], _OPTION)
        return f"constant {_numbers_text([value])}", value
    if kind == "normal":
        mean, deviation = (parse_seconds(word, _OPTION) for word in given)
        return f"normal {_numbers_text([mean, deviation])}", mean
    if kind == "lognormal":
        median, sigma = parse_seconds(given[0], _OPTION), _parse_positive(given[1], _OPTION)
        return (f"lognormal {_numbers_text([math.log(median), sigma])}", median * math.exp(sigma**2 / 2))
    shape, step = _parse_positive(given[0], _OPTION), parse_seconds(given[1], _OPTION)
    return f"gamma {_numbers_text([shape, step, 0.0])}", shape * step


def _read_empirical(path: Path) -> tuple[str, float]:
    """Return the text of an empirical distribution from the times in a file, and their mean in seconds."""
    import numpy as np

    try:
        values = np.array(path.read_text(encoding="utf-8").split(), dtype=np.float64)
    except OSError as error:
        raise UsageError(f"{_OPTION} {path}: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"{_OPTION} {path}: has text other than numbers of seconds") from None
    if not values.size or not np.isfinite(values).all() or (values < 0).any():
        raise UsageError(f"{_OPTION} {path}: not a list of non-negative seconds, one per line")
    probabilities = np.linspace(0, 1, min(_QUANTILES, values.size))
    quantiles = np.quantile(values, probabilities)
    return f"empirical {len(quantiles)} {_numbers_text(quantiles.tolist())}", float(values.mean())


def _read_saved(path: Path, scale: float, excess: bool) -> LatencyModel:
    from haloscope.markov.fitting.saved import PARAMETERS, read_model

    saved = read_model(path)
    name = {"gaussian": "normal"}.get(saved.family, saved.family)
    order = {"student": ("location", "scale", "degrees")}.get(saved.family)
    columns = [saved.parameters[key].tolist() for key in order or PARAMETERS[saved.family]]
    rows = list(zip(*columns, strict=True))
    means = tuple(_regime_mean(name, row) for row in rows)
    machine = saved.machine
    matrices = machine["transitions"] if machine else saved.transition[None]
    return LatencyModel(
        tuple(f"{name} {_numbers_text(row)}" for row in rows),
        means,
        tuple(saved.start.tolist()),
        tuple(tuple(matrix.ravel().tolist()) for matrix in matrices),
        tuple(machine["start"].tolist()) if machine else (1.0,),
        tuple(machine["transition"].ravel().tolist()) if machine else (1.0,),
        scale,
        min(means) if excess else 0.0,
    )


def _regime_mean(name: str, row: tuple[float, ...]) -> float:
    if name == "lognormal":
        return math.exp(row[0] + row[1] ** 2 / 2)
    return row[0] * row[1] + row[2] if name == "gamma" else row[0]


def _parse_positive(text: str, option: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise UsageError(f"{option}: {text!r} is not a number greater than 0")
    return value


def _numbers_text(values: Iterable[float]) -> str:
    return " ".join(f"{value:.12g}" for value in values)
