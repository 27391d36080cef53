"""`haloscope bench noise`: figures of known times, and of this system."""

from __future__ import annotations

import csv
import json
import os

import numpy as np
import pytest

from haloscope import UsageError
from haloscope.predict.bench import Noise, noise
from support.command import run_command


def test_detours_are_counted() -> None:
    """Every 100th of 10 000 quanta of 10 µs takes 60 µs: 50 of 1050 µs are lost."""
    times = np.full(10_000, 1e-5)
    times[50::100] = 6e-5
    times[4242] = 1e-3
    (one,) = Noise(1e-5, {3: times}).summary()["processors"]
    assert (one["cpu"], one["quanta"], one["detours"]) == (3, 10_000, 101)
    assert one["best"] == 1e-5
    assert one["lost"] == pytest.approx(1 - 0.1 / times.sum())
    assert one["lost_low"] < 50 / 1050 < one["lost_high"]
    assert one["median_interval"] == pytest.approx(1.05e-3)
    assert one["longest_detours"][:2] == pytest.approx([9.9e-4, 5e-5])


def test_a_quiet_system_loses_nothing() -> None:
    found = Noise(1e-5, {0: np.full(1000, 1e-5), 1: np.full(1000, 2e-5)}).summary()
    assert found["lost"] == found["worst_lost"] == found["longest_detour"] == 0
    assert found["processors"][1]["median_interval"] is None


@pytest.mark.usefixtures("any_used")  # its compiler builds the probe
def test_this_system() -> None:
    found = noise(0.1, 2e-5)
    assert set(found.samples) == os.sched_getaffinity(0)
    for samples in found.samples.values():  # they last as long as asked for, or are more than asked for
        assert samples.sum() > 0.09 or samples.size > 0.1 / 2e-5
    for one in found.summary()["processors"]:
        assert 0 <= one["lost"] < 1
        assert one["lost_low"] <= one["lost"] <= one["lost_high"]
        assert one["quanta"] > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"processors": [99_999]}, "processor 99999 is not usable; choose from"),
        ({"processors": []}, "processor none"),
        ({"duration": 1e-5, "quantum": 1e-5}, "a tenth of the duration"),
    ],
)
def test_mistakes(words: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        noise(**words)  # type: ignore[arg-type]


@pytest.mark.usefixtures("any_used")
def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    def run(form: str) -> str:
        words = ["--duration", "0.02", "--cpus", str(min(os.sched_getaffinity(0)))]
        assert run_command("bench", "noise", *words, "--format", form) == 0
        return capsys.readouterr().out

    first, row = run("table").splitlines()
    assert first.startswith("#")
    assert len(row.split()) == 9
    summary = json.loads(run("json"))
    (samples,) = summary["samples"].values()
    assert len(samples) == summary["processors"][0]["quanta"]
    assert summary["longest_detour"] == pytest.approx(max(samples) - min(samples), rel=1e-3, abs=1e-9)
    table = list(csv.DictReader(run("csv").splitlines()))
    assert list(table[0]) == ["cpu", "sample", "time"]


@pytest.mark.usefixtures("any_used")
def test_a_row_has_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command("bench", "noise", "--duration", "0.02") == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
