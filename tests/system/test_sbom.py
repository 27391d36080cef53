"""The bill of materials: whole, and what packages say of themselves."""

from __future__ import annotations

import json
from importlib import metadata
from typing import Any

import pytest

from haloscope.base.version import own_version
from sbom import BILL, PYTHONS, licence_of, locked

TOLD: dict[str, Any] = json.loads(BILL.read_text("utf-8"))
# What is only there to build Haloscope.
BUILD = {"exceptiongroup", "pathspec", "scikit-build-core"}


def properties(component: dict[str, Any]) -> dict[str, str]:
    return {one["name"].removeprefix("haloscope:"): one["value"] for one in component.get("properties", ())}


def needed() -> list[dict[str, Any]]:
    """What is no part of the wheel's own files."""
    return [one for one in TOLD["components"] if "inside" not in properties(one)]


@pytest.mark.parametrize("python", PYTHONS)
def test_it_has_what_is_locked(python: str) -> None:
    """In these versions; a stale one is written anew by `python tools/sbom.py`."""
    here = [one for one in needed() if python in properties(one)["python"].split(", ")]
    there = {one["name"]: one["version"] for one in here}
    wanted = {name: version for name, version in locked(python).items() if name in there or name not in BUILD}
    assert there == wanted


def test_licences_are_those_of_what_is_installed() -> None:
    installed = {one.metadata["Name"].lower().replace("_", "-"): one for one in metadata.distributions()}
    compared = 0
    for one in needed():
        here = installed.get(one["name"])
        if here is not None and here.version == one["version"]:
            assert [{"expression": licence_of(here.metadata.json)}] == one["licenses"], one["name"]
            compared += 1
    assert compared > 20


def test_it_is_of_this_version_and_licence() -> None:
    own = TOLD["metadata"]["component"]
    assert (own["name"], own["version"]) == ("haloscope", own_version())
    assert own["licenses"] == [{"expression": metadata.metadata("haloscope")["License-Expression"]}]
    (script,) = [one for one in TOLD["components"] if one["name"] == "plotly.js"]
    (file,) = [one for one in metadata.files("plotly") or () if one.name == "plotly.min.js"]
    with open(str(file.locate()), encoding="utf-8") as opened:
        assert f"plotly.js v{script['version']}\n" in opened.read(200)


def test_references_lead_somewhere() -> None:
    refs = {one["bom-ref"] for one in [TOLD["metadata"]["component"], *TOLD["components"]]}
    assert len(refs) == len(TOLD["components"]) + 1
    for one in TOLD["dependencies"]:
        assert {one["ref"], *one["dependsOn"]} <= refs


def test_nothing_is_needed_that_forbids_to_give_it_on() -> None:
    """None is under the GPL but what its exception frees."""
    for one in TOLD["components"]:
        (licence,) = one["licenses"]
        assert "GPL" not in licence["expression"].replace("GPL-3.0-or-later WITH GCC-exception-3.1", "")
