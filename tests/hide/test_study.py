"""The study of hiding communication: its virtual time, its driver, and its figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.missing import missing
from support.pages import page_data

STUDY = "studies/hmm-regimes-communication-hiding"
CONSTANT = "1 1\n1\n1\n1\n1\n{log} 0 0\n1\n1\n1\n{log} 0.01\n"  # one regime, without a spread


@pytest.fixture
def module(script: Callable[..., Any]) -> Callable[[str], Any]:
    """`module("cells")` imports a module of the study, or of its benchmark."""
    return lambda name: script(name, STUDY, "benchmarks", "benchmarks/hide")


TWO_RANKS = {"px": 2, "ex": 11, "ey": 10, "ez": 1, "element": 1e-5, "input": 2e-4}


def simulate(cells: Any, directory: Path, latency: float, **words: float) -> Any:
    """Run the simulation `ranks` with one latency for all contributions."""
    (directory / "latencies").write_text(CONSTANT.format(log=np.log(latency)), "ascii")
    launch = [cells.build("ranks"), directory / "latencies", directory / "out"]
    launch += [f"{name}={value:.12g}" for name, value in words.items()]
    cells.subprocess.run(list(map(str, launch)), check=True, env=cells.ENVIRONMENT)
    return cells.read(directory / "out")


def test_times_of_two_ranks_equal_a_schedule_by_hand(module: Any, tmp_path: Path) -> None:
    # 100 independent items of 10 µs and 10 mirrors each. Input comes after 0.2 ms, in time. Rank 1
    # sends at 0.6 ms; its message takes 2 ms. No message is sent to rank 1.
    words = {"matvecs": 2, "policy": 1, "theta": 0.5, "epsilon": 1e-4}
    found = simulate(module("cells"), tmp_path, 2e-3, **TWO_RANKS, **words)
    assert found["rank_items"].tolist() == [100, 100]
    assert found["rank_mirrors"].tolist() == [10, 10]
    assert found["t_in"][:, 0] == pytest.approx([0.5e-3, 0.5e-3])
    assert found["t_out"][:, 0] == pytest.approx([2.0e-3, 0.5e-3])
    assert found["output_wait"][:, 0] == pytest.approx([1.5e-3, 0])
    # Rank 0 waited for output: r = 1 · ¼, the largest step, so α = (0.2 + 0.5) / 2.
    assert found["alpha"][:, 1] == pytest.approx([0.35, 0.5])
    assert found["t_in"][:, 1] == pytest.approx([0.35e-3, 0.5e-3])
    assert found["t_out"][:, 1] == pytest.approx([2.6e-3 - 0.45e-3, 0.5e-3])
    assert found["slowest"] == pytest.approx([2.5e-3, 2.5e-3])


def test_senders_learn_how_long_their_partners_waited(module: Any, tmp_path: Path) -> None:
    # Rank 1 receives nothing. With the times of rank 0 it sends earlier from the third MatVec on.
    words = {"matvecs": 4, "policy": 1, "theta": 0.5, "epsilon": 1e-4}
    alone = simulate(module("cells"), tmp_path, 8e-4, **TWO_RANKS, **words)
    found = simulate(module("cells"), tmp_path, 8e-4, **TWO_RANKS, **words, partners=1)
    assert alone["alpha"][1].tolist() == [0.5] * 4
    # Rank 0 waits for 0.3 ms: r = 1 / 3 after the second MatVec, so α = (0.25 + 0.5) / 2.
    assert found["output_wait"][0, 0] == pytest.approx(0.3e-3)
    assert found["alpha"][1, :3] == pytest.approx([0.5, 0.5, 0.375])
    assert found["slowest"][3] < alone["slowest"][3]


def test_polls_find_input_between_chunks(module: Any, tmp_path: Path) -> None:
    # Chunks of one item (100 / 64), polls of 1 µs: input arrives at 0.2 ms, in the nineteenth chunk.
    found = simulate(module("cells"), tmp_path, 1e-4, **TWO_RANKS, matvecs=1, policy=2, poll=1e-6)
    assert found["alpha"][:, 0] == pytest.approx([0, 0.19])
    assert found["t_in"][:, 0] == pytest.approx([1e-6, 20e-6 + 0.19e-3])


def test_virtual_time_is_simgrid_s(module: Any, tmp_path: Path) -> None:
    cells, checks = module("cells"), module("checks")
    if not checks.has_simgrid():
        missing("SimGrid is not installed: apt-get install libsimgrid-dev")
    for method in ("dynamic", "test"):
        words = cells.METHODS[method] | {"theta": 0.3, "input": 2e-5, "partners": 0}
        cell = cells.Cell("table1", "cg", method, 0, 3, 40, more={"noise": 0, "poll": 0} | words)
        program, item = cells.build("ranks"), 1.15e-7
        cell = replace(cell, more=cell.more | {"input_spread": 0, "element": item})
        cells.simulate(cell, program, tmp_path)
        virtual = cells.load(cell, tmp_path)
        along = {"layers": 30, "layer": 24 * 26, "item": item, "epsilon": 1e-4}  # a chain along z
        simulated = checks.simulated(virtual["latency"].astype(float), words | along)
        assert virtual["output_wait"].max() > 1e-3  # some output was late
        for name in checks.COLUMNS:
            np.testing.assert_allclose(simulated[name], virtual[name], rtol=1e-6, atol=2e-6)


def test_the_driver_resumes(module: Any, tmp_path: Path) -> None:
    cells, run = module("cells"), module("run")
    todo = list(cells.study(["table1"], ["cg"], 1, 8, 20))[:3]
    assert run.run_all(todo, tmp_path) == 3
    paths = [tmp_path / f"{cell.name}.npz" for cell in todo]
    kept = paths[0].stat().st_mtime_ns
    aside = paths[1].with_name(f".{paths[1].name}.1.part")
    paths[1].rename(aside)  # like after a kill
    np.savez(paths[2], fingerprint="of other settings")
    assert run.run_all(todo, tmp_path) == 2
    assert run.run_all(todo, tmp_path) == 0
    assert paths[0].stat().st_mtime_ns == kept
    with np.load(paths[1]) as again, np.load(aside) as before:
        assert all(np.array_equal(again[name], before[name]) for name in before.files)


def test_figures_show_the_numbers(module: Any, tmp_path: Path) -> None:
    cells, tables, figures = module("cells"), module("tables"), module("figures")
    todo = [c for c in cells.study(["table1"], ["cg"], 1, 8, 60) if c.method in {"fixed", "dynamic"}]
    random = np.random.default_rng(0)
    level = np.repeat([1e-3, 1.2e-3, 2e-3], 20) * random.normal(1, 0.01, (8, 60))
    for cell, factor in zip(todo, (1.0, 0.9), strict=True):  # dynamic takes 10 % less
        half = (factor * level / 2).astype("<f4")
        parts: dict[str, Any] = {name: np.full((8, 60), 3e-5, "<f4") for name in cells.VALUES}
        parts |= {"t_in": half, "t_out": half, "regime": np.repeat([0, 1, 2], 20) + 0 * half}
        parts |= {f"rank_{name}": np.full(8, 0.25 * factor) for name in cells.PER_RANK}
        path = tmp_path / f"{cell.name}.npz"
        path.parent.mkdir(exist_ok=True)
        np.savez(
            path,
            fingerprint=cells.fingerprint(cell),
            slowest=factor * level.max(axis=0),
            total=np.array([factor]),
            samples=np.stack([half.T[:10]] * 2, axis=-1),
            **parts,
        )
    sections, found = figures.sections(todo, tmp_path)
    method = found.methods["table1", "cg"]
    rows = tables.gained(method, {}).splitlines()
    assert rows[3].split(" | ")[1:6] == ["10.0"] * 5
    for (mean, _, share), expected in zip(
        tables.by_regime(method[1]), (0.9e-3, 1.08e-3, 1.8e-3), strict=True
    ):
        assert mean == pytest.approx(expected, rel=0.01)
        assert share == pytest.approx(1 / 3)
    alpha = next(one for one in sections if one.name == "alpha").figures[0]
    assert "median 0.225" in str(alpha.layout)
    figures.write(sections, tmp_path / "page.html", "a test")
    names = {section["name"] for section in page_data(tmp_path / "page.html")["sections"]}
    assert names >= {"waits-dynamic", "values-cg", "cdfs-cg", "sums-cg", "boxes-cg", "sweep"}
