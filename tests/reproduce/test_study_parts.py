"""Small versions of the parts of Haloscope's studies: their page shows their results."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haloscope import ComponentError
from haloscope.reproduce.study import Study, read_study, run_study, studies
from support.missing import missing

QUICK = ["hmm-regimes-communication-hiding", "hpcg-communication-patterns", "openmpi-collective-algorithms"]
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
        assert sum(part.minutes for part in study.chosen(large=False)) < 15
        for part in study.parts:
            assert part.text
            text = (study.folder / part.script).read_text("utf-8")
            # Each is in its script by name, by a pattern of its name, or an argument.
            for name in part.results:
                stem = name.split(".")[0].split("-")[0]
                assert stem in text or name in part.arguments, (study.name, name)
    every = [part for one in studies().values() for part in one.chosen(large=False)]
    assert sum(part.minutes for part in every) < 60


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


@pytest.mark.long
@pytest.mark.parametrize("name", QUICK)
def test_a_study_runs_from_end_to_end(tmp_path: Path, name: str) -> None:
    """Those that take minutes; a part that cannot run here names the missing component."""
    failed = {one.part.name: one.why for one in run_study(studies()[name], tmp_path) if one.state == "failed"}
    assert failed == {}
