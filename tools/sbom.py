"""Write what Haloscope is made of, and under which licences: a bill of materials in CycloneDX's form.

    python tools/sbom.py

has pip download what `requirements/runtime.lock` names, and writes `packaging/sbom.cdx.json` by its metadata.
`make lock` calls it. The wheel brings the file, and `docs/reference/licences.md` shows it. It has what is
needed under any Python that Haloscope runs in, whichever runs this.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

__all__ = ["BILL", "PYTHONS", "bill", "licence_of", "locked", "written"]

CHECKOUT = Path(__file__).resolve().parents[1]
BILL = CHECKOUT / "packaging" / "sbom.cdx.json"
LOCK = CHECKOUT / "requirements" / "runtime.lock"
PYTHONS = ("3.10", "3.11", "3.12", "3.13")

# What packages call a licence that SPDX has another name for.
_SPDX = {
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD-3-Clause": "BSD-3-Clause",
    "MIT": "MIT",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
# Those whose metadata says less than their licence file.
_FILES_SAY = {
    "cmake": "Apache-2.0 AND BSD-3-Clause",
    "numpy": "BSD-3-Clause",
    "packaging": "Apache-2.0 OR BSD-2-Clause",
    "scipy": "BSD-3-Clause",
}

Metadata = Mapping[str, Any]  # as `importlib.metadata` has it in JSON
Found = Mapping[str, Mapping[str, Metadata]]  # by Python, and by name


def locked(python: str) -> dict[str, str]:
    """Return the versions that the lock has for a Python, by name."""
    text = LOCK.read_text("utf-8").replace("\\\n", " ")
    lines = [line.split(" --hash")[0] for line in text.splitlines() if line and line[0] not in "# "]
    wanted = [one for one in map(Requirement, lines) if _holds(one, python)]
    return {one.name: str(one.specifier).removeprefix("==") for one in wanted}


def licence_of(package: Metadata) -> str:
    """Return the licence of a package as SPDX writes it. Raises `SystemExit` if its metadata has none."""
    name = package["name"].lower()
    if package.get("license_expression"):
        return str(package["license_expression"])
    if name in _FILES_SAY:
        return _FILES_SAY[name]
    classifiers = [line for line in package.get("classifier", ()) if line.startswith("License ::")]
    told = [line.rpartition(" :: ")[2] for line in classifiers]
    found = next((_SPDX[word] for word in [package.get("license"), *told] if word in _SPDX), None)
    return found or sys.exit(f"{name}: what is its licence? Say it in tools/sbom.py")


def bill(found: Found) -> dict[str, Any]:
    """Return the bill of materials: what is needed, by whom, and what is in the wheel itself."""
    own = _own()
    refs: dict[str, dict[str, Any]] = {}
    needs: dict[str, set[str]] = {}
    for python, packages in found.items():
        for extra in ("", *own["extras"]):
            for name in _reached(own["requires_dist"], extra, python, packages):
                package = packages[name]
                ref = _ref(package)
                entry = refs.setdefault(ref, {"package": package, "pythons": set(), "extras": set()})
                entry["pythons"].add(python)
                entry["extras"].add(extra)
                direct = _direct(package.get("requires_dist", ()), "", python)
                needs.setdefault(ref, set()).update(_ref(packages[one]) for one in direct if one in packages)
    root = f"pkg:pypi/haloscope@{own['version']}"
    needs[root] = {ref for ref, entry in refs.items() if _plain(entry["package"]["name"]) in own["direct"]}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": _component(root, "application", "haloscope", own["version"], own["license"])
        },
        "components": [*_bundled(), *(_needed(ref, entry) for ref, entry in sorted(refs.items()))],
        "dependencies": [{"ref": ref, "dependsOn": sorted(of)} for ref, of in sorted(needs.items())],
    }


def written(made: Mapping[str, Any]) -> str:
    """Return the text of the file."""
    return json.dumps(made, indent=1) + "\n"


def _own() -> dict[str, Any]:
    """Return what pyproject.toml declares, by the installed package."""
    own = metadata.metadata("haloscope").json
    requires = [str(line) for line in own.get("requires_dist", ())]
    return {
        "version": own["version"],
        "license": str(own["license_expression"]),
        "requires_dist": requires,
        "extras": [str(name) for name in own.get("provides_extra", ()) if name != "all"],
        "direct": {_plain(Requirement(line).name) for line in requires},
    }


def _reached(
    requires: Sequence[str], extra: str, python: str, packages: Mapping[str, Metadata]
) -> Iterator[str]:
    """Yield what these requirements bring, and what that needs in turn."""
    waiting, seen = list(_direct(requires, extra, python)), set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen or name == "haloscope":
            continue
        seen.add(name)
        yield name
        waiting += _direct(packages[name].get("requires_dist", ()), "", python)


def _direct(requires: Iterable[str], extra: str, python: str) -> Iterator[str]:
    wanted = [one for one in map(Requirement, requires) if _holds(one, python, extra)]
    # An extra's own, without what is always needed.
    yield from (_plain(one.name) for one in wanted if not extra or not _holds(one, python, ""))


def _holds(one: Requirement, python: str, extra: str = "") -> bool:
    there = {"python_version": python, "python_full_version": f"{python}.0", "extra": extra}
    return one.marker is None or one.marker.evaluate(there)


def _plain(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


def _ref(package: Metadata) -> str:
    return f"pkg:pypi/{_plain(package['name'])}@{package['version']}"


def _needed(ref: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    package, extras = entry["package"], sorted(entry["extras"])
    made = _component(ref, "library", _plain(package["name"]), package["version"], licence_of(package))
    pythons, always = sorted(entry["pythons"], key=PYTHONS.index), "" in extras
    told = {"python": pythons, "for": ["all verbs"] if always else extras}
    made["scope"] = "required" if always else "optional"
    made["properties"] = [{"name": f"haloscope:{key}", "value": ", ".join(of)} for key, of in told.items()]
    return made


def _component(ref: str, kind: str, name: str, version: str, licence: str) -> dict[str, Any]:
    made = {"type": kind, "bom-ref": ref, "name": name, "version": version, "purl": ref}
    return made | {"licenses": [{"expression": licence}]}


def _bundled() -> Iterator[dict[str, Any]]:
    """Yield what is in the wheel's own files."""
    script = next(file for file in metadata.files("plotly") or () if file.name == "plotly.min.js")
    head = Path(str(script.locate())).read_text("utf-8")[:200]
    version = re.search(r"plotly\.js v([\d.]+)", head)
    yield _inside("plotly.js", version[1] if version else "", "MIT", "pages")
    # Linked into what is compiled; whose version it is depends on who makes the wheel.
    yield _inside("libstdc++", "", "GPL-3.0-or-later WITH GCC-exception-3.1", "compiled libraries")


