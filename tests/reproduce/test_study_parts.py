"""Small versions of the parts of Haloscope's studies: their page shows their results."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from haloscope.base.errors import ComponentError
from haloscope.reproduce.study import Study, read_study, run_study, studies
from support.missing import missing

Imported = Callable[..., Any]


def drawn(file: str) -> list[dict[str, Any]]:
    """What a file of figures has."""
    found = json.loads(Path(file).read_text())
    assert found
    assert all(figure["traces"] and figure["layout"]["height"] for figure in found)
    return list(found)


def test_parts_name_what_there_is() -> None:
    for study in studies().values():
        names = [name for part in study.parts for name in part.results]
        assert len(names) == len(set(names))
        # Under a quarter of an hour each, an hour in all.
        assert sum(part.minutes for part in study.chosen(large=False) if not part.originals) < 15
        for part in study.parts:
            assert part.text
            text = (study.folder / part.script).read_text("utf-8")
            # Each is in its script by name, by a pattern of its name, or an argument.
            for name in part.results:
                stem = name.split(".")[0].split("-")[0]
                assert stem in text or name in part.arguments, (study.name, name)
    every = [part for one in studies().values() for part in one.chosen(large=False) if not part.originals]
    assert sum(part.minutes for part in every) < 60


def test_claims_are_counted_point_by_point(script: Imported) -> None:
    measured = script("openmpi-collective-algorithms", "measured")
    # Time is the algorithm's place in the paper's list: the default is the best, the last one the worst.
    rows = [
        (collective, name, ranks, size, float(place))
        for collective, names in measured.PAPERS.items()
        for place, name in enumerate(names, 1)
        for ranks in measured.ORFEO
        for size in measured.SIZES
    ]
    every = pl.DataFrame(rows, schema=[*measured.KEYS, "time"], orient="row")
    table = measured.claims(every.filter(pl.col("ranks") <= 8), every)
    found = {row["the_paper_says"].split()[0]: row for row in table.to_dicts()}
    assert (found["pipeline"]["holds_orfeo"], found["pipeline"]["points_orfeo"]) == (0, 24)
    # Linear is the first in the list, binomial the third: linear and binary are not slower.
    assert found["linear"]["holds_orfeo"] == 0
    assert found["bcast:"]["holds_here"] == found["bcast:"]["points_here"] == 18
    assert found["pipeline"]["holds_here"] is None


def test_figures_have_all_four_curves(script: Imported, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = script("openmpi-collective-algorithms", "measured")
    figures = script("openmpi-collective-algorithms", "figures")
    monkeypatch.setattr(measured, "ORFEO", (2, 4, 8))  # 256 processes take longer
    monkeypatch.setattr(measured, "SIZES", (2, *measured.SHOWN))
    monkeypatch.setattr(figures, "RANKS", (2, 4, 8))
    rows = [
        (collective, name, ranks, size, 2e-6, 3e-6)
        for collective, names in measured.PAPERS.items()
        for name in names
        for ranks in measured.ORFEO
        for size in measured.SIZES
    ]
    every = pl.DataFrame(rows, schema=[*measured.KEYS, "time", "last"], orient="row")
    here = every.filter(pl.col("ranks") <= 8).drop("last")
    orfeo = every.filter(pl.col("algorithm") != "default")
    monkeypatch.setattr(figures.here, "measured", lambda: here)
    monkeypatch.setattr(figures.here, "on_orfeo", lambda: orfeo)
    simulated = every.filter(pl.col("algorithm") != "rabenseifner").drop("last")
    made = figures.figures(simulated)
    for number, collective in ((2, "bcast"), (3, "bcast"), (4, "reduce"), (5, "reduce")):
        made.append(measured.figures(number, collective, here, orfeo)[0])
    for figure in made:
        names = [trace["name"] for trace in figure.traces if trace["showlegend"]]
        assert sorted(names) == sorted(figures.together.STYLES)
        panels: dict[str, set[str]] = {}
        times: dict[str, set[float]] = {}
        for trace in figure.traces:
            panels.setdefault(trace["xaxis"], set()).add(trace["name"])
            times.setdefault(trace["name"], set()).update(trace["y"])
        # All four where the paper has a formula, and three or more panels have them.
        assert sum(len(names) == 4 for names in panels.values()) >= 3
        assert times["measured on this machine"] == {2.0}
        assert times["simulated on ORFEO"] <= {2.0, 3.0}
        # The least that a message takes on ORFEO is 0.15 µs.
        assert 0.15 <= min(times["the paper's formula, ORFEO"]) < 1
        assert 0.15 <= min(times["our model, ORFEO"]) < 1
        assert figure.layout["yaxis"]["title"]["text"] == "time, µs"


def test_patterns_of_hpcg_have_its_sizes(script: Imported) -> None:
    if shutil.which("smpicxx") is None:
        missing("SimGrid is not installed: apt-get install libsimgrid-dev")
    patterns = script("hpcg-communication-patterns", "patterns")
    Path("runs").mkdir()
    made = {ranks: patterns.pattern(16, ranks, 0) for ranks in (2, 27)}
    exact = patterns.partners(list(made.values()), 16)
    # A rank of 2 has one partner, those of 3 x 3 x 3 from 7 (a corner) to 26 (the middle).
    assert exact.select("ranks", "partners_least", "partners_most").rows() == [(2, 1, 1), (27, 7, 26)]
    # Faces, edges and corners of 16, 8, 4 and 2 points along an axis, as cg sends them.
    assert exact["sizes_are_exact"].to_list() == [True, True]
    assert exact["bytes"].to_list()[1] == "8 16 32 64 128 512 2048"
    assert patterns.partners([patterns.pattern(16, 27)], 104)["sizes_are_exact"].to_list() == [False]
    # No message is faster than its host's memory, 20 GB/s.
    assert patterns.message_speeds(list(made.values()))["fastest_gbit_s"].max() <= 160
    # The longest of three messages has the distribution of one.
    one, three = (
        np.quantile(patterns.orac.latencies(count), probability)
        for count, probability in ((1, 0.5), (3, 0.5 ** (1 / 3)))
    )
    assert one == pytest.approx(three, rel=0.01)


def test_nodes_that_cannot_be_say_so(script: Imported, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = script("dynamic-stencil-protocols", "nodes")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ComponentError, match="which need root"):
        nodes.main()


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without SimGrid, hypre, p4est and PETSc."""
    (tmp_path / "path").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    for name in ("HYPRE_DIR", "P4EST_DIR", "PETSC_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "nowhere"))
    return tmp_path


def study_of(folder: Path, text: str) -> Study:
    """A study of one part, whose script has this text."""
    folder.mkdir()
    (folder / "script.py").write_text(text)
    part = 'name = "part"\ntitle = "Part"\nscript = "script.py"\ntables = ["part.csv"]\nminutes = 1\n'
    (folder / "study.toml").write_text(f'title = "Study"\npaper = "Paper"\n[[part]]\n{part}')
    return read_study(folder)


COMPONENTS = {
    "libsimgrid-dev": "from haloscope.predict.simulate import find_smpirun\nfind_smpirun()",
    "libhypre-dev": "from haloscope.base.toolchain import find_hypre\nfind_hypre()",
    "libp4est-dev": "from haloscope.base.toolchain import find_p4est\nfind_p4est()",
    "libpetsc-real-dev": "from haloscope.base.toolchain import find_petsc\nfind_petsc()",
}
VERB = """
import subprocess, sys
captured = {captured}
subprocess.run([sys.executable, "-m", "haloscope.cli", {words}], check=True, capture_output=captured)
"""
SIMULATE = '"simulate", "--platform", "torus", "-n", "2", "cg"'


@pytest.mark.parametrize(
    ("package", "script"),
    [
        *COMPONENTS.items(),
        ("libsimgrid-dev", VERB.format(captured=False, words=SIMULATE)),
        ("libsimgrid-dev", VERB.format(captured=True, words=SIMULATE)),
    ],
)
def test_a_part_without_its_component_is_not_run(bare: Path, package: str, script: str) -> None:
    (ended,) = run_study(study_of(bare / "study", script), bare / "results")
    assert ended.state == "not run"
    assert f"apt-get install {package}" in ended.why
    assert not ended.why.startswith("haloscope: ")
    assert "Traceback" not in (bare / "results" / "part.log").read_text()


def test_other_errors_of_ours_are_failures_of_one_line(bare: Path) -> None:
    script = "from haloscope import MachineError\nraise MachineError('no such machine')"
    (ended,) = run_study(study_of(bare / "study", script), bare / "results")
    assert ended.state == "failed"
    assert (bare / "results" / "part.log").read_text() == "no such machine\n"


@pytest.mark.parametrize(
    ("study", "part"),
    [("hpcg-communication-patterns", "networks"), ("openmpi-collective-algorithms", "figures-6-7")],
)
def test_parts_of_the_studies_name_what_they_lack(bare: Path, study: str, part: str) -> None:
    whole = studies()[study]
    one = whole.model_copy(update={"parts": tuple(p for p in whole.parts if p.name == part)})
    (ended,) = run_study(one, bare / "results")
    assert (ended.state, "apt-get install libsimgrid-dev" in ended.why) == ("not run", True), ended.why
