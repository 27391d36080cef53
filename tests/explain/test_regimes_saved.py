"""The JSON file of a model: written models come back, and other files are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from haloscope import OutputError, ProfileError
from haloscope.markov import MachineModel, RegimeModel, read_model

RECORD: dict[str, Any] = {
    "format": "haloscope-regimes",
    "version": 1,
    "unit": "s",
    "family": "gamma",
    "memory": True,
    "regimes": [{"shape": 4.0, "scale": 1e-5, "shift": 1e-3}, {"shape": 1 / 3, "scale": 3e-3, "shift": 1e-3}],
    "start": [0.25, 0.75],
    "transition": [[0.9, 0.1], [1 / 3, 2 / 3]],
    "fit": {"log_likelihood": 12.5, "points": 163840, "iterations": 41, "converged": True},
    "source": {"region": "hälo"},
    "machine": {
        "start": [1.0, 0.0],
        "transition": [[0.9, 0.1], [0.5, 0.5]],
        "transitions": np.full((2, 2, 2), 0.5).tolist(),
    },
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A model as docs/reference/regimes-model.md describes it."""
    written = tmp_path / "model.json"
    written.write_text(json.dumps(RECORD))
    return written


def test_a_written_model_comes_back(path: Path) -> None:
    model = RegimeModel.load(path)
    path.write_text(json.dumps({"format": "an older one"}))
    model.save(path)
    back = read_model(path)
    assert (back.family, back.memory, back.fit, back.source) == (
        "gamma",
        True,
        RECORD["fit"],
        RECORD["source"],
    )
    for name, values in back.parameters.items():
        assert values.tolist() == [regime[name] for regime in RECORD["regimes"]]
    np.testing.assert_allclose(back.start, RECORD["start"], rtol=1e-15)
    np.testing.assert_allclose(back.transition, RECORD["transition"], rtol=1e-15)
    assert [file.name for file in path.parent.iterdir()] == ["model.json"]
    regimes = json.loads(path.read_text())["regimes"]
    assert [one["mean"] for one in regimes] == pytest.approx([1e-3 + 4e-5, 2e-3])
    assert [one["std"] for one in regimes] == pytest.approx([2e-5, 3e-3 / 3**0.5])
    assert [one["share"] for one in regimes] == pytest.approx([10 / 13, 3 / 13])  # stationary


def test_a_machine_comes_back(path: Path) -> None:
    model = MachineModel.load(path)
    model.save(path)
    back = read_model(path)
    assert {name: values.tolist() for name, values in back.machine.items()} == RECORD["machine"]
    assert back.fit == {"iterations": 41, "converged": True}  # the bound is not stored


def test_a_model_without_details_of_its_fit_is_saved_again(path: Path) -> None:
    path.write_text(json.dumps({name: value for name, value in RECORD.items() if name != "fit"}))
    model = RegimeModel.load(path)
    assert np.isnan(model.log_likelihood_)
    model.save(path)
    assert "log_likelihood" not in read_model(path).fit
    assert RegimeModel.load(path).parameters_["shape"].tolist() == [4.0, 1 / 3]


def test_a_failed_write_leaves_no_file(tmp_path: Path, path: Path) -> None:
    model = RegimeModel.load(path)
    path.unlink()
    with pytest.raises(OutputError, match="is not a file; name a file to write the model to"):
        model.save(tmp_path)
    with pytest.raises(OutputError, match="nowhere"):
        model.save(tmp_path / "nowhere" / "model.json")
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
        (_with(2, "version"), "version is not"),
        (_with("ms", "unit"), "unit is not s"),
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
        (_with(1, "memory"), "needs true or false"),
        (_with([1], "machine"), "no object in machine"),
        (_without("regimes"), "no list of 1 to 32 regimes"),
        (_with(None, "machine", "transitions"), "no 2 × 2 × 2 probabilities"),
        (_with([], "machine", "start"), "no list of 1 to 32 probabilities"),
    ],
)
def test_errors_are_one_line(path: Path, change: Callable[[dict[str, Any]], object], says: str) -> None:
    record = deepcopy(RECORD)
    change(record)
    path.write_text(json.dumps(record))
    with pytest.raises(ProfileError, match=says) as caught:
        read_model(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe", b"[" * 100_000, b"null", b'{"format": NaN}', b"HALO\0\0", b'{"a":1e999}']
)
def test_files_of_other_kinds_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(data)
    with pytest.raises(ProfileError, match="name a saved regime model"):
        read_model(path)
    with pytest.raises(ProfileError, match="No such file"):
        read_model(tmp_path / "other.json")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_file_is_refused_or_read(path: Path, data: st.DataObject) -> None:
    whole = bytearray(json.dumps(RECORD).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    try:
        back = read_model(path)
    except ProfileError as error:
        message = str(error)
    else:
        message = "" if np.isfinite(back.transition).all() else "\n"
    assert "\n" not in message


def test_regimes_that_no_number_can_describe_are_refused(path: Path) -> None:
    record = deepcopy(RECORD)
    record["regimes"][1] |= {"scale": 1.7e308, "shape": 1e10}
    path.write_text(json.dumps(record))
    for kind in (RegimeModel, MachineModel):
        with pytest.raises(ProfileError, match="without mean or deviation"):
            kind.load(path)
