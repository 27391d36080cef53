"""A fitted model as a JSON file, written and read: docs/reference/regimes-model.md."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from haloscope.base.arrays import Floats
from haloscope.base.errors import ProfileError
from haloscope.base.files import write_whole
from haloscope.base.texts import parse_json
from haloscope.markov.emissions import family
from haloscope.markov.emissions.emission import Emission
from haloscope.profile.kernels import MOST_STATES

_FORMAT, _VERSION = "haloscope-regimes", 1
_LARGEST_FILE = 64 << 20
_ROUNDING = 1e-6  # largest distance of a sum of probabilities from 1
# The numbers of a regime for each family: names, and the bound that each number exceeds.
PARAMETERS: Mapping[str, Mapping[str, float]] = {
    "gaussian": {"mean": -math.inf, "std": 0.0},
    "lognormal": {"log_mean": -math.inf, "log_std": 0.0},
    "gamma": {"shape": 0.0, "scale": 0.0, "shift": -math.inf},
    "student": {"location": -math.inf, "scale": 0.0, "degrees": 2.0},
}


@dataclass(frozen=True)
class Saved:
    """The content of the file: K regimes, M machine states.

    `parameters` are those of the family, (K,) each; `source` and `fit` are for people and may hold
    anything; `machine` has `start` (M,), `transition` (M, M) and `transitions` (M, K, K), or is
    empty.
    """

    family: str
    memory: bool
    parameters: dict[str, Floats]
    start: Floats
    transition: Floats
    summary: dict[str, Floats] = field(default_factory=dict)  # mean, std, share
    fit: dict[str, Any] = field(default_factory=dict)
    source: dict[str, Any] = field(default_factory=dict)
    machine: dict[str, Floats] = field(default_factory=dict)

    def number(self, key: str, default: float = 0.0) -> float:
        """Return a number of `fit`, or the default if there is none."""
        value = self.fit.get(key)
        if isinstance(value, (int, float)) and abs(value) < 1 << 53:
            return float(value)
        return default


def write(saved: Saved, path: str | os.PathLike[str]) -> None:
    """Write the file, whole or not at all. Raises `OutputError`."""
    columns = {**saved.summary, **saved.parameters}
    states = range(len(saved.start))
    record = {
        "format": _FORMAT,
        "version": _VERSION,
        "unit": "s",
        "family": saved.family,
        "memory": saved.memory,
        "regimes": [{key: float(value[i]) for key, value in columns.items()} for i in states],
        "start": saved.start.tolist(),
        "transition": saved.transition.tolist(),
        # A model that was read from a file may not know its likelihood, and JSON has no NaN.
        "fit": {
            key: value
            for key, value in saved.fit.items()
            if not (isinstance(value, float) and math.isnan(value))
        },
        "source": saved.source,
    }
    if saved.machine:
        record["machine"] = {key: value.tolist() for key, value in saved.machine.items()}
    text = json.dumps(record, indent=1, allow_nan=False) + "\n"
    write_whole(Path(path), text, "model")


def read_model(path: str | os.PathLike[str]) -> Saved:
    """Return the content of a model's file. Raises `ProfileError` if it is not one."""
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise ProfileError(f"{path}: {error.strerror}; name a saved regime model") from None
    try:
        if len(data) > _LARGEST_FILE:
            raise _Wrong(f"is larger than {_LARGEST_FILE >> 20} MiB")
        return _read_record(_parse(data))
    except _Wrong as wrong:
        raise ProfileError(f"{path}: {wrong}; name a saved regime model") from None


class _Wrong(Exception):
    """The damage of a file, without its name."""


def _parse(data: bytes) -> dict[str, Any]:
    def refuse(constant: str) -> float:
        raise _Wrong(f"has {constant} where a number should be")

    try:
        record = parse_json(data, parse_constant=refuse)
    except ValueError:
        raise _Wrong("is no JSON") from None
    if not isinstance(record, dict) or record.get("format") != _FORMAT:
        raise _Wrong(f"is no JSON object with format {_FORMAT}")
    if record.get("version") != _VERSION:
        raise _Wrong(f"its version is not {_VERSION}, which this Haloscope reads")
    return record


def _read_record(record: dict[str, Any]) -> Saved:
    if record.get("unit") != "s":
        raise _Wrong("its unit is not s")
    family = record.get("family")
    if not isinstance(family, str) or family not in PARAMETERS:
        raise _Wrong(f"has a family that is none of {', '.join(PARAMETERS)}")
    regimes = record.get("regimes")
    if not isinstance(regimes, list) or not 1 <= len(regimes) <= MOST_STATES:
        raise _Wrong(f"has no list of 1 to {MOST_STATES} regimes")
    states = len(regimes)
    parameters = {
        key: np.array([_number(regime, key, above) for regime in regimes])
        for key, above in PARAMETERS[family].items()
    }
    if "shift" in parameters and np.ptp(parameters["shift"]) > 0:
        raise _Wrong("has regimes with different shifts")
    memory = record.get("memory", True)
    if not isinstance(memory, bool):
        raise _Wrong("needs true or false for memory")
    return Saved(
        family,
        memory,
        parameters,
        _probabilities(record, "start", (states,)),
        _probabilities(record, "transition", (states, states)),
        fit=_object(record, "fit"),
        source=_object(record, "source"),
        machine=_machine(_object(record, "machine"), states),
    )


def _machine(record: dict[str, Any], states: int) -> dict[str, Floats]:
    if not record:
        return {}
    start = record.get("start")
    if not isinstance(start, list) or not 1 <= len(start) <= MOST_STATES:
        raise _Wrong(f"has no list of 1 to {MOST_STATES} probabilities in machine: start")
    count = len(start)
    return {
        "start": _probabilities(record, "start", (count,)),
        "transition": _probabilities(record, "transition", (count, count)),
        "transitions": _probabilities(record, "transitions", (count, states, states)),
    }


def _number(record: object, key: str, above: float) -> float:
    value = record.get(key) if isinstance(record, dict) else None
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 53:
        value = float(value)
    if not isinstance(value, float) or not math.isfinite(value):
        raise _Wrong(f"has a regime without a number {key}")
    if value <= above:
        raise _Wrong(f"has a regime with {key} {value:g}, which is not greater than {above:g}")
    return value


def _probabilities(record: dict[str, Any], key: str, shape: tuple[int, ...]) -> Floats:
    """Return the array, its last axis added up to 1."""
    expected = " × ".join(map(str, shape))
    try:
        array = np.array(record.get(key), np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.empty(0)
    if array.shape != shape or not np.isfinite(array).all() or (array < 0).any():
        raise _Wrong(f"has no {expected} probabilities in {key}")
    total = array.sum(axis=-1, keepdims=True)
    if (np.abs(total - 1) > _ROUNDING).any():
        raise _Wrong(f"has probabilities in {key} that do not add up to 1")
    scaled: Floats = array / total
    return scaled


def _object(record: dict[str, Any], key: str) -> dict[str, Any]:
    value = record.get(key) or {}
    if not isinstance(value, dict):
        raise _Wrong(f"has no object in {key}")
    return value


def emission_of(saved: Saved, path: str | PathLike[str]) -> Emission:
    """Return the regimes of a file. Raises `ProfileError` if their durations are infinite."""
    emission = family(saved.family).from_parameters(saved.parameters)
    with np.errstate(all="ignore"):
        if not (
            np.isfinite(emission.means).all()
            and (emission.stds > 0).all()
            and np.isfinite(emission.stds).all()
        ):
            raise ProfileError(f"{path}: has regimes without mean or deviation; fit it again")
    return emission
