"""Machine models from files: quantities with units, and errors of one line."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from haloscope import MachineError, predict

GOOD = """
name: two boards
levels:
  - {name: board, cores: 4, latency: 250 ns, bandwidth: 100 Gbit/s}
  - {name: box, cores: 8, latency: 1.5e-6}
arithmetic: 2.5 GB/s
"""


def write(directory: Path, text: str) -> Path:
    path = directory / "box.yaml"
    path.write_text(text)
    return path


def test_quantities_are_exact(tmp_path: Path) -> None:
    box = predict.load_machine(write(tmp_path, GOOD))
    near, far = box.levels
    assert (near.latency, far.latency) == (Decimal("250e-9"), Decimal("1.5e-6"))
    assert (near.bandwidth, far.bandwidth) == (Decimal("12.5e9"), None)
    assert (box.cores, box.arithmetic) == (8, Decimal("2.5e9"))
    assert box.latency(3, 4) == far.latency
    assert box.latency(5, 7) == near.latency


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0.15 us", "0.15e-6"), ("3µs", "3e-6"), ("0.1 ms", "1e-4"), ("2 s", "2"), ("1e-6", "1e-6")],
)
def test_times(tmp_path: Path, text: str, seconds: str) -> None:
    box = predict.load_machine(write(tmp_path, GOOD.replace("250 ns", text)))
    assert box.levels[0].latency == Decimal(seconds)


@pytest.mark.parametrize("text", ["250 m", "-1 us", "0 us", "0", "nan", "1e9999", "yes", ""])
def test_no_times(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, GOOD.replace("250 ns", f"'{text}'"))
    with pytest.raises(MachineError, match=r"box.yaml: levels.0.latency: .*such as 0.15 us"):
        predict.load_machine(path)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("name: two boards", "", "name: Field required"),
        ("cores: 8", "cores: 6", "box has 6 cores after board with 4"),
        ("cores: 8", "cores: 4", "box has 4 cores after board with 4"),
        ("cores: 4", "cores: 1", "levels.0.cores"),
        ("100 Gbit/s", "100 Gb", "levels.0.bandwidth: '100 Gb' is not a speed"),
        ("arithmetic", "arithmetics", "arithmetics: Extra"),
        (GOOD, "", "machine model"),
        (GOOD, "- 1", "machine model"),
        ("cores: 8", "cores: 8: 8", "box.yaml:5: not YAML"),
        (GOOD, "[" * 20_000, "not YAML"),
        (GOOD, "when: !!int x", "not YAML"),
        (GOOD, "!!python/object/apply:os.getcwd []", "not YAML"),
        (GOOD, "#" * (1 << 21), "larger"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(tmp_path: Path, before: str, after: str, words: str) -> None:
    path = write(tmp_path, GOOD.replace(before, after))
    with pytest.raises(MachineError, match=words) as raised:
        predict.load_machine(path)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"machine 'orfea' does not exist; give one of orfeo, or"):
        predict.load_machine("orfea")
    with pytest.raises(MachineError, match=r"none.yaml: cannot be read: No such file"):
        predict.load_machine(tmp_path / "none.yaml")
    with pytest.raises(MachineError, match="cannot be read"):
        predict.load_machine(tmp_path)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00\xd8\x00")
    with pytest.raises(MachineError, match="not YAML"):
        predict.load_machine(tmp_path / "binary.yaml")


def test_every_public_name_exists() -> None:
    for name in dir(predict):
        assert getattr(predict, name) is not None
    with pytest.raises(AttributeError, match=r"haloscope\.predict"):
        predict.modle  # type: ignore[attr-defined]  # noqa: B018 - the access is what fails


def test_shipped_machines_load() -> None:
    assert "orfeo" in predict.machines()
    for name in predict.machines():
        assert predict.load_machine(name).name == name
