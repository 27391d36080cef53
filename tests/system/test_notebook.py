"""The notebook of the documentation, executed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from support.limits import HANG
from support.mpi import CHECKOUT, Mpi
from support.mpis import tools

NOTEBOOK = CHECKOUT / "docs" / "tutorial" / "notebook.ipynb"


def results(notebook: Any) -> list[dict[str, str]]:
    """The results of its cells, by their kinds."""
    return [
        dict(output.data)
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "execute_result"
    ]


@pytest.mark.long
def test_notebook_shows_what_it_is_kept_with(
    any_mpi: Mpi, haloscope: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A profile as a page, and tables whose counts are those of any machine."""
    environment = tools(any_mpi)
    environment["PATH"] = f"{haloscope.parent}{os.pathsep}{environment['PATH']}"
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    kept = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    executed = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    where = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(executed, timeout=int(HANG), kernel_name="python3", resources=where).execute()
    found = results(executed)
    assert [one["text/plain"] for one in found] == [one["text/plain"] for one in results(kept)]
    assert len(found) == 3
    assert "halo_exchange" in found[0]["text/html"]
    assert "<th" in found[0]["text/html"]
