"""What is in packaging/, and what a release is made of."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import prebuild
from haloscope.base.extras import extras, remedy
from haloscope.base.version import own_version
from support.missing import missing
from support.mpi import CHECKOUT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PYPROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
PROJECT, BUILD_SYSTEM = _PYPROJECT["project"], _PYPROJECT["build-system"]
SPACK = CHECKOUT / "packaging/spack/spack_repo/haloscope/packages"
STUDIES = sorted(path.parent.name for path in CHECKOUT.glob("studies/*/study.toml"))


def test_extras_are_what_is_declared() -> None:
    declared = PROJECT["optional-dependencies"]
    names = {re.split("[><=]", word)[0]: extra for extra, words in declared.items() for word in words}
    assert names.pop(f"haloscope[{','.join(sorted(declared.keys() - {'all'}))}]") == "all"
    assert extras() == names
    assert (
        remedy(ModuleNotFoundError(name="scipy.stats"))
        == "this needs scipy: pip install 'haloscope[statistics]'"
    )
    assert remedy(ModuleNotFoundError(name="numpy")) is None


def test_the_citation_has_this_version_and_all_five_papers() -> None:
    cited = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text())
    assert cited["version"] == PROJECT["version"] == own_version()
    assert cited["license"] == PROJECT["license"]
    assert sorted(paper["notes"].split("; studies/")[1] for paper in cited["references"]) == STUDIES
    assert all(paper["title"] and paper["authors"] and paper["type"] for paper in cited["references"])


def test_the_changelog_has_every_change(tmp_path: Path) -> None:
    for name in ("changes", "pyproject.toml", "CHANGELOG.md", "tools"):
        copy = shutil.copytree if (CHECKOUT / name).is_dir() else shutil.copy
        copy(CHECKOUT / name, tmp_path / name)
    (tmp_path / "changes" / "made-up.added.md").write_text("Made up: a release takes it.\n")
    towncrier = [
        sys.executable,
        "-m",
        "towncrier",
        "build",
        "--keep",
        "--version",
        "0.9",
        "--date",
        "2026-01-02",
    ]
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    subprocess.run(towncrier, cwd=tmp_path, check=True, capture_output=True)
    written = (tmp_path / "CHANGELOG.md").read_text()
    assert "\n## 0.9 (2026-01-02)\n\n\n### Added\n\n* " in written
    lines = set(written.splitlines())
    for change in tmp_path.glob("changes/*.*.md"):
        assert "* " + " ".join(change.read_text().split()) in lines, change
    assert written.startswith((CHECKOUT / "CHANGELOG.md").read_text().partition("<!--")[0])


def test_spack_asks_for_what_the_wheel_asks_for() -> None:
    recipe = (SPACK / "py_haloscope/package.py").read_text()
    ast.parse(recipe)
    asked = set(re.findall(r'depends_on\("(?:py-)?([\w-]+)@', recipe))
    extra = PROJECT["optional-dependencies"]
    declared = [*PROJECT["dependencies"], *extra["build"], *extra["pages"], *extra["statistics"]]
    assert {re.split("[><=]", word)[0] for word in declared} <= asked
    assert f'version("{PROJECT["version"]}")' in recipe
    (build,) = BUILD_SYSTEM["requires"]
    name, oldest = build.split(">=")
    assert f'depends_on("py-{name}@{oldest}:", type="build")' in recipe


def test_recipes_for_spack_take_what_is_locked() -> None:
    """Those of what Spack lacks, or has too old."""
    locked = (CHECKOUT / "requirements/runtime.lock").read_text()
    recipes = [path for path in SPACK.glob("*/package.py") if path.parent.name != "py_haloscope"]
    assert len(recipes) == 4
    for path in recipes:
        ast.parse(path.read_text())
        (version, digest) = re.findall(r'version\("(.*)", sha256="(\w+)"\)', path.read_text())[0]
        name = path.parent.name.removeprefix("py_").replace("_", "-")
        (lines,) = re.findall(
            rf"^{name}=={re.escape(version)} (.*?)(?=^\S|\Z)", locked, re.MULTILINE | re.DOTALL
        )
        assert f"sha256:{digest}" in lines


def test_an_archive_is_of_its_files_alone(tmp_path: Path) -> None:
    """Not of when, in which order, by whom and with which umask they were made."""
    files = {"lib/a.so": 0o755, "lib/always/a.so": 0o755, "notes": 0o644, "tool": 0o755}
    for name, order, mask in (("one", list(files), 0o022), ("other", [*reversed(files)], 0o077)):
        for at, file in enumerate(order):
            path = tmp_path / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file)
            path.chmod(files[file] & ~mask)
            os.utime(path, (at, at))
        (tmp_path / name / "link").symlink_to("lib/a.so")
        (tmp_path / name / "lib").chmod(0o777 & ~mask)
        prebuild.pack(tmp_path / name, tmp_path / f"{name}.tar.xz")
    assert (tmp_path / "one.tar.xz").read_bytes() == (tmp_path / "other.tar.xz").read_bytes()


@pytest.mark.parametrize("shell", ["bash", "csh"])
def test_the_module_file_puts_the_command_on_the_path(shell: str, tmp_path: Path) -> None:
    command = shutil.which("modulecmd") or "/usr/lib/x86_64-linux-gnu/modulecmd.tcl"
    if not Path(command).exists():
        missing("no Environment Modules: apt-get install environment-modules")
    include = tmp_path / "lib/python3.11/site-packages/haloscope/_share/include"
    include.mkdir(parents=True)
    done = subprocess.run(
        [command, shell, "load", "haloscope"],
        env={
            "MODULEPATH": str(CHECKOUT / "packaging/modulefiles"),
            "HALOSCOPE_PREFIX": str(tmp_path),
            "PATH": "/usr/bin:/bin",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"{tmp_path}/commands:/usr/bin" in done.stdout, done.stderr
    assert str(include) in done.stdout