def _inside(name: str, version: str, licence: str, use: str) -> dict[str, Any]:
    made = {"type": "library", "bom-ref": name, "name": name} | ({"version": version} if version else {})
    told = [{"name": "haloscope:inside", "value": use}]
    return made | {"licenses": [{"expression": licence}], "scope": "required", "properties": told}


def _asked() -> dict[str, dict[str, Metadata]]:
    """Return the metadata of what is locked for each Python, from the wheels that pip finds."""
    known: dict[tuple[str, str], Metadata] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for python in PYTHONS:
            words = [f"{name}=={of}" for name, of in locked(python).items() if (name, of) not in known]
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
            if words:
                subprocess.run([*pip, "--python-version", python, "--dest", scratch, *words], check=True)
            for wheel in Path(scratch).glob("*.whl"):
                package = _inside_wheel(wheel)
                known[_plain(package["name"]), package["version"]] = package
                wheel.unlink()
    return {python: {name: known[name, of] for name, of in locked(python).items()} for python in PYTHONS}


def _inside_wheel(wheel: Path) -> Metadata:
    (place,) = [one for one in zipfile.Path(wheel).iterdir() if one.name.endswith(".dist-info")]
    return metadata.PathDistribution(place).metadata.json


if __name__ == "__main__":
    BILL.write_text(written(bill(_asked())), "utf-8")
