"""The JSON file of a model: what is written comes back, and nothing else is taken for one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from haloscope.base.errors import OutputError, ProfileError
from haloscope.explain.regimes import MachineModel, RegimeModel
from haloscope.explain.regimes.fitting._saved import Saved, read, write

SAVED = Saved(
    family="gamma",
    memory=True,
    parameters={
        "shape": np.array([4.0, 1 / 3]),
        "scale": np.array([1e-5, 3e-3]),
        "shift": np.array([1e-3, 1e-3]),
    },
    start=np.array([0.25, 0.75]),
    transition=np.array([[0.9, 0.1], [1 / 3, 2 / 3]]),
    summary={"mean": np.array([1.0, 2.0])},
    fit={"log_likelihood": 12.5},
    source={"region": "hälo"},
    machine={
        "start": np.array([1.0, 0.0]),
        "transition": np.array([[0.9, 0.1], [0.5, 0.5]]),
        "transitions": np.full((2, 2, 2), 0.5),
    },
)


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text("an older one")
    write(SAVED, path)
    back = read(path)
    assert (back.family, back.memory, back.fit, back.source) == ("gamma", True, SAVED.fit, SAVED.source)
    for name in ("parameters", "machine"):
        for key, value in getattr(SAVED, name).items():
            np.testing.assert_array_equal(getattr(back, name)[key], value)
    np.testing.assert_allclose(back.start, SAVED.start, rtol=1e-15)
    np.testing.assert_allclose(back.transition, SAVED.transition, rtol=1e-15)
    assert [file.name for file in tmp_path.iterdir()] == ["model.json"]


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="is not a file; name a file to write the model to"):
        write(SAVED, tmp_path)
    with pytest.raises(OutputError, match="nowhere"):
        write(SAVED, tmp_path / "nowhere" / "model.json")
    assert not list(tmp_path.iterdir())


def _without(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda record: record.pop(key)


def _with(value: Any, *keys: Any) -> Callable[[dict[str, Any]], object]:
    def change(record: dict[str, Any]) -> None:
        place: Any = record
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_without("format"), "no JSON object with format"),
        (_with(2, "version"), "another version"),
        (_with("ms", "unit"), "another unit"),
        (_with("cauchy", "family"), "none of gaussian, lognormal, gamma, student"),
        (_with(["gamma"], "family"), "none of"),
        (_with([], "regimes"), "no list of 1 to 32 regimes"),
        (_with([1, 2], "regimes"), "without a number shape"),
        (_with("4", "regimes", 0, "shape"), "without a number shape"),
        (_with(True, "regimes", 0, "shape"), "without a number shape"),
        (_with(10**400, "regimes", 0, "shape"), "without a number shape"),
        (_with(-1.0, "regimes", 1, "scale"), "not greater than 0"),
        (_with(2e-3, "regimes", 1, "shift"), "different shifts"),
        (_with([0.5], "start"), "no 2 probabilities in start"),
        (_with({"a": 1}, "start"), "no 2 probabilities in start"),
        (_with([-0.5, 1.5], "start"), "no 2 probabilities in start"),
        (_with([0.5, 0.6], "start"), "do not add up to 1"),
        (_with([[1, 0], [1]], "transition"), "no 2 × 2 probabilities in transition"),
        (_with(1, "memory"), "neither true nor false"),
        (_with([1], "machine"), "no object in machine"),
        (_without("regimes"), "no list of 1 to 32 regimes"),
        (_with(None, "machine", "transitions"), "no 2 × 2 × 2 probabilities"),
        (_with([], "machine", "start"), "no list of 1 to 32 probabilities"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], says: str
) -> None:
    path = tmp_path / "model.json"
    write(SAVED, path)
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))
    with pytest.raises(ProfileError, match=says) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe", b"[" * 100_000, b"null", b'{"format": NaN}', b"HALO\0\0", b'{"a":1e999}']
)
def test_files_of_other_kinds_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(data)
    with pytest.raises(ProfileError, match="name a saved regime model"):
        read(path)
    with pytest.raises(ProfileError, match="No such file"):
        read(tmp_path / "other.json")


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_file_is_refused_or_read(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "model.json"
    write(SAVED, path)
    whole = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    try:
        back = read(path)
    except ProfileError as error:
        message = str(error)
    else:
        message = "" if np.isfinite(back.transition).all() else "\n"
    assert "\n" not in message


def test_regimes_that_no_number_can_describe_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    write(replace(SAVED, parameters=SAVED.parameters | {"scale": np.array([1e-5, 1.7e308])}), path)
    record = json.loads(path.read_text())
    record["regimes"][1]["shape"] = 1e10
    path.write_text(json.dumps(record))
    for kind in (RegimeModel, MachineModel):
        with pytest.raises(ProfileError, match="without mean or deviation"):
            kind.load(path)
